//! The Pareto front: who leaves it, who stays, and why.

mod common;

use common::{candidate, experiment, run};
use underpin_bench::{Beaten, BenchRecord, Candidate, Metric, Pareto, Rules, analyse};

fn record_of(candidates: Vec<Candidate>, runs: u32, memory_runs: u32) -> BenchRecord {
    let rules = Rules { runs: Some(runs), memory_runs, ..Rules::default() };
    run(&experiment(candidates, rules)).0
}

/// The front of commands named a, b, c, each with 20 timed runs and 6 watched ones.
fn front(commands: &[&str]) -> Option<Pareto> {
    let candidates = ["a", "b", "c"].iter().zip(commands).map(|(name, text)| candidate(name, text)).collect();
    analyse(&record_of(candidates, 20, 6)).pareto
}

fn beaten(variant: &str, by: &str, claims: &[Metric]) -> Beaten {
    Beaten { variant: variant.to_owned(), by: by.to_owned(), claims: claims.to_vec() }
}

#[test]
fn what_costs_time_to_save_memory_stands_beside_what_it_is_traded_for() {
    let pareto = front(&["sleep 0.5 memory=300", "sleep 0.6 memory=60", "sleep 0.4 memory=900"]).unwrap();
    assert_eq!(pareto.metrics, [Metric::Wall, Metric::Rss]);
    assert_eq!((pareto.front.join(" "), pareto.beaten), ("a b c".to_owned(), vec![]));
}

#[test]
fn a_variant_that_loses_both_is_beaten_in_both() {
    let pareto = front(&["sleep 0.5 memory=300", "sleep 0.6 memory=60", "sleep 0.7 memory=90"]).unwrap();
    assert_eq!(pareto.front, ["a", "b"]);
    assert_eq!(pareto.beaten, [beaten("c", "b", &[Metric::Wall, Metric::Rss])]);
}

#[test]
fn the_same_time_and_more_memory_is_beaten_in_memory() {
    let pareto = front(&["sleep 0.5 memory=300 noise=0.001", "sleep 0.5 memory=60 noise=0.001"]).unwrap();
    assert_eq!(pareto.front, ["b"]);
    assert_eq!(pareto.beaten, [beaten("a", "b", &[Metric::Rss])]);
}

#[test]
fn a_loss_that_is_not_told_keeps_a_variant_on_the_front() {
    // So noisy that neither difference is claimed.
    let noisy = "memory=100 noise=5";
    let first = format!("sleep 0.50 {noisy}");
    let second = format!("sleep 0.52 {noisy}");
    let pareto = front(&[&first, &second]).unwrap();
    assert_eq!(pareto.front, ["a", "b"]);
}

#[test]
fn too_few_runs_beat_nobody() {
    let candidates = vec![candidate("a", "sleep 0.5 memory=300"), candidate("b", "sleep 0.1 memory=60")];
    assert_eq!(analyse(&record_of(candidates, 4, 2)).pareto.unwrap().front, ["a", "b"]);
}

#[test]
fn who_beats_is_on_the_front_itself() {
    let pareto = front(&["sleep 0.9 memory=900", "sleep 0.7 memory=300", "sleep 0.5 memory=60"]).unwrap();
    assert_eq!(pareto.front, ["c"]);
    assert!(pareto.beaten.iter().all(|one| one.by == "c"), "{pareto:?}");
}

#[test]
fn one_variant_or_no_memory_makes_no_front() {
    assert_eq!(front(&["sleep 0.5"]), None);
    let candidates = vec![candidate("a", "sleep 0.5"), candidate("b", "sleep 0.6")];
    assert_eq!(analyse(&record_of(candidates, 12, 0)).pareto, None);
    let copy = Candidate { is_copy: true, ..candidate("a again", "sleep 0.5") };
    let again = vec![candidate("a", "sleep 0.5"), copy];
    assert_eq!(analyse(&record_of(again, 12, 6)).pareto, None, "the copy is a check and no choice");
}
