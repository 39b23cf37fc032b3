//! Experiments on a model of a machine: what runs, in which order, when it stops, what comes out.

mod common;

use common::{candidate, command, experiment, run};
use std::time::Duration;
use underpin_bench::{
    BenchError, Candidate, Change, Hooks, Metric, MockExecutor, Nanos, NullObserver, Rules, Stopped, WarningKind,
    analyse, measure,
};

fn runs(count: u32) -> Rules {
    Rules { runs: Some(count), memory_runs: 0, ..Rules::default() }
}

#[test]
fn runs_are_interleaved_and_counted() {
    for count in [1, 2, 5, 12] {
        let candidates = vec![candidate("a", "sleep 0.1"), candidate("b", "sleep 0.2"), candidate("c", "sleep 0.1")];
        let mut executor = MockExecutor::new(1);
        let record = measure(&experiment(candidates, runs(count)), &mut executor, &mut NullObserver).unwrap();
        for name in ["a", "b", "c"] {
            assert_eq!(executor.log.iter().filter(|one| *one == name).count(), count as usize);
        }
        for block in executor.log.chunks(6).filter(|block| block.len() == 6) {
            assert!(block.iter().eq(block.iter().rev()), "{block:?}");
        }
        assert_eq!(record.end.unwrap().stopped, Stopped::Runs);
    }
}

#[test]
fn hooks_stand_around_every_run_and_equal_ones_run_once_around_all() {
    let hooks = Hooks {
        setup: Some(command("make")),
        prepare: Some(command("drop")),
        conclude: Some(command("look")),
        cleanup: Some(command("clean")),
    };
    let with = |name: &str| Candidate { hooks: hooks.clone(), ..candidate(name, "sleep 0.1") };
    let mut executor = MockExecutor::new(1);
    let rules = Rules { memory_runs: 1, warmup: 1, ..runs(1) };
    measure(&experiment(vec![with("a"), with("b")], rules), &mut executor, &mut NullObserver).unwrap();
    assert_eq!(executor.log.first().unwrap(), "setup make");
    assert_eq!(executor.log.last().unwrap(), "cleanup clean");
    let between = &executor.log[1..executor.log.len() - 1];
    assert_eq!(between.len(), 3 * 2 * 3);
    for run in between.chunks(3) {
        assert_eq!((run[0].as_str(), run[2].as_str()), ("prepare drop", "conclude look"));
    }
}

#[test]
fn clean_up_runs_after_a_failure_too() {
    let hooks = Hooks { cleanup: Some(command("clean")), ..Hooks::default() };
    let failing = Candidate { hooks: hooks.clone(), ..candidate("a", "sleep 0.1 status=3") };
    let mut executor = MockExecutor::new(1);
    let error = measure(&experiment(vec![failing.clone()], runs(4)), &mut executor, &mut NullObserver).unwrap_err();
    assert!(matches!(error, BenchError::Failed { .. }) && error.to_string().contains("status 3"), "{error}");
    assert_eq!(executor.log, ["a", "cleanup clean"]);
    let rules = Rules { ignore_failure: true, ..runs(12) };
    let (_, analysis) = run(&experiment(vec![failing], rules));
    assert_eq!(analysis.variants[0].failures, 12);
    assert!(analysis.warnings.iter().any(|one| matches!(one.kind, WarningKind::Failures { count: 12, of: 12 })));
}

#[test]
fn a_command_that_hangs_is_an_error_with_its_limit() {
    let rules = Rules { timeout_ns: Some(Nanos(50_000_000)), ..runs(4) };
    let experiment = experiment(vec![candidate("a", "sleep 0.1")], rules);
    let error = measure(&experiment, &mut MockExecutor::new(1), &mut NullObserver).unwrap_err();
    assert!(error.to_string().contains("0.05 s"), "{error}");
}

#[test]
fn short_commands_run_for_their_time_and_long_ones_for_their_least_number() {
    let rules = Rules { memory_runs: 0, ..Rules::default() };
    let (record, _) = run(&experiment(vec![candidate("a", "sleep 0.01")], rules.clone()));
    assert!((250..320).contains(&record.samples.len()), "3 s of 10 ms: {}", record.samples.len());
    let (record, _) = run(&experiment(vec![candidate("a", "sleep 60")], rules));
    assert_eq!(record.samples.len(), 12);
}

