//! Each rule at its threshold, and its command.

use super::*;
use crate::bytes::quoted;
use crate::document::tree::{FindingRecord, FoundBy, Level};
use crate::testing::{broken_closure, prefix_closure, sample_check, sample_trace};

fn tree() -> TreeDocument {
    TreeDocument::new(&prefix_closure())
}

fn trace() -> TraceDocument {
    TraceDocument::new(&sample_trace())
}

fn finding(kind: FindingSlug, name: &str) -> FindingRecord {
    FindingRecord {
        severity: Level::Warning,
        kind,
        object: Some(0),
        name: Some(name.into()),
        path: None,
        other: None,
        message: String::new(),
    }
}

#[test]
fn a_missing_library_is_explained_with_its_tries() {
    let advice: Vec<Advice> = missing(&TreeDocument::new(&broken_closure())).collect();
    assert_eq!(advice.len(), 1);
    assert!(advice[0].message().contains("4 paths were tried"), "{}", advice[0].message());
    assert_eq!(advice[0].command().unwrap(), "underpin tree --why libgone.so.3 ./broken");
    assert_eq!(missing(&tree()).count(), 0);
}

#[test]
fn a_storm_begins_at_its_threshold_and_names_the_worst_directory() {
    let mut trace = trace();
    assert_eq!(storm(&tree(), &trace), None, "two failing lookups are no storm");
    let lookup = trace.libraries[1].failed[1].clone();
    trace.libraries[1].failed = vec![lookup; 20];
    let Some(Advice::LookupStorm { failed, directory, in_directory, .. }) = storm(&tree(), &trace) else {
        panic!("twenty failing lookups are a storm")
    };
    assert_eq!((failed, in_directory, directory.to_string().as_str()), (20, 20, "/opt/gone/lib/"));
    let mut tree = tree();
    let advice = storm(&tree, &trace).unwrap();
    assert!(advice.message().contains("in /opt/gone/lib/ (runpath). See which object"), "{}", advice.message());
    assert_eq!(advice.command().unwrap(), "underpin tree --paths /opt/app/bin/app");
    tree.edges[1].tries[1].source.by = FoundBy::LibraryPath;
    let command = storm(&tree, &trace).unwrap().command().unwrap();
    assert_eq!(command, "env -u LD_LIBRARY_PATH underpin tree /opt/app/bin/app");
}

#[test]
fn a_storm_is_foreseen_where_nothing_was_run() {
    let mut tree = tree();
    assert_eq!(predicted_storm(&tree), None);
    let tried = tree.edges[1].tries[0].clone();
    tree.edges[1].tries.extend(vec![tried; 20]);
    let advice = predicted_storm(&tree).unwrap();
    assert!(advice.message().starts_with("21 lookups fail at every start before 5 libraries"), "{advice:?}");
    assert_eq!(advice.command().unwrap(), "underpin trace -- /opt/app/bin/app");
    let rules: Vec<String> = survey_advice(&sample_check(), &tree, None).into_iter().map(|it| it.rule).collect();
    assert_eq!(rules[0], "predicted_storm");
}

#[test]
fn many_libraries_are_worth_a_measurement_unless_they_are_merged() {
    let mut tree = tree();
    assert_eq!(many_libraries(&tree), None, "five are few");
    let library = tree.objects[1].clone();
    tree.objects.extend(vec![library; 20]);
    let advice = many_libraries(&tree).unwrap();
    assert!(advice.message().starts_with("25 libraries are mapped at every start"), "{advice:?}");
    assert_eq!(advice.command().unwrap(), "underpin bench --bind fused -- /opt/app/bin/app");
    tree.objects[1].path = "/opt/app/bin/.underpin/fused-app/1/app.fused.so".into();
    assert_eq!(many_libraries(&tree), None);
}

#[test]
fn a_few_lookups_among_many_libraries_are_no_storm() {
    assert!(!is_storm(19, 1, 0.9) && !is_storm(41, 213, 0.001));
    assert!(is_storm(41, 20, 0.001) && is_storm(41, 213, 0.05));
}

#[test]
fn dead_directories_are_taken_out_of_the_object_that_names_them() {
    let advice = dead_directories(&tree());
    assert_eq!(advice.len(), 1);
    assert_eq!(advice[0].command().unwrap(), "patchelf --shrink-rpath /opt/app/bin/app");
    let mut without = tree();
    without.objects[0].runpath = None;
    assert!(dead_directories(&without).is_empty(), "patchelf has nothing to change there");
    let mut merged = tree();
    merged.objects[0].path = "/opt/app/bin/.underpin/fused-app/1/app.fused.so".into();
    assert!(dead_directories(&merged).is_empty(), "its old names would not be found any more");
}

