//! Records of a machine that is a model.

use underpin_bench::{
    Analysis, Command, Contestant, Experiment, Hooks, Machine, MockExecutor, Record, Rules, Shell, Silent, Variant,
    analyse, measure,
};

fn contestant(name: &str, command: &str) -> Contestant {
    Contestant {
        name: name.to_owned(),
        command: Command::parse(command, &Shell::None).expect("a command"),
        variant: Variant { changes: vec![("MALLOC_ARENA_MAX".into(), Some("1".into()))], ..Variant::default() },
        hooks: Hooks::default(),
        is_copy: false,
    }
}

fn record(contestants: Vec<Contestant>, rules: Rules, started: u64) -> (Record, Analysis) {
    let machine = Machine {
        processor: "a model".to_owned(),
        processors: 2,
        kernel: "6.1".to_owned(),
        load_hundredths: Some(312),
        ..Machine::default()
    };
    let experiment = Experiment { contestants, reference: 0, rules, version: "0".to_owned(), started, machine };
    let mut record = measure(&experiment, &mut MockExecutor::new(4), &mut Silent).expect("an experiment");
    // The load of the machine that runs the test.
    record.end.as_mut().expect("it ended").load_hundredths = None;
    let analysis = analyse(&record);
    (record, analysis)
}

/// Three variants and the reference once more.
pub(crate) fn sample_bench() -> (Record, Analysis) {
    let copy = Contestant { is_copy: true, ..contestant("glibc (again)", "sleep 0.5 memory=300") };
    let contestants = vec![
        contestant("glibc", "sleep 0.5 memory=300"),
        contestant("jemalloc", "sleep 0.54 memory=58"),
        contestant("mimalloc", "sleep 0.501 memory=70 noise=0.1"),
        copy,
    ];
    record(contestants, Rules { runs: Some(20), ..Rules::default() }, 1_000_000)
}

/// One command alone, with too few runs.
pub(crate) fn lone_bench() -> (Record, Analysis) {
    record(vec![contestant("app", "sleep 0.001 status=0")], Rules { runs: Some(3), ..Rules::default() }, 2_000_000)
}

/// Names and commands that would act on a terminal or on a page.
pub(crate) fn hostile_bench() -> (Record, Analysis) {
    let contestants =
        vec![contestant("a\u{1b}[31m\u{202e}", "sleep 0.5 '<script>|'"), contestant("b,\"|\n", "sleep 0.5")];
    record(contestants, Rules { runs: Some(12), ..Rules::default() }, 1)
}
