//! From a record and its analysis to `underpin.bench/1`.

use super::SchemaTag;
use super::bench::*;
use std::collections::BTreeMap;
use underpin_bench::stats::{CONFIDENCE, Interval};
use underpin_bench::{
    Analysis, Comparison, Direction, Gate, GateOutcome, GateResult, Latency, LoadRecord, LoadSample, MemoryPoint,
    Metric, MetricSummary, Nanos, Pareto, Pass, Record, RunOutcome, Scope, Stopped, Unit, Verdict, compare_records,
};

impl BenchDocument {
    /// The document of a record.
    #[must_use]
    pub fn new(record: &Record, analysis: &Analysis) -> BenchDocument {
        let name = |index: usize| record.header.variants[index].name.clone();
        let reference = name(record.header.reference);
        let variants = (0..record.header.variants.len()).map(|index| variant(record, analysis, index)).collect();
        BenchDocument {
            schema: SchemaTag::new(),
            underpin: record.header.underpin.clone(),
            started_unix_seconds: record.header.started,
            machine: machine(record),
            method: method(record),
            load: record.header.load.as_ref().map(load_method),
            variants,
            comparisons: analysis
                .comparisons
                .iter()
                .map(|one| comparison(one, name(one.variant), reference.clone()))
                .collect(),
            pareto: analysis.pareto.as_ref().map(|pareto| pareto_record(pareto, name)),
            noise_floor: analysis
                .noise
                .map(|noise| NoiseRecord { ratio: noise.comparison.ratio.into(), floor: noise.floor }),
            baseline: None,
            gate: None,
            missing: analysis
                .missing
                .iter()
                .map(|one| MissingRecord { metric: one.metric.name().to_owned(), reason: one.reason.clone() })
                .collect(),
            doubts: analysis
                .doubts
                .iter()
                .map(|doubt| DoubtRecord {
                    variant: match doubt.scope() {
                        Scope::All => None,
                        Scope::Variant(index) => Some(name(index)),
                    },
                    message: doubt.to_string(),
                    brief: doubt.brief(),
                })
                .collect(),
        }
    }

    /// Adds an earlier record: each variant beside the one of the same name then, or, where both have but one, beside
    /// that.
    #[must_use]
    pub fn with_baseline(mut self, name: &str, earlier: &Record, record: &Record) -> BenchDocument {
        let mut comparisons = Vec::new();
        for (index, now) in record.header.variants.iter().enumerate() {
            let Some(then) = counterpart(earlier, &names(record), index).filter(|_| !now.is_copy) else { continue };
            let found =
                Metric::all().filter_map(|metric| compare_records((earlier, then), (record, index), metric).ok());
            let reference = earlier.header.variants[then].name.clone();
            comparisons.extend(found.map(|one| comparison(&one, now.name.clone(), reference.clone())));
        }
        let differences = differences(earlier, record);
        let started_unix_seconds = earlier.header.started;
        self.baseline = Some(BaselineRecord { name: name.to_owned(), started_unix_seconds, comparisons, differences });
        self
    }

    /// Judges limits: beside the baseline where there is one, else beside the reference.
    #[must_use]
    pub fn with_gate(
        mut self,
        gate: &Gate,
        earlier: Option<&Record>,
        record: &Record,
        analysis: &Analysis,
    ) -> BenchDocument {
        let (mut limits, mut results) = (Vec::new(), Vec::new());
        for (index, one) in record.header.variants.iter().enumerate() {
            if one.is_copy || (earlier.is_none() && index == record.header.reference) {
                continue;
            }
            for rule in &gate.rules {
                let found = match earlier {
                    Some(earlier) => counterpart(earlier, &names(record), index)
                        .and_then(|then| compare_records((earlier, then), (record, index), rule.metric).ok()),
                    None => analysis.comparison(index, rule.metric).copied(),
                };
                let result = rule.judge(found.as_ref());
                results.push(result);
                let in_block = |found: &Comparison| if found.paired && record.header.load.is_none() { 2 } else { 1 };
                let runs = |found: &Comparison| Some(rule.needed(found)?.saturating_mul(in_block(found)));
                limits.push(LimitRecord {
                    variant: one.name.clone(),
                    limit: rule.to_string(),
                    ratio: found.map(|found| found.ratio.into()),
                    result: limit_result(result),
                    runs_needed: found.as_ref().and_then(runs),
                });
            }
        }
        let outcome = match GateOutcome::of(results) {
            GateOutcome::Passed => GateOutcomeRecord::Passed,
            GateOutcome::Failed => GateOutcomeRecord::Failed,
            GateOutcome::NotDecided => GateOutcomeRecord::NotDecided,
        };
        self.gate = Some(GateRecord { outcome, passed: outcome == GateOutcomeRecord::Passed, limits });
        self
    }

