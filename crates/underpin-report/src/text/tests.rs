//! Every screen on a terminal of 80 columns, and the rules that hold for all of them.

use super::*;
use crate::document::bench::BenchDocument;
use crate::document::survey::{StartUp, SurveyDocument};
use crate::document::trace::TraceDocument;
use crate::document::tree::{CallComparison, CallCountRecord, CallsRecord, TreeDocument};
use crate::layout::View;
use crate::styled::Text;
use crate::testing::{
    broken_closure, chosen_check, hostile_bench, hostile_check, hostile_closure, hostile_trace, lone_bench,
    prefix_closure, sample_bench, sample_check, sample_doctor, sample_trace, served_bench,
};

fn view(verbosity: u8) -> View {
    View::columns(80).verbose(verbosity)
}

fn assert_fits(text: &Text, columns: usize) {
    for line in text.lines() {
        assert!(line.width() <= columns, "{} columns: {line}", line.width());
    }
}

fn assert_safe(text: &Text) {
    let shown = text.to_string();
    assert!(!shown.chars().any(|ch| ch != '\n' && ch.is_control()), "{shown:?}");
    assert!(!shown.contains('\u{202e}'), "{shown:?}");
}

#[test]
fn tree_folds_repeats_and_the_c_library() {
    insta::assert_snapshot!(tree(&TreeDocument::new(&prefix_closure()), &view(0)));
}

#[test]
fn tree_verbose_shows_every_request_and_path() {
    insta::assert_snapshot!(tree(&TreeDocument::new(&prefix_closure()), &view(1)));
}

#[test]
fn tree_very_verbose_shows_every_try() {
    insta::assert_snapshot!(tree(&TreeDocument::new(&prefix_closure()), &view(2)));
}

#[test]
fn a_miss_names_every_path_and_why_it_was_skipped() {
    insta::assert_snapshot!(tree(&TreeDocument::new(&broken_closure()), &view(0)));
}

#[test]
fn list_holds_exact_bytes_without_the_program() {
    let document = TreeDocument::new(&hostile_closure());
    let list: Vec<_> = tree_list(&document).collect();
    assert_eq!(list.len(), 5);
    assert_eq!(list[1], "/lib/\"onmouseover='x' &amp;\n.so");
}

#[test]
fn why_shows_the_chain_the_other_requesters_and_the_tries() {
    let document = TreeDocument::new(&prefix_closure());
    insta::assert_snapshot!("why_shared", tree_why(&document, "libz.so.1".into(), &view(0)).unwrap());
    insta::assert_snapshot!("why_deep", tree_why(&document, "libdeep.so".into(), &view(0)).unwrap());
    assert!(tree_why(&document, "libnever.so".into(), &view(0)).is_none());
}

#[test]
fn why_explains_a_miss() {
    let document = TreeDocument::new(&broken_closure());
    insta::assert_snapshot!(tree_why(&document, "libgone.so.3".into(), &view(0)).unwrap());
}

#[test]
fn paths_mark_dead_directories() {
    insta::assert_snapshot!(tree_paths(&TreeDocument::new(&prefix_closure()), &view(0)));
}

#[test]
fn comparison_names_the_calls_that_differ() {
    let predicted = CallsRecord::from(&prefix_closure().calls);
    let measured = [("openat", 9, 3), ("read", 4, 0), ("mmap", 1023, 0), ("close", 5, 0), ("pread64", 2, 0)];
    let measured = measured.map(|(name, calls, errors)| CallCountRecord { name: name.to_owned(), calls, errors });
    let comparison = CallComparison::new(&predicted, measured);
    assert!(!comparison.equal);
    insta::assert_snapshot!(calls_comparison(&comparison, &view(0)));
}

#[test]
fn a_comparison_of_equal_counts_is_equal() {
    let predicted = CallsRecord::from(&prefix_closure().calls);
    let comparison = CallComparison::new(&predicted, predicted.counts.clone());
    assert!(comparison.equal);
    assert!(calls_comparison(&comparison, &view(0)).to_string().contains("are equal"));
}

#[test]
fn no_screen_is_wider_than_the_terminal() {
    for closure in [prefix_closure(), broken_closure(), hostile_closure()] {
        let document = TreeDocument::new(&closure);
        for columns in [40, 57, 80, 120] {
            for verbosity in 0..3 {
                let view = View::columns(columns).verbose(verbosity);
                assert_fits(&tree(&document, &view), columns);
                assert_fits(&tree_paths(&document, &view), columns);
                for object in &document.objects {
                    assert_fits(&tree_why(&document, object.path.bytes(), &view).unwrap_or_default(), columns);
                }
            }
        }
    }
}

#[test]
fn hostile_names_reach_no_terminal() {
    let text = tree(&TreeDocument::new(&hostile_closure()), &view(2));
    assert_safe(&text);
    assert!(text.to_string().contains("\\x1b"), "{text}");
}

#[test]
fn trace_shows_phases_calls_libraries_and_doubt() {
    insta::assert_snapshot!(trace(&TraceDocument::new(&sample_trace()), &view(0)));
}

#[test]
fn trace_very_verbose_shows_lookups_and_calls() {
    let sample = sample_trace();
    insta::assert_snapshot!(trace(&TraceDocument::new(&sample).with_events(&sample), &view(2)));
}

