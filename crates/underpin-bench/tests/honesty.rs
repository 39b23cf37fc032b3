//! Whole experiments on machines whose noise is known: how often a difference is claimed that is not there, and how often
//! one is found that is. Deterministic: all noise comes from seeds.

mod common;

use std::time::Duration;
use underpin_bench::stats::{Random, normal_quantile};
use underpin_bench::{
    BUSY_LEVEL, BenchError, Candidate, Change, CommandLine, Comparison, Executor, Experiment, LEVEL, Machine,
    MemoryRun, Metric, MissingMetric, NullObserver, Rules, RunOutcome, TimedRun, measure, paired_ratio,
};
use underpin_sys::Usage;

/// The factor by which a run at this time takes longer.
type Noise = fn(&mut Machinery) -> f64;

/// What the noise depends on.
struct Machinery {
    random: Random,
    clock: f64,
    runs: u32,
    state: f64,
}

impl Machinery {
    fn normal(&mut self) -> f64 {
        normal_quantile(self.random.unit())
    }
}

/// A machine whose runs take what their command says, times the noise.
struct Noisy {
    machinery: Machinery,
    noise: Noise,
}

impl Executor for Noisy {
    fn run(&mut self, candidate: &Candidate, _: Option<Duration>) -> Result<TimedRun, BenchError> {
        let seconds: f64 = candidate.command.to_string().parse().expect("seconds");
        let wall = seconds * (self.noise)(&mut self.machinery);
        self.machinery.clock += wall;
        self.machinery.runs += 1;
        let wall = Duration::from_secs_f64(wall);
        let usage = Usage { user: wall, ..Usage::default() };
        Ok(TimedRun {
            wall,
            usage,
            counters: Default::default(),
            outcome: RunOutcome::Exited(0),
            load: None,
            reported: None,
        })
    }

    fn watch(
        &mut self,
        _: &Candidate,
        _: Option<Duration>,
        _: Duration,
    ) -> Result<Result<MemoryRun, String>, BenchError> {
        Ok(Err("the machine is a model".to_owned()))
    }

    fn hook(&mut self, _: &'static str, _: &CommandLine) -> Result<(), BenchError> {
        Ok(())
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs_f64(self.machinery.clock)
    }

    fn missing(&self) -> Vec<MissingMetric> {
        Vec::new()
    }
}

/// The comparison of two commands that take this many seconds if nothing disturbs them.
fn compare(seconds: [f64; 2], noise: Noise, rules: Rules) -> Comparison {
    compare_on(Machine::default(), seconds, noise, rules)
}

/// The same on a given machine.
fn compare_on(machine: Machine, seconds: [f64; 2], noise: Noise, rules: Rules) -> Comparison {
    let candidate = |(name, seconds): (&str, f64)| common::candidate(name, &seconds.to_string());
    let machinery = Machinery { random: Random::new(rules.seed ^ 0xabcd), clock: 0.0, runs: 0, state: 0.0 };
    let candidates = [("a", seconds[0]), ("b", seconds[1])].map(candidate).to_vec();
    let rules = Rules { memory_runs: 0, ..rules };
    let version = "0".to_owned();
    let experiment = Experiment { candidates, reference: 0, rules, version, started: 1, machine, row: None };
    let record = measure(&experiment, &mut Noisy { machinery, noise }, &mut NullObserver).expect("an experiment");
    paired_ratio(&record, Metric::Wall, 0, 1).expect("a comparison")
}

/// Now and then a run takes many times as long: a Pareto tail without a variance.
fn heavy_tailed(machine: &mut Machinery) -> f64 {
    1.0 + 0.05 * (machine.random.unit().powf(-1.0 / 1.5) - 1.0)
}

/// It grows slower all the time, with some noise of each run.
fn drifting(machine: &mut Machinery) -> f64 {
    (1.0 + 0.02 * machine.clock) * (1.0 + 0.05 * -machine.random.unit().ln())
}

/// What slows a run slows the next ones too: a first-order autoregression of the logarithm, correlation 0.95.
fn clustered(machine: &mut Machinery) -> f64 {
    machine.state = 0.95 * machine.state + 0.1 * machine.normal();
    (machine.state + 0.02 * machine.normal()).exp()
}

/// Other work that comes and goes, for some runs each time, and takes half of the processor while it is there.
fn bursts(machine: &mut Machinery) -> f64 {
    if machine.random.unit() < 0.1 {
        machine.state = 1.0 - machine.state;
    }
    (1.0 + machine.state) * (1.0 + 0.05 * -machine.random.unit().ln())
}

/// Every third and every fourth run is slowed, in step with the blocks or nearly so.
fn in_step(machine: &mut Machinery) -> f64 {
    let slowed = machine.runs.is_multiple_of(4) || machine.runs.is_multiple_of(3);
    (if slowed { 1.5 } else { 1.0 }) * (1.0 + 0.02 * -machine.random.unit().ln())
}