    /// Whether any of these variants has one in an earlier record to be compared with.
    #[must_use]
    pub fn comparable(earlier: &Record, names: &[&str]) -> bool {
        (0..names.len()).any(|index| counterpart(earlier, names, index).is_some())
    }
}

fn names(record: &Record) -> Vec<&str> {
    record.header.variants.iter().map(|variant| variant.name.as_str()).collect()
}

/// The variant of an earlier record that one of this is compared with.
fn counterpart(earlier: &Record, names: &[&str], index: usize) -> Option<usize> {
    let name = names.get(index)?;
    let same = earlier.header.variants.iter().position(|variant| variant.name == *name);
    let alone = names.len() == 1 && earlier.header.variants.len() == 1;
    same.or(alone.then_some(0))
}

fn differences(earlier: &Record, record: &Record) -> Vec<String> {
    let (then, now) = (&earlier.header.machine, &record.header.machine);
    let pairs = [
        ("processor", then.processor.clone(), now.processor.clone()),
        ("number of processors", then.processors.to_string(), now.processors.to_string()),
        ("kernel", then.kernel.clone(), now.kernel.clone()),
        ("system", then.system.clone(), now.system.clone()),
        ("underpin", earlier.header.underpin.clone(), record.header.underpin.clone()),
    ];
    let changed = pairs.into_iter().filter(|(_, then, now)| then != now);
    changed.map(|(what, then, now)| format!("{what}: {then} then, {now} now")).collect()
}

fn limit_result(result: GateResult) -> LimitResult {
    match result {
        GateResult::Kept => LimitResult::Kept,
        GateResult::Unsure => LimitResult::Unsure,
        GateResult::TooFew => LimitResult::TooFew,
        GateResult::Failed => LimitResult::Failed,
        GateResult::NotMeasured => LimitResult::NotMeasured,
    }
}

fn machine(record: &Record) -> MachineRecord {
    let machine = record.header.machine.clone();
    let load = |hundredths: u64| hundredths as f64 / 100.0;
    MachineRecord {
        processor: machine.processor,
        processors: machine.processors,
        memory_bytes: machine.memory_bytes,
        kernel: machine.kernel,
        system: machine.system,
        governor: machine.governor,
        aslr: machine.aslr,
        load_before: machine.load_hundredths.map(load),
        load_after: record.end.as_ref().and_then(|end| end.load_hundredths).map(load),
    }
}

fn method(record: &Record) -> MethodRecord {
    let rules = &record.header.rules;
    MethodRecord {
        warmup: rules.warmup,
        blocks: record.samples.iter().map(|sample| sample.block as usize + 1).max().unwrap_or(0),
        seed: rules.seed,
        confidence: CONFIDENCE,
        stopped: match record.end.as_ref().map(|end| end.stopped) {
            Some(Stopped::Runs) => StoppedRecord::Runs,
            Some(Stopped::Time) => StoppedRecord::Time,
            Some(Stopped::Budget) => StoppedRecord::Budget,
            Some(Stopped::Narrow) => StoppedRecord::Narrow,
            Some(Stopped::Interrupted) | None => StoppedRecord::Interrupted,
        },
        until: rules.until.map(|until| until.to_string()),
        budget_seconds: rules.budget_ns.map(underpin_bench::Nanos::seconds),
        settle_seconds: rules.settle_ns.seconds(),
        took_seconds: record.end.as_ref().map(|end| end.took_ns.seconds()),
    }
}

fn load_method(load: &LoadRecord) -> LoadMethodRecord {
    LoadMethodRecord {
        request: load.request.clone(),
        rate: load.rate,
        connections: load.connections,
        threads: load.threads,
        warmup_seconds: load.warmup_ns.seconds(),
        window_seconds: load.window_ns.seconds(),
        starts_server: load.is_ours,
    }
}

fn load_run(load: &LoadSample) -> LoadRunRecord {
    let errors = load.errors;
    let curve = load.latency.iter().flat_map(|latency| Latency::SHARES.into_iter().zip(&latency.curve_ns));
    LoadRunRecord {
        requests: load.requests,
        answered: load.answered,
        window_seconds: load.window_ns.seconds(),
        sent_again: load.sent_again,
        redirected: load.redirected,
        errors: LoadErrorsRecord {
            connect: errors.connect,
            status: errors.status,
            broken: errors.broken,
            timed_out: errors.timed_out,
        },
        unsent: load.unsent,
        bytes: load.bytes.0,
        answer_times: curve.map(|(share, time)| AnswerTimeRecord { share, seconds: time.seconds() }).collect(),
        generator_busy: f64::from(load.busy_thousandths) / 1000.0,
        generator_lag_seconds: load.lag_ns.seconds(),
    }
}