#[test]
fn trace_screens_fit_and_are_safe() {
    for sample in [sample_trace(), hostile_trace()] {
        let document = TraceDocument::new(&sample).with_events(&sample);
        for columns in [46, 57, 80, 120] {
            for verbosity in 0..3 {
                let text = trace(&document, &View::columns(columns).verbose(verbosity));
                assert_fits(&text, columns);
                assert_safe(&text);
            }
        }
    }
}

#[test]
fn check_shows_floors_systems_and_advice() {
    insta::assert_snapshot!(check(&sample_check(), &view(0)));
}

#[test]
fn check_of_a_chosen_system_names_symbols_and_objects() {
    insta::assert_snapshot!(check(&chosen_check(), &view(0)));
}

#[test]
fn check_verbose_leaves_nothing_out() {
    insta::assert_snapshot!(check(&chosen_check(), &view(1)));
}

#[test]
fn doctor_is_a_checklist_with_commands() {
    insta::assert_snapshot!(doctor(&sample_doctor(), &view(0)));
}

#[test]
fn check_screens_fit_and_are_safe() {
    for document in [sample_check(), chosen_check(), hostile_check()] {
        // Commands are never wrapped, so that they can be copied.
        let document = crate::CheckDocument { advice: Vec::new(), ..document };
        for columns in [46, 57, 80, 120] {
            for verbosity in 0..2 {
                let text = check(&document, &View::columns(columns).verbose(verbosity));
                assert_fits(&text, columns);
                assert_safe(&text);
            }
        }
    }
}

fn sample_survey() -> SurveyDocument {
    let start_up = StartUp::Traced(Box::new(TraceDocument::new(&sample_trace())));
    SurveyDocument::new(sample_check(), TreeDocument::new(&prefix_closure()), start_up)
}

#[test]
fn survey_is_one_page_that_ends_with_advice() {
    insta::assert_snapshot!(survey(&sample_survey(), &view(0)));
}

#[test]
fn survey_without_a_run_says_why() {
    let start_up = StartUp::Absent("no command was given".to_owned());
    let document = SurveyDocument::new(sample_check(), TreeDocument::new(&broken_closure()), start_up);
    let text = survey(&document, &view(0)).to_string();
    assert!(text.contains("not measured: no command was given"), "{text}");
    assert!(text.contains("not found"), "{text}");
}

#[test]
fn cpu_subdirectories_of_a_miss_are_counted_until_asked_for() {
    let mut document = TreeDocument::new(&broken_closure());
    let pattern = document.edges[0].tries[0].clone();
    let tried = |path: &str| crate::document::tree::TryRecord { path: path.into(), ..pattern.clone() };
    let paths = ["/a/glibc-hwcaps/x86-64-v2/l.so", "/a/l.so", "/b/l.so", "/c/glibc-hwcaps/x86-64-v2/l.so"];
    document.edges[0].tries = paths.map(tried).to_vec();
    let short = tree(&document, &view(0)).to_string();
    assert!(short.contains("1. /a/l.so") && short.contains("no such file ×2"), "{short}");
    assert!(short.contains("2. /b/l.so") && short.contains("3. /c/glibc-hwcaps/x86-64-v2/l.so"), "{short}");
    assert!(tree(&document, &view(1)).to_string().contains("4. /c/glibc-hwcaps"), "all of them with -v");
}

fn sample_document() -> BenchDocument {
    let (_, analysis) = sample_bench();
    BenchDocument::new(analysis)
}

#[test]
fn bench_shows_each_variant_with_its_change_and_its_doubt() {
    insta::assert_snapshot!(bench(&sample_document(), &view(0)));
}

#[test]
fn bench_very_verbose_shows_ranges_and_p_values() {
    insta::assert_snapshot!(bench(&sample_document(), &view(2)));
}

#[test]
fn bench_of_one_command_shows_its_range() {
    let (_, analysis) = lone_bench();
    insta::assert_snapshot!(bench(&BenchDocument::new(analysis), &view(0)));
}

#[test]
fn bench_of_servers_shows_answers_and_memory_of_each_variant() {
    let (_, analysis) = served_bench();
    insta::assert_snapshot!(bench(&BenchDocument::new(analysis), &view(0)));
}

#[test]
fn bench_against_a_baseline_tells_the_time_between_and_judges_the_gate() {
    let (record, analysis) = sample_bench();
    let mut earlier = record.clone();
    earlier.header.started -= 90_000;
    earlier.header.machine.kernel = "5.4".to_owned();
    for sample in &mut earlier.samples {
        sample.wall_ns.0 = sample.wall_ns.0 * 9 / 10;
    }
    let gate = "wall<+3%,rss<+5%,wall<+20%,major-faults<+1%".parse().unwrap();
    let analysis = analysis.with_baseline("main", &earlier, &record).with_gate(&gate, Some(&earlier), &record);
    assert_eq!(analysis.gate.as_ref().map(|gate| gate.outcome), Some(underpin_bench::GateOutcome::Failed));
    let document = BenchDocument::new(analysis);
    insta::assert_snapshot!(bench(&document, &view(0)));
}

#[test]
fn bench_screens_fit_and_are_safe() {
    for (_, analysis) in [sample_bench(), lone_bench(), hostile_bench(), served_bench()] {
        let document = BenchDocument::new(analysis);
        for verbosity in 0..3 {
            for columns in [80, 100, 140] {
                let text = bench(&document, &View::columns(columns).verbose(verbosity));
                assert_safe(&text);
                assert_fits(&text, columns);
            }
        }
    }
}
