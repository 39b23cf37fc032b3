//! What the tests of whole experiments share: commands as they are, and a model of a machine to run them on.

#![allow(dead_code, reason = "no test uses all of it")]

use underpin_bench::{
    Analysis, BenchRecord, Candidate, CommandLine, Experiment, Machine, MockExecutor, NullObserver, Rules, Shell,
    analyse, measure,
};

pub fn command(text: &str) -> CommandLine {
    CommandLine::parse(text, &Shell::None).expect("a command")
}

pub fn candidate(name: &str, text: &str) -> Candidate {
    Candidate::new(name, command(text))
}

pub fn experiment(candidates: Vec<Candidate>, rules: Rules) -> Experiment {
    let machine = Machine { processors: 2, ..Machine::default() };
    Experiment { candidates, reference: 0, rules, version: "0".to_owned(), started: 1, machine, row: None }
}

/// Carries an experiment out on the model.
pub fn run(experiment: &Experiment) -> (BenchRecord, Analysis) {
    let record = measure(experiment, &mut MockExecutor::new(7), &mut NullObserver).expect("an experiment");
    let analysis = analyse(&record);
    (record, analysis)
}
