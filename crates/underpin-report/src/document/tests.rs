//! Documents validate against their own schemas, and name them.

use super::bench::BenchDocument;
use super::survey::{StartUp, SurveyDocument};
use super::trace::TraceDocument;
use super::tree::TreeDocument;
use super::{Document, Verb, schema_of, to_json, to_json_line};
use crate::testing::{
    broken_closure, chosen_check, emulated_suite, hostile_bench, hostile_check, hostile_closure, hostile_suite,
    hostile_trace, lone_bench, prefix_closure, sample_bench, sample_check, sample_doctor, sample_image_compare,
    sample_storm, sample_suite, sample_trace, wide_suite,
};
use bstr::ByteSlice;

fn assert_valid<D: Document>(document: &D) {
    let schema = schema_of::<D>();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value = serde_json::from_str(&to_json(document).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(value["schema"], D::VERB.schema());
    let mut wrong = value;
    wrong["schema"] = "underpin.other/1".into();
    assert!(!validator.is_valid(&wrong), "the schema must tell documents apart");
}

#[test]
fn tree_documents_validate() {
    for closure in [prefix_closure(), broken_closure(), hostile_closure()] {
        assert_valid(&TreeDocument::new(&closure));
    }
}

#[test]
fn trace_documents_validate() {
    for trace in [sample_trace(), hostile_trace()] {
        assert_valid(&TraceDocument::new(&trace));
        assert_valid(&TraceDocument::new(&trace).with_events(&trace));
    }
}

#[test]
fn check_and_doctor_documents_validate() {
    [sample_check(), chosen_check(), hostile_check()].iter().for_each(assert_valid);
    assert_valid(&sample_doctor());
}

#[test]
fn storm_documents_validate() {
    assert_valid(&sample_storm());
}

#[test]
fn survey_documents_validate() {
    let tree = || TreeDocument::new(&prefix_closure());
    let traced = StartUp::Traced(Box::new(TraceDocument::new(&sample_trace())));
    assert_valid(&SurveyDocument::new(sample_check(), tree(), traced));
    assert_valid(&SurveyDocument::new(sample_check(), tree(), StartUp::Absent("not asked for".to_owned())));
}

#[test]
fn bench_documents_validate() {
    for (record, analysis) in [sample_bench(), lone_bench(), hostile_bench()] {
        let gate = "wall<+3%,rss<+5%".parse().unwrap();
        assert_valid(&BenchDocument::new(analysis.clone()));
        let against = analysis.with_baseline("x", &record, &record).with_gate(&gate, Some(&record), &record);
        assert_valid(&BenchDocument::new(against));
    }
}

#[test]
fn suite_documents_validate() {
    [sample_suite(), wide_suite(), emulated_suite(), hostile_suite()].iter().for_each(assert_valid);
    assert_valid(&sample_image_compare());
}

#[test]
fn the_fields_of_a_summary_are_the_fields_of_its_document() {
    let value: serde_json::Value = serde_json::from_str(&to_json(&sample_suite()).unwrap()).unwrap();
    assert_eq!(value["schema"], "underpin.suite/1");
    assert_eq!(value["suites"][1]["rows"][5]["cells"][1]["is"], "failed");
    assert_eq!(value["suites"][1]["rows"][6]["cells"][1], serde_json::json!({"is": "missing"}));
    assert_eq!(value["suites"][2]["rows"][1]["measure"]["kind"], "bandwidth");
}

#[test]
fn a_ratio_stands_with_its_bounds() {
    let (_, analysis) = sample_bench();
    let json = to_json(&BenchDocument::new(analysis)).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let ratio = &value["comparisons"][0]["ratio"];
    assert_eq!(value["comparisons"][0]["variant"], "jemalloc");
    assert!(ratio["low"].as_f64() < ratio["estimate"].as_f64() && ratio["estimate"].as_f64() < ratio["high"].as_f64());
    assert_eq!(value["variants"][0]["runs"].as_array().unwrap().len(), 20);
    assert!(value["variants"][0]["memory_runs"][0]["series"].as_array().unwrap().len() > 5);
}

#[test]
fn a_record_beside_itself_is_the_same() {
    let (record, analysis) = sample_bench();
    for one in analysis.with_baseline("itself", &record, &record).baseline.unwrap().comparisons {
        assert!((one.ratio.estimate - 1.0).abs() < 0.02 && one.p_value > 0.9, "{one:?}");
    }
}

#[test]
fn trace_calls_stand_once_as_totals_and_once_per_phase() {
    let value: serde_json::Value =
        serde_json::from_str(&to_json(&TraceDocument::new(&sample_trace())).unwrap()).unwrap();
    assert_eq!(
        value["syscalls"][0],
        serde_json::json!({"name": "mmap", "calls": 1020, "errors": 0, "seconds": 0.0021})
    );
    assert_eq!(value["phases"][1]["syscalls"][1]["name"], "openat");
    assert_eq!(value["phases"][1]["name"], "loader");
}

#[test]
fn the_line_form_is_one_line_of_the_same_document() {
    let document = TreeDocument::new(&hostile_closure());
    let line = to_json_line(&document).unwrap();
    assert!(!line.contains('\n'));
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(parse(&line), parse(&to_json(&document).unwrap()));
}

#[test]
fn json_holds_nothing_that_acts_on_a_terminal() {
    let json = to_json_line(&TreeDocument::new(&hostile_closure())).unwrap();
    assert!(!json.chars().any(char::is_control) && !json.contains('\u{202e}'), "{json}");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(value["objects"][1]["soname"].as_str().unwrap().contains('\u{202e}'), "the value keeps it");
}

#[test]
fn a_verb_names_its_schema() {
    for verb in Verb::ALL {
        assert_eq!(verb.schema(), format!("underpin.{verb}/1"));
        let schema = super::schema(verb);
        assert_eq!(schema["title"], verb.schema());
        assert_eq!(schema["properties"]["schema"]["const"], verb.schema());
    }
}

/// The test program itself is an ELF file that every machine running this test has.
#[test]
fn a_check_of_a_real_program_validates_and_says_what_forces_its_floor() {
    use underpin_elf::{Details, Elf, FileSource};
    use underpin_resolve::compat::{self, Number, ObjectFacts, Subject, SystemTable};
    let path = std::env::current_exe().unwrap();
    let source = FileSource::new(std::fs::File::open(path).unwrap()).unwrap();
    let elf = Elf::read(&source).unwrap();
    let details = Details::read(&source, &elf).unwrap();
    let facts = ObjectFacts::from_elf(b"prog", &elf, &details).unwrap();
    let table = SystemTable::embedded().unwrap();
    let systems: Vec<_> = table.systems.iter().collect();
    let compat = compat::check(&Subject::alone(facts), &systems, Some(&Number::new(&[1, 0])));
    let document = crate::CheckDocument::new(&crate::CheckInput {
        program: "prog".into(),
        bytes: 1,
        elf: &elf,
        details: &details,
        companions: &[],
        compat: &compat,
        systems_date: &table.date,
        systems_chosen: false,
        strict: false,
        of_distribution: false,
    });
    assert_valid(&document);
    assert_eq!(document.systems.len(), table.systems.len());
    assert!(document.file.languages.iter().any(|part| part.name == "Rust"), "{:?}", document.file);
    if elf.interpreter.as_ref().is_some_and(|path| path.contains_str("ld-linux")) {
        let glibc = document.floors.iter().find(|floor| floor.family == "GLIBC").unwrap();
        assert!(glibc.steps.iter().any(|step| step.demands.iter().any(|demand| !demand.symbols.is_empty())));
        assert!(!document.passed, "no program keeps to glibc 1.0");
    }
}