#[test]
fn a_heavy_library_has_a_share_and_a_size() {
    let mut trace = trace();
    let Some(Advice::HeavyLibrary { name, .. }) = heavy(&tree(), &trace) else { panic!("3.9 ms of 5.1 ms") };
    assert_eq!(name.to_string(), "libdeep.so");
    trace.libraries.iter_mut().for_each(|library| library.map_seconds /= 1e4);
    trace.libraries.iter_mut().for_each(|library| library.relocate_seconds = None);
    assert_eq!(heavy(&tree(), &trace), None);
}

#[test]
fn what_is_never_found_counts_only_after_the_loader() {
    let mut trace = trace();
    let advice = never_found(&trace).unwrap();
    assert_eq!(advice.command().unwrap(), "underpin trace -vv --until exit -- ./app --version");
    trace.missing[0].phase = PhaseName::Loader;
    assert_eq!(never_found(&trace), None, "the loader's own misses are the missing libraries");
}

#[test]
fn accidents_and_stale_entries_are_counted() {
    let mut tree = tree();
    assert_eq!((accidental(&tree), stale_cache(&tree)), (None, None));
    tree.findings.push(finding(FindingSlug::Accidental, "libluck.so"));
    tree.findings.push(finding(FindingSlug::Accidental, "libother.so"));
    tree.findings.push(finding(FindingSlug::StaleCache, "libold.so"));
    assert!(accidental(&tree).unwrap().message().starts_with("2 requests are met"), "{:?}", accidental(&tree));
    assert_eq!(stale_cache(&tree), Some(Advice::StaleCache { entries: 1 }));
}

#[test]
fn doubt_is_advice_from_one_half_on() {
    let mut trace = trace();
    assert_eq!(large_doubt(&trace), None);
    trace.phases[1].tracing_seconds = 0.6 * trace.instants.end_seconds;
    assert!(large_doubt(&trace).is_some());
}

#[test]
fn a_survey_ends_with_the_advice_of_the_check() {
    let check = sample_check();
    let advice = survey_advice(&check, &tree(), Some(&trace()));
    let rules: Vec<&str> = advice.iter().map(|item| item.rule.as_str()).collect();
    assert_eq!(rules, ["dead_directories", "heavy_library", "never_found", "zig_cc"]);
    assert_eq!(survey_advice(&check, &tree(), None).len(), 2);
}

#[test]
fn commands_quote_for_the_shell_or_are_left_out() {
    assert_eq!(quoted(&"/a/b-1.so".into()).unwrap(), "/a/b-1.so");
    assert_eq!(quoted(&"a b'c;$x".into()).unwrap(), r"'a b'\''c;$x'");
    assert_eq!(quoted(&"".into()).unwrap(), "''");
    assert_eq!(quoted(&"a\u{1b}b".into()), None);
    assert_eq!(quoted(&bstr::BString::from(&b"\xff"[..]).into()), None);
}

#[test]
fn an_allocator_is_advised_with_its_intervals() {
    use crate::document::trial::{AllocatorTrial, TrialRatio, TriedAllocator};
    use underpin_bench::{Change, Interval};
    let interval = |estimate, low, high| Interval { estimate, low, high, confidence: 0.95 };
    let ratio = |ratio, verdict| TrialRatio { ratio, verdict };
    let trial = AllocatorTrial {
        runs: 14,
        memory_runs: 6,
        wall_seconds: interval(70.9, 70.0, 72.0),
        rss_bytes: Some(interval(7.1e8, 7.0e8, 7.2e8)),
        allocators: vec![TriedAllocator {
            name: "jemalloc".to_owned(),
            wall: ratio(interval(1.07, 1.00, 1.12), Change::More),
            rss: Some(ratio(interval(0.19, 0.12, 0.23), Change::Less)),
        }],
    };
    let command = [Raw::from("ruby"), Raw::from("bench alloc.rb")];
    let advice = allocator_advice(&command, &trial);
    assert_eq!(advice.len(), 1);
    let words = "jemalloc: memory -81 % [-88, -77], time +7 % [0, +12] (14 runs of each). Keep it:";
    assert_eq!(advice[0].message, words);
    assert_eq!(advice[0].command.as_deref(), Some("underpin run --malloc jemalloc -- ruby 'bench alloc.rb'"));
}