fn variant(record: &Record, analysis: &Analysis, index: usize) -> BenchVariant {
    let (header, summary) = (&record.header.variants[index], &analysis.variants[index]);
    let samples = record.samples.iter().filter(|sample| sample.variant == index);
    let watched = record.memory.iter().filter(|run| run.variant == index);
    BenchVariant {
        name: header.name.clone(),
        command: header.command.clone(),
        environment: header.environment.clone(),
        is_reference: index == record.header.reference,
        is_copy: header.is_copy,
        failures: summary.failures,
        metrics: summary.metrics.iter().map(metric).collect(),
        runs: samples
            .map(|sample| RunRecord {
                block: sample.block,
                at_seconds: sample.at_ns.seconds(),
                figures: figures(|metric| metric.of_sample(sample)),
                exit_status: match sample.outcome {
                    RunOutcome::Exited(status) => Some(status),
                    RunOutcome::Signalled(_) | RunOutcome::TimedOut => None,
                },
                load: sample.load.as_ref().map(load_run),
            })
            .collect(),
        memory_runs: watched
            .map(|run| MemoryRunRecord {
                block: run.block,
                figures: figures(|metric| metric.of_memory(run)),
                processes: run
                    .processes
                    .iter()
                    .map(|one| ProcessRecord { name: one.name.clone(), peak_rss_bytes: one.peak_rss.0 })
                    .collect(),
                process_count: run.process_count,
                peak_rss_bytes: run.peak_rss.0,
                peak_rss_at_most_bytes: run.peak_bound.map(|bound| bound.0),
                sampled_every_seconds: run.step_ns.map(Nanos::seconds),
                series: run.series.iter().map(point).collect(),
            })
            .collect(),
    }
}

fn figures(of: impl Fn(Metric) -> Option<f64>) -> BTreeMap<String, f64> {
    Metric::all().filter_map(|metric| Some((metric.name().to_owned(), of(metric)?))).collect()
}

fn point(point: &MemoryPoint) -> MemoryPointRecord {
    MemoryPointRecord {
        at_seconds: point.at_ns.seconds(),
        rss_bytes: point.rss.0,
        pss_bytes: point.pss.0,
        private_dirty_bytes: point.private_dirty.0,
    }
}

fn metric(summary: &MetricSummary) -> MetricRecord {
    MetricRecord {
        metric: summary.metric.name().to_owned(),
        label: summary.metric.label().to_owned(),
        unit: match summary.metric.unit() {
            Unit::Seconds => UnitRecord::Seconds,
            Unit::Bytes => UnitRecord::Bytes,
            Unit::Count => UnitRecord::Count,
            Unit::PerSecond => UnitRecord::PerSecond,
        },
        direction: match summary.metric.direction() {
            Direction::LowerIsBetter => DirectionRecord::LowerIsBetter,
            Direction::HigherIsBetter => DirectionRecord::HigherIsBetter,
        },
        pass: match summary.metric.pass() {
            Pass::Timed => PassRecord::Timed,
            Pass::Memory => PassRecord::Memory,
        },
        count: summary.count,
        median: summary.median.into(),
        mean: summary.mean,
        min: summary.least,
        first_quartile: summary.first_quartile,
        third_quartile: summary.third_quartile,
        max: summary.greatest,
        spread: summary.spread,
    }
}

fn pareto_record(pareto: &Pareto, name: impl Fn(usize) -> String) -> ParetoRecord {
    ParetoRecord {
        metrics: pareto.metrics.map(|metric| metric.name().to_owned()),
        front: pareto.front.iter().map(|&index| name(index)).collect(),
        beaten: pareto
            .beaten
            .iter()
            .map(|one| BeatenRecord {
                variant: name(one.variant),
                by: name(one.by),
                claims: one.claims.iter().map(|metric| metric.name().to_owned()).collect(),
            })
            .collect(),
    }
}

impl From<Interval> for IntervalRecord {
    fn from(interval: Interval) -> IntervalRecord {
        let Interval { estimate, low, high, confidence } = interval;
        IntervalRecord { estimate, low, high, confidence }
    }
}

fn comparison(one: &Comparison, variant: String, reference: String) -> BenchComparison {
    BenchComparison {
        variant,
        reference,
        metric: one.metric.name().to_owned(),
        ratio: one.ratio.into(),
        p_value: one.p_value,
        p_corrected: one.p_corrected,
        test: match (one.paired, one.exact) {
            (true, true) => TestRecord::SignedRankExact,
            (true, false) => TestRecord::SignedRank,
            (false, true) => TestRecord::MannWhitneyExact,
            (false, false) => TestRecord::MannWhitney,
        },
        count: one.count,
        level: one.level,
        verdict: match one.verdict() {
            Verdict::Less => VerdictRecord::Less,
            Verdict::More => VerdictRecord::More,
            Verdict::Same => VerdictRecord::Same,
            Verdict::Undecided => VerdictRecord::Undecided,
        },
    }
}