#[test]
fn a_budget_holds_for_everything() {
    for (seconds, memory_runs) in [("0.05", 6), ("3", 6), ("3", 0)] {
        let rules = Rules { budget_ns: Some(Nanos(60_000_000_000)), memory_runs, ..Rules::default() };
        let candidates = vec![candidate("a", &format!("sleep {seconds}")), candidate("b", "sleep 0.1")];
        let (record, _) = run(&experiment(candidates, rules));
        let end = record.end.unwrap();
        assert_eq!(end.stopped, Stopped::Budget);
        assert!(end.took_ns <= Nanos(60_000_000_000), "{end:?}");
        assert!(end.took_ns >= Nanos(30_000_000_000), "it is used: {end:?}");
    }
}

#[test]
fn until_stops_as_soon_as_the_interval_is_narrow() {
    let candidates = vec![candidate("a", "sleep 0.05 noise=0.1"), candidate("b", "sleep 0.05 noise=0.1")];
    let budget = Some(Nanos(3_600_000_000_000));
    let rules =
        Rules { until: Some("ratio ±2%".parse().unwrap()), budget_ns: budget, memory_runs: 0, ..Rules::default() };
    let (record, analysis) = run(&experiment(candidates.clone(), rules.clone()));
    assert_eq!(record.end.unwrap().stopped, Stopped::Narrow);
    let ratio = analysis.comparison("b", Metric::Wall).unwrap().ratio;
    assert!(ratio.relative_half_width() <= 0.02 && ratio.relative_half_width() > 0.008, "{ratio:?}");
    // Out of reach: the budget ends it, and that is said.
    let rules = Rules { until: Some("ratio ±0.01%".parse().unwrap()), budget_ns: Some(Nanos(5_000_000_000)), ..rules };
    let (record, analysis) = run(&experiment(candidates, rules));
    assert_eq!(record.end.unwrap().stopped, Stopped::Budget);
    assert!(
        analysis.warnings.iter().any(|one| matches!(one.kind, WarningKind::Budget { .. })),
        "{:?}",
        analysis.warnings
    );
}

#[test]
fn a_machine_that_grows_slower_takes_nobodys_side() {
    let candidates = vec![candidate("a", "sleep 0.05"), candidate("b", "sleep 0.05")];
    let mut executor = MockExecutor::new(3);
    executor.drift = 0.05;
    let record = measure(&experiment(candidates, runs(60)), &mut executor, &mut NullObserver).unwrap();
    let analysis = analyse(&record);
    let comparison = analysis.comparison("b", Metric::Wall).unwrap();
    assert!(comparison.ratio.holds(1.0) && comparison.ratio.relative_half_width() < 0.02, "{comparison:?}");
    assert!(analysis.warnings.iter().any(|one| matches!(one.kind, WarningKind::Drift { change } if change > 1.1)));
}

#[test]
fn a_difference_is_found_with_its_size_and_the_same_work_is_called_the_same() {
    let candidates = vec![
        candidate("a", "sleep 0.05 memory=100"),
        candidate("b", "sleep 0.06 memory=20"),
        candidate("c", "sleep 0.05 memory=100"),
    ];
    let (_, analysis) = run(&experiment(candidates, Rules { memory_runs: 8, ..runs(100) }));
    let of = |variant: &str, metric| analysis.comparison(variant, metric).unwrap();
    assert_eq!(of("b", Metric::Wall).verdict, Change::More);
    assert!(
        of("b", Metric::Wall).ratio.holds(1.2) && of("b", Metric::Wall).p_corrected >= of("b", Metric::Wall).p_value
    );
    assert_eq!(of("b", Metric::Rss).verdict, Change::Less);
    assert!((of("b", Metric::Rss).ratio.estimate - 0.2).abs() < 0.01);
    assert!(matches!(of("c", Metric::Wall).verdict, Change::Same | Change::Undecided));
    assert!(analysis.comparison("a", Metric::Wall).is_none(), "the reference has nobody to be compared with");
}

