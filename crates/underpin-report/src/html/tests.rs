//! Pages are self-contained, contain their document, and no hostile name becomes markup in them.

use super::*;
use crate::document::survey::StartUp;
use crate::picture::dependency_picture;
use crate::testing::*;

fn sample_survey() -> SurveyDocument {
    let tree = TreeDocument::new(&prefix_closure());
    SurveyDocument::new(sample_check(), tree, StartUp::Traced(Box::new(TraceDocument::new(&sample_trace()))))
}

fn hostile_survey() -> SurveyDocument {
    let tree = TreeDocument::new(&hostile_closure());
    SurveyDocument::new(hostile_check(), tree, StartUp::Traced(Box::new(TraceDocument::new(&hostile_trace()))))
}

fn pages() -> Vec<String> {
    let broken = TreeDocument::new(&broken_closure());
    vec![
        survey(&sample_survey()).unwrap(),
        survey(&hostile_survey()).unwrap(),
        tree(&broken).unwrap(),
        check(&chosen_check()).unwrap(),
        trace(&TraceDocument::new(&sample_trace())).unwrap(),
        doctor(&sample_doctor()).unwrap(),
        bench(&bench_document(sample_bench())).unwrap(),
        bench(&bench_document(lone_bench())).unwrap(),
        bench(&bench_document(hostile_bench())).unwrap(),
        bench(&bench_document(served_bench())).unwrap(),
        suite(&sample_suite()).unwrap(),
        suite(&wide_suite()).unwrap(),
        suite(&emulated_suite()).unwrap(),
        suite(&hostile_suite()).unwrap(),
    ]
}

fn bench_document((_, analysis): (underpin_bench::BenchRecord, underpin_bench::Analysis)) -> BenchDocument {
    BenchDocument::new(analysis)
}

/// Every tag of a page, without the angle brackets. In text `<` is always escaped, so each one opens or closes a tag.
fn tags(page: &str) -> Vec<String> {
    let page = markup(page);
    page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default().to_owned()).collect()
}

/// The name of a tag's element.
fn element(tag: &str) -> &str {
    tag.split([' ', '/', '\n']).find(|part| !part.is_empty()).unwrap_or_default()
}

/// A page without the sources of its script and style and without the embedded document, in which `<` may be literal.
fn markup(page: &str) -> String {
    let page = page.replace(include_str!("../../templates/page.js"), "");
    let page = page.replace(include_str!("../../templates/page.css"), "");
    let start = page.find("id=\"document\">").unwrap() + 14;
    let end = start + page[start..].find("</script>").unwrap();
    format!("{}{}", &page[..start], &page[end..])
}

#[test]
fn a_page_refers_to_nothing_outside_itself() {
    let sources = [include_str!("../../templates/page.js"), include_str!("../../templates/page.css")];
    for source in sources {
        for needle in ["http:", "https:", "url(", "@import", "fetch(", "import("] {
            assert!(!source.contains(needle), "{needle}");
        }
    }
    for page in pages() {
        assert!(page.contains("default-src 'none'"));
        for tag in tags(&page) {
            assert!(!["link", "img", "iframe", "object", "embed", "base", "form"].contains(&element(&tag)), "{tag}");
            // Without the values of its attributes, which may be any text.
            let names: String = tag.split('"').step_by(2).collect();
            for attribute in [" src=", " srcset=", " style=", " xlink:", " on"] {
                assert!(!names.contains(attribute), "{attribute} in <{tag}>");
            }
            if let Some((_, target)) = tag.split_once("href=\"") {
                assert!(target.starts_with('#'), "{tag}");
            }
        }
    }
}

#[test]
fn hostile_names_become_no_elements() {
    let tame = survey(&sample_survey()).unwrap();
    let known: std::collections::BTreeSet<String> = tags(&tame).iter().map(|tag| element(tag).to_owned()).collect();
    let hostile = survey(&hostile_survey()).unwrap();
    for tag in tags(&hostile) {
        assert!(known.contains(element(&tag)), "<{tag}>");
    }
    assert_eq!(hostile.matches("<script").count(), 2, "the document and our own script");
    assert!(!hostile.chars().any(|ch| ch != '\n' && ch.is_control()), "no control characters");
    assert!(!hostile.contains('\u{202e}'), "no bidirectional override");
    assert!(markup(&hostile).contains("&#34;onmouseover"), "the name is shown, escaped");
}