/// Only a processor that is shared now and then.
fn shared(machine: &mut Machinery) -> f64 {
    let waits = if machine.random.unit() < 0.25 { 0.4 * -machine.random.unit().ln() } else { 0.0 };
    (1.0 + waits) * (1.0 + 0.02 * machine.normal().abs())
}

const NOISES: [(&str, Noise); 6] = [
    ("heavy tails", heavy_tailed),
    ("drift", drifting),
    ("clusters", clustered),
    ("bursts", bursts),
    ("in step with the blocks", in_step),
    ("a shared processor", shared),
];

#[test]
fn equal_commands_are_told_apart_no_more_often_than_the_level_says_whatever_the_noise() {
    let experiments = 500u32;
    // The level, and three standard errors of the count.
    let most = LEVEL * f64::from(experiments) + 3.0 * (LEVEL * f64::from(experiments)).sqrt();
    for (name, noise) in NOISES {
        for runs in [16, 40] {
            let claimed = (0..experiments).filter(|&seed| {
                let rules = Rules { runs: Some(runs), seed: u64::from(seed), ..Rules::default() };
                matches!(compare([0.05, 0.05], noise, rules).verdict, Change::More | Change::Less)
            });
            let claimed = claimed.count() as f64;
            assert!(claimed <= most, "{name}, {runs} runs: {claimed} of {experiments}");
        }
    }
}

#[test]
fn a_machine_with_more_to_do_than_processors_has_to_show_five_times_the_evidence() {
    let machine = |load: u64| Machine { processors: 2, load_hundredths: Some(load), ..Machine::default() };
    let (calm, busy) = (machine(200), machine(201));
    assert_eq!((calm.is_busy(), busy.is_busy()), (false, true));
    // Signs all alike: 2/2^8 is below 1 %, and 2/2^10 is the first below 0.2 %.
    let clear = |machine: &Machine, runs| {
        compare_on(machine.clone(), [0.05, 0.1], drifting, Rules { runs: Some(runs), ..Rules::default() }).verdict
    };
    assert_eq!((clear(&calm, 16), clear(&busy, 18), clear(&busy, 20)), (Change::More, Change::Undecided, Change::More));
    let by_itself =
        compare_on(busy.clone(), [2.0, 2.0], drifting, Rules { time_ns: underpin_bench::Nanos(1), ..Rules::default() });
    assert_eq!(by_itself.count, by_itself.least(), "without -r there are as many blocks as can tell");
    let experiments = 1000u32;
    let most = BUSY_LEVEL * f64::from(experiments) + 3.0 * (BUSY_LEVEL * f64::from(experiments)).sqrt();
    for (name, noise) in NOISES {
        let claimed = (0..experiments).filter(|&seed| {
            let rules = Rules { runs: Some(24), seed: u64::from(seed), ..Rules::default() };
            matches!(compare_on(busy.clone(), [0.05, 0.05], noise, rules).verdict, Change::More | Change::Less)
        });
        let claimed = claimed.count() as f64;
        assert!(claimed <= most, "{name}: {claimed} of {experiments}");
    }
}

#[test]
fn of_equal_short_commands_no_large_difference_is_claimed_by_default() {
    for (name, noise) in NOISES {
        for seed in 0..25 {
            let comparison = compare([0.001, 0.001], noise, Rules { seed, ..Rules::default() });
            let claimed = matches!(comparison.verdict, Change::More | Change::Less);
            let notable = (comparison.ratio.estimate - 1.0).abs() > 0.05;
            assert!(!(claimed && notable), "{name}, seed {seed}: {comparison:?}");
        }
    }
}

#[test]
fn three_per_cent_of_fifty_milliseconds_are_found_within_a_minute() {
    let minute = Rules { budget_ns: Some(underpin_bench::Nanos(60_000_000_000)), ..Rules::default() };
    for (name, noise) in NOISES {
        let tries = 25;
        let found = (0..tries)
            .filter(|&seed| {
                let rules = Rules { seed, ..minute.clone() };
                compare([0.05, 0.0515], noise, rules).verdict == Change::More
            })
            .count();
        assert!(found >= 23, "{name}: {found} of {tries}");
    }
}

#[test]
fn intervals_hold_the_true_ratio_nearly_as_often_as_they_say_whatever_the_noise() {
    let experiments = 400;
    for (name, noise) in NOISES {
        let held = (0..experiments).filter(|&seed| {
            let rules = Rules { runs: Some(40), seed, ..Rules::default() };
            compare([0.05, 0.055], noise, rules).ratio.holds(1.1)
        });
        let share = held.count() as f64 / experiments as f64;
        // Three standard errors of the share are 3.3 points.
        assert!(share >= 0.917, "{name}: {share}");
    }
}