#[test]
fn too_few_runs_claim_nothing_and_say_why() {
    let candidates = vec![candidate("a", "sleep 0.05 noise=0"), candidate("b", "sleep 0.1 noise=0")];
    let (_, analysis) = run(&experiment(candidates, runs(4)));
    assert_eq!(analysis.comparison("b", Metric::Wall).unwrap().verdict, Change::Undecided);
    assert!(
        analysis
            .warnings
            .iter()
            .any(|one| matches!(one.kind, WarningKind::FewBlocks { blocks: 2, least: 8, runs: 16 }))
    );
}

#[test]
fn more_variants_get_more_runs_so_that_each_can_be_told() {
    for (variants, runs) in [(1, 12), (2, 16), (3, 18), (5, 20), (9, 22)] {
        let candidates = (0..variants).map(|index| candidate(&index.to_string(), "sleep 60 noise=0.1"));
        let rules = Rules { memory_runs: 0, ..Rules::default() };
        let (record, analysis) = run(&experiment(candidates.collect(), rules));
        assert_eq!(record.samples.len(), variants * runs);
        assert!(!analysis.warnings.iter().any(|one| matches!(one.kind, WarningKind::FewBlocks { .. })));
    }
    let candidates = [("a", "1"), ("b", "1.1"), ("c", "1.2"), ("d", "1.3")];
    let candidates = candidates.map(|(name, time)| candidate(name, &format!("sleep {time} noise=0.001 memory={time}")));
    let (_, analysis) = run(&experiment(candidates.to_vec(), Rules::default()));
    for variant in ["b", "c", "d"] {
        for metric in [Metric::Wall, Metric::Rss] {
            assert_eq!(analysis.comparison(variant, metric).unwrap().verdict, Change::More, "{metric}");
        }
    }
}

#[test]
fn the_noise_floor_is_what_the_reference_shows_beside_itself() {
    let copy = Candidate { is_copy: true, ..candidate("a (again)", "sleep 0.05 noise=0.2") };
    let candidates = vec![candidate("a", "sleep 0.05 noise=0.2"), copy];
    let (_, analysis) = run(&experiment(candidates, runs(40)));
    let noise = analysis.noise_floor.unwrap();
    assert!(noise.floor > 0.01 && noise.floor < 0.2, "{noise:?}");
}

#[test]
fn zero_times_make_no_ratio() {
    let candidates = vec![candidate("a", "sleep 0.05"), candidate("b", "sleep 0.05")];
    let (_, analysis) = run(&experiment(candidates, runs(12)));
    assert!(analysis.comparison("b", Metric::MajorFaults).is_none(), "there are none");
    assert!(analysis.comparison("b", Metric::MinorFaults).is_some());
}

#[test]
fn growth_needs_a_run_that_outlasts_its_settling() {
    let rules = || Rules { memory_runs: 6, ..runs(2) };
    let (record, analysis) = run(&experiment(vec![candidate("a", "sleep 1")], rules()));
    assert!(analysis.variants[0].metric(Metric::RssGrowth).unwrap().median.estimate > 0.0);
    assert!(record.memory.iter().all(|run| !run.series.is_empty()));
    let (record, _) = run(&experiment(vec![candidate("a", "sleep 0.1")], rules()));
    let missing = record.end.unwrap().missing;
    let reason = &missing.iter().find(|missing| missing.metric == Metric::RssGrowth).unwrap().reason;
    assert!(reason.contains("--settle"), "{reason}");
}

#[test]
fn nothing_to_measure_is_refused() {
    let error = measure(&experiment(Vec::new(), runs(1)), &mut MockExecutor::new(1), &mut NullObserver).unwrap_err();
    assert!(matches!(error, BenchError::Nothing));
    let unknown = experiment(vec![candidate("a", "dance 3")], runs(1));
    assert!(measure(&unknown, &mut MockExecutor::new(1), &mut NullObserver).is_err());
}

#[test]
fn analysing_twice_gives_the_same() {
    let candidates = vec![candidate("a", "sleep 0.05"), candidate("b", "sleep 0.06")];
    let (record, analysis) = run(&experiment(candidates, Rules::default()));
    assert_eq!(analyse(&record), analysis);
    assert!(Duration::from(record.end.unwrap().took_ns) > Duration::from_secs(6));
}