#[test]
fn hostile_variants_become_no_elements() {
    let tame = bench(&bench_document(sample_bench())).unwrap();
    let known: std::collections::BTreeSet<String> = tags(&tame).iter().map(|tag| element(tag).to_owned()).collect();
    let hostile = bench(&bench_document(hostile_bench())).unwrap();
    for tag in tags(&hostile) {
        assert!(known.contains(element(&tag)), "<{tag}>");
    }
    assert_eq!(hostile.matches("<script").count(), 2, "the document and our own script");
    assert!(!hostile.chars().any(|ch| ch == '\u{1b}' || ch == '\u{202e}'), "no control characters");
}

#[test]
fn hostile_builds_and_rows_become_no_elements() {
    let known: std::collections::BTreeSet<String> = [sample_suite(), emulated_suite()]
        .iter()
        .flat_map(|document| tags(&suite(document).unwrap()))
        .map(|tag| element(&tag).to_owned())
        .collect();
    let hostile = suite(&hostile_suite()).unwrap();
    for tag in tags(&hostile) {
        assert!(known.contains(element(&tag)), "<{tag}>");
    }
    assert_eq!(hostile.matches("<script").count(), 2, "the document and our own script");
    assert!(!hostile.chars().any(|ch| (ch != '\n' && ch.is_control()) || ch == '\u{202e}'), "no control characters");
    assert!(markup(&hostile).contains("&lt;script") || markup(&hostile).contains("&#60;script"), "shown, escaped");
}

#[test]
fn every_row_of_a_suite_can_be_unfolded() {
    let document = sample_suite();
    let page = suite(&document).unwrap();
    let rows = document.summary.suites.iter().map(|suite| suite.rows.len()).sum::<usize>();
    assert_eq!(markup(&page).matches("<details><summary>").count(), rows);
    for words in [
        "is slower than",
        "signal 11 (SIGSEGV): &#34;matching&#34;",
        "`b_malloc_tiny1` of libc-bench",
        "<h3>Each row against glibc</h3>",
        "<h3>Time against dirty memory</h3>",
        "Index values of musl",
        "446.7",
        "3200 MHz",
        "signed-rank test",
        "a model",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_comparison_says_its_answer_first() {
    let page = bench(&bench_document(sample_bench())).unwrap();
    let answer = page.split("<ul class=\"answer\">").nth(1).unwrap().split("</ul>").next().unwrap();
    assert!(answer.contains("80.7 % less memory [80.6,\u{a0}80.7]"), "{answer}");
    assert!(answer.contains("On the Pareto front of time and memory: "), "{answer}");
    for title in
        ["Time against memory", "Change against glibc", "Distribution of wall time", "Resident memory over time"]
    {
        assert!(page.contains(&format!("<h3>{title}</h3>")), "{title}");
    }
}

#[test]
fn the_embedded_document_is_the_document() {
    for (page, json) in [
        (survey(&sample_survey()).unwrap(), crate::to_json(&sample_survey()).unwrap()),
        (survey(&hostile_survey()).unwrap(), crate::to_json(&hostile_survey()).unwrap()),
    ] {
        let start = page.find("id=\"document\">").unwrap() + 14;
        let end = start + page[start..].find("</script>").unwrap();
        let embedded: serde_json::Value = serde_json::from_str(&page[start..end]).unwrap();
        assert_eq!(embedded, serde_json::from_str::<serde_json::Value>(&json).unwrap());
    }
}

#[test]
fn every_object_of_a_closure_has_a_node_and_every_label_its_row() {
    let document = TreeDocument::new(&prefix_closure());
    let picture = dependency_picture(&document);
    assert_eq!(picture.svg.matches("data-node=").count(), document.objects.len());
    let mut rows: Vec<(String, String)> = Vec::new();
    for part in picture.svg.split("<text class=\"label\" ").skip(1) {
        let attribute =
            |name: &str| part.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned();
        rows.push((attribute("x"), attribute("y")));
    }
    let distinct: std::collections::BTreeSet<_> = rows.iter().collect();
    assert_eq!(distinct.len(), rows.len(), "two labels in one place: {rows:?}");
}

#[test]
fn a_failed_request_is_a_leaf_of_its_own() {
    let picture = dependency_picture(&TreeDocument::new(&broken_closure()));
    assert!(picture.svg.contains("n lost") && picture.svg.contains("libgone.so.3: not found (4 paths tried)"));
}

#[test]
fn an_empty_trace_draws_without_nonsense() {
    let mut sample = sample_trace();
    sample.phases.clear();
    sample.libraries.clear();
    sample.instants = Default::default();
    let document = TraceDocument::new(&sample);
    let page = trace(&document).unwrap();
    assert!(!page.contains("NaN") && !page.contains("inf\""), "{page}");
}

#[test]
fn a_page_is_stable() {
    let page = markup(&survey(&sample_survey()).unwrap());
    insta::assert_snapshot!(page);
}
