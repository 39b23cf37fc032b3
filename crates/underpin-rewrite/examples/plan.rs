//! Plans for the given paths, and prints what would happen to them: `cargo run --example plan -- PATH...`.
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::collections::BTreeMap;
use std::time::Instant;
use underpin_resolve::{Environment, HostRoot};
use underpin_rewrite::plan::{Decision, Planner, Policy, Scope, Shape};

fn main() {
    let mut policy = Policy::default();
    let mut named: Vec<bstr::BString> = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--flatten" => policy.shape = Shape::Flatten,
            "--farm" => policy.shape = Shape::Farm,
            "--relative" => policy.shape = Shape::Relative,
            _ => named.push(argument.into()),
        }
    }
    let root = HostRoot::new();
    let start = Instant::now();
    let scope = Scope::find(&root, &named);
    let found = start.elapsed();
    let plan = Planner::new(&root, Environment::empty(), policy).plan(&scope);
    let (mut bound, mut reasons) = (0, BTreeMap::<String, usize>::new());
    for edge in plan.objects.iter().flat_map(|object| &object.edges) {
        match &edge.decision {
            Decision::LeftAlone { reason } => {
                let kind = format!("{reason:?}");
                let kind = kind.split(" {").next().unwrap_or_default().to_owned();
                *reasons.entry(format!("{kind} ({})", edge.name)).or_default() += 1;
            }
            _ => bound += 1,
        }
    }
    println!("{} files found in {found:?}, planned in {:?}", scope.files.len(), start.elapsed());
    println!("{} objects change, {bound} names bound", plan.changes().count());
    for (reason, count) in reasons {
        println!("{count:6} {reason}");
    }
    for refused in plan.refused.iter().take(30) {
        println!("refused {}: {}", refused.path, refused.because);
    }
    for program in plan.programs.iter().filter(|program| !program.differences.is_empty()) {
        println!("{} differs: {:?}", program.path, program.differences);
    }
    let sum = |calls: fn(&underpin_rewrite::plan::ProgramPlan) -> u64| plan.programs.iter().map(calls).sum::<u64>();
    println!(
        "{} programs: calls {} -> {}, failed {} -> {}, mmap {} -> {}",
        plan.programs.len(),
        sum(|program| program.before.calls),
        sum(|program| program.after.map_or(0, |after| after.calls)),
        sum(|program| program.before.failed),
        sum(|program| program.after.map_or(0, |after| after.failed)),
        sum(|program| program.before.mmap),
        sum(|program| program.after.map_or(0, |after| after.mmap)),
    );
    println!("cost: {:?}", plan.cost());
}
