//! The plans of `underpin bench` and `underpin report`.

use super::parameters::{ParameterSet, fill, fill_word, parameters};
use super::serve::Servers;
use super::variants::Dimensions;
use crate::cli::{self, AroundArgs, BenchArgs, Failure, Order, ReportArgs, ResultArgs, RuleArgs};
use crate::progress::Progress;
use crate::variants::{Build, Commit, Commits};
use anyhow::{Context, bail};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use underpin_bench::{
    Candidate, CommandLine, Experiment, Gate, Hooks, Machine, Nanos, OutputTo, Rules, Shell, Store, StreamsPlan,
    Variant, least_memory_runs, stats::Random,
};
use underpin_report::hyperfine::TimeUnit;
use underpin_sys::{HardwareCounter, LaunchError, find_program};

/// What to measure, how to run it, what becomes of it.
#[derive(Debug)]
pub struct BenchPlan {
    /// What and how.
    pub experiment: Experiment,
    /// Streams of the commands.
    pub streams: StreamsPlan,
    /// Counters to open.
    pub counters: Vec<HardwareCounter>,
    /// Use a model instead of this machine.
    pub mock: bool,
    /// Whether progress is shown.
    pub shows_progress: bool,
    /// The name under which it is kept.
    pub save: Option<String>,
    /// What to do with the figures.
    pub results: ResultPlan,
    /// The worktrees of the commits, if any; removed with the plan.
    _commits: Option<Commits>,
}

/// What to do with the figures.
#[derive(Debug)]
pub struct ResultPlan {
    /// Where runs are kept.
    pub store: Store,
    /// A kept run to compare with.
    pub baseline: Option<String>,
    /// Limits.
    pub gate: Option<Gate>,
    /// Accept a baseline from another machine.
    pub any_machine: bool,
    /// JSON instead of a screen.
    pub json: bool,
    /// How detailed the screen is.
    pub verbosity: u8,
    /// The unit of all times, if the user wants one.
    pub time_unit: Option<TimeUnit>,
    /// Whether the screen is shown.
    pub is_shown: bool,
    /// Files to write.
    pub exports: Vec<(Form, PathBuf)>,
}

/// The forms of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The document.
    Json,
    /// Rows of figures.
    Csv,
    /// Tables for a code host.
    Markdown,
    /// Hyperfine's table in AsciiDoc.
    Asciidoc(Option<TimeUnit>),
    /// The same for org-mode.
    Orgmode(Option<TimeUnit>),
    /// A page for a browser.
    Html,
}

/// What to show again.
#[derive(Debug)]
pub struct ReportPlan {
    /// The kept run; `None`: the latest.
    pub run: Option<String>,
    /// Only list what is kept.
    pub list: bool,
    /// What to do with the figures.
    pub results: ResultPlan,
}

impl ReportPlan {
    /// The plan of a report.
    pub fn new(args: ReportArgs) -> ReportPlan {
        ReportPlan { run: args.run, list: args.list, results: ResultPlan::new(args.results) }
    }
}

impl ResultPlan {
    pub(super) fn new(args: ResultArgs) -> ResultPlan {
        let unit = args.time_unit.map(|unit| match unit {
            cli::TimeUnit::Microsecond => TimeUnit::Microsecond,
            cli::TimeUnit::Millisecond => TimeUnit::Millisecond,
            cli::TimeUnit::Second => TimeUnit::Second,
        });
        let exports = [
            (Form::Json, args.export_json),
            (Form::Csv, args.export_csv),
            (Form::Markdown, args.export_markdown),
            (Form::Asciidoc(unit), args.export_asciidoc),
            (Form::Orgmode(unit), args.export_orgmode),
            (Form::Html, args.export_html),
        ];
        ResultPlan {
            store: Store::new(args.store),
            baseline: args.baseline,
            gate: args.gate,
            any_machine: args.any_machine,
            time_unit: unit,
            is_shown: true,
            json: args.display.json,
            verbosity: args.display.verbose,
            exports: exports.into_iter().filter_map(|(form, path)| Some((form, path?))).collect(),
        }
    }

    /// Whether a document replaces the screen on standard output.
    pub fn exports_to_stdout(&self) -> bool {
        self.exports.iter().any(|(_, path)| path.as_os_str() == "-")
    }

    /// # Errors
    /// If two documents would be mixed on standard output.
    pub fn check_stdout(&self) -> anyhow::Result<()> {
        let exported = self.exports.iter().filter(|(_, path)| path.as_os_str() == "-").count();
        if exported + usize::from(self.json) > 1 {
            bail!("only one document can go to standard output: give the others a file");
        }
        Ok(())
    }
}

/// Least number of runs of each server; a comparison gets as many as a difference needs.
const SERVED_RUNS: u32 = 4;
/// The time limit for a rule about servers that may never be met.
const SERVED_BUDGET: Duration = Duration::from_secs(600);

/// Counters that are tried if no others are asked for.
const USUAL: [HardwareCounter; 5] = [
    HardwareCounter::Cycles,
    HardwareCounter::Instructions,
    HardwareCounter::Branches,
    HardwareCounter::BranchMisses,
    HardwareCounter::CacheMisses,
];

impl BenchPlan {
    /// `builds`: those of `--build` without `--commits`.
    ///
    /// # Errors
    /// If a command, a variant or a rule cannot be read, or a program does not exist.
    pub fn new(args: BenchArgs, builds: &[Build]) -> anyhow::Result<BenchPlan> {
        check_hyperfine(&args)?;
        let counted = counters(&args.rules.counters)?;
        let commits = commits(&args)?;
        let mut candidates = candidates(&args, commits.as_ref(), builds)?;
        let is_served = candidates.iter().any(|candidate| candidate.load.is_some());
        if !args.debug_mode {
            candidates.iter().try_for_each(|one| find(one, commits.as_ref()))?;
        }
        let reference = match &args.reference {
            None => 0,
            Some(name) => position(&candidates, name, commits.as_ref()).with_context(|| {
                let names: Vec<&str> = candidates.iter().map(|one| one.name.as_str()).collect();
                format!(
                    "--reference {name}: no variant has that name; there are {} (a command of its own for the reference is given \
                     first, without --reference)",
                    names.join(", ")
                )
            })?,
        };
        if args.aa {
            let copy = &candidates[reference];
            let name = format!("{} (again)", copy.name);
            candidates.push(Candidate { name, is_copy: true, ..copy.clone() });
        }
        let compared = candidates.iter().filter(|one| !one.is_copy).count().saturating_sub(1);
        if args.results.gate.as_ref().is_some_and(|gate| !gate.rows.is_empty()) {
            bail!("--gate row:...: rows are those of --suite");
        }
        let seed = args.rules.seed.unwrap_or_else(|| if args.debug_mode { 1 } else { fresh_seed() });
        let mut rules = rules(&args.rules, args.around.ignore_failure.as_deref(), compared, seed);
        if is_served {
            for_servers(&mut rules, &args.rules);
        }
        let machine = if args.debug_mode { model_machine() } else { Machine::here() };
        let started = now();
        let experiment = Experiment {
            candidates,
            reference,
            rules,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            machine,
            row: None,
        };
        Ok(BenchPlan {
            experiment,
            streams: streams(&args.around),
            // Counters cover only what this process starts and waits for.
            counters: if is_served { Vec::new() } else { counted },
            mock: args.debug_mode,
            shows_progress: args.style.shows_progress(),
            save: args.save,
            results: ResultPlan { is_shown: args.style.shows_screen(), ..ResultPlan::new(args.results) },
            _commits: commits,
        })
    }
}

/// Options of hyperfine for which bench has another one.
///
/// # Errors
/// Always; it names what to use here.
fn check_hyperfine(args: &BenchArgs) -> anyhow::Result<()> {
    if args.sort == Some(Order::MeanTime) {
        bail!("--sort mean-time: results are in the order of the commands; sort the rows of --export-csv FILE");
    }
    if args.reference_name.is_some() {
        bail!("--reference-name: give the reference as the first command, and its name with -n NAME");
    }
    Ok(())
}

/// The machine of the model, so that its screens reveal nothing about this one.
fn model_machine() -> Machine {
    Machine { processor: "a model".to_owned(), processors: 2, system: "no system".to_owned(), ..Machine::default() }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A seed when the user gave none: the order of the commands must differ between experiments.
pub(super) fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Short enough to type again.
    Random::new(u64::from(now.subsec_nanos()) ^ now.as_secs() << 30).bits() >> 40
}

fn rules(args: &RuleArgs, ignored: Option<&[Failure]>, compared: usize, seed: u64) -> Rules {
    let default = Rules::default();
    let most = args.runs.or(args.max_runs).unwrap_or(u32::MAX);
    // A rule that may never be met needs a limit.
    let budget = args.budget.or(args.until.map(|_| Duration::from_secs(60)));
    let code = |failure: &Failure| match failure {
        Failure::All => None,
        Failure::Code(code) => Some(*code),
    };
    // One "all" among the codes means all.
    let ignored_codes = ignored.and_then(|all| all.iter().map(code).collect::<Option<Vec<i32>>>());
    Rules {
        warmup: args.warmup,
        runs: args.runs,
        min_runs: args.min_runs.unwrap_or(default.min_runs),
        max_runs: args.max_runs,
        budget_ns: budget.map(Nanos::from),
        until: args.until,
        memory_runs: args.memory_runs.unwrap_or(least_memory_runs(compared).min(most)),
        settle_ns: args.settle.into(),
        timeout_ns: args.timeout.map(Nanos::from),
        time_ns: args.min_benchmarking_time.map_or(default.time_ns, Nanos::from),
        ignore_failure: ignored.is_some(),
        ignored_codes: ignored_codes.unwrap_or_default(),
        seed,
    }
}

/// Runs of servers are few and long.
fn for_servers(rules: &mut Rules, args: &RuleArgs) {
    rules.min_runs = args.min_runs.unwrap_or(SERVED_RUNS);
    rules.memory_runs = args.memory_runs.unwrap_or(1);
    if args.until.is_some() && args.budget.is_none() {
        rules.budget_ns = Some(Nanos::from(SERVED_BUDGET));
    }
}

fn streams(args: &AroundArgs) -> StreamsPlan {
    let output = match args.output.as_slice() {
        _ if args.show_output => OutputTo::Inherit,
        [one] => output_to(one),
        // With several commands, each has an output option of its own.
        _ => OutputTo::Null,
    };
    // hyperfine's name for no input.
    let input = args.input.clone().filter(|path| path.as_os_str() != "null");
    StreamsPlan { input, output }
}

fn output_to(place: &str) -> OutputTo {
    match place {
        "null" => OutputTo::Null,
        "inherit" => OutputTo::Inherit,
        "pipe" => OutputTo::Pipe,
        path => OutputTo::File(PathBuf::from(path)),
    }
}

fn counters(list: &str) -> anyhow::Result<Vec<HardwareCounter>> {
    match list {
        "auto" => Ok(USUAL.to_vec()),
        "none" => Ok(Vec::new()),
        list => list.split(',').map(counter).collect(),
    }
}

fn counter(name: &str) -> anyhow::Result<HardwareCounter> {
    let known = HardwareCounter::ALL.into_iter().find(|counter| counter.name() == name.trim());
    known.with_context(|| {
        let names: Vec<&str> = HardwareCounter::ALL.iter().map(|counter| counter.name()).collect();
        format!("--counters {name}: no such counter; there are {}", names.join(", "))
    })
}

/// The commits of `--commits`, checked out and built.
fn commits(args: &BenchArgs) -> anyhow::Result<Option<Commits>> {
    if args.commits.is_empty() {
        return Ok(None);
    }
    if !args.serve.load.is_empty() && args.serve.serve.is_empty() {
        bail!("--load alone starts nothing that could be built at a commit; give the server with --serve");
    }
    let commits = Commits::check_out(&args.commits, args.build.as_deref())?;
    if let Some(command) = &args.build {
        let progress = if args.style.shows_progress() { Progress::words() } else { Progress::hidden() };
        commits.build(command, &args.results.store, &progress)?;
    }
    Ok(Some(commits))
}

/// The candidate that `--reference` names: by its whole name, by the revision alone, or by the command.
fn position(candidates: &[Candidate], name: &str, commits: Option<&Commits>) -> Option<usize> {
    let commit = commits.and_then(|commits| commits.all.iter().find(|commit| commit.revision == name));
    let by_name = candidates.iter().position(|one| one.name == name);
    let of_commit =
        |commit: &Commit| candidates.iter().position(|one| one.command.directory() == Some(commit.directory.as_path()));
    let by_command = || candidates.iter().position(|one| one.command.to_string() == name);
    by_name.or_else(|| commit.and_then(of_commit)).or_else(by_command)
}

/// Every command at every commit under every variant, with every value of every parameter.
fn candidates(args: &BenchArgs, commits: Option<&Commits>, builds: &[Build]) -> anyhow::Result<Vec<Candidate>> {
    let shell = shell(args.around.shell.as_deref())?;
    let servers = Servers::new(args)?;
    let commands = args.commands.len() + usize::from(!args.words.is_empty());
    let count = servers.as_ref().map_or(commands, Servers::count);
    if count == 0 {
        bail!("no command to measure; `underpin bench -- CMD`, or each command as one string");
    }
    let places: Vec<Option<&Commit>> =
        commits.map_or_else(|| vec![None], |commits| commits.all.iter().map(Some).collect());
    let sets = parameters(&args.parameter_scan, &args.parameter_step_size, &args.parameter_list)?;
    let mut all = Vec::new();
    for index in 0..count {
        for set in &sets {
            for &commit in &places {
                let case = Case { args, index, count, set, commit, shell: &shell, builds };
                all.extend(case.candidates(servers.as_ref())?);
            }
        }
    }
    make_unique(&mut all);
    Ok(all)
}

/// One command with one value of each parameter, at one commit.
struct Case<'a> {
    args: &'a BenchArgs,
    /// Which command, and how many there are.
    index: usize,
    count: usize,
    set: &'a ParameterSet,
    commit: Option<&'a Commit>,
    shell: &'a Shell,
    builds: &'a [Build],
}

impl Case<'_> {
    /// The command under every variant.
    fn candidates(&self, servers: Option<&Servers<'_>>) -> anyhow::Result<Vec<Candidate>> {
        let values = match self.commit {
            Some(commit) => [self.set.as_slice(), &[commit.parameter()]].concat(),
            None => self.set.clone(),
        };
        let (command, load) = match servers {
            Some(servers) => {
                servers.one(self.index, &values, self.shell).map(|(command, load)| (command, Some(load)))?
            }
            None => (command(self.args, self.index, &values, self.shell)?, None),
        };
        let command = self.placed(command)?;
        let hooks = self.hooks(&values)?;
        let dimensions = Dimensions::new(self.args, &values, self.commit, self.builds)?;
        let candidate = |variant: Variant| Candidate {
            name: self.name(&command, &variant),
            command: command.clone(),
            load: load.clone(),
            variant,
            hooks: hooks.clone(),
            is_copy: false,
            reports: None,
        };
        Ok(dimensions.of(&command)?.into_iter().map(candidate).collect())
    }

    fn hooks(&self, values: &ParameterSet) -> anyhow::Result<Hooks> {
        let shell = Shell::Program(vec!["/bin/sh".into()]);
        let args = &self.args.around;
        let one = |text: &String| {
            let text = fill(text, values);
            let text = self.commit.map_or(text.clone(), |commit| commit.script(&text));
            self.placed(CommandLine::parse(&text, &shell)?)
        };
        Ok(Hooks {
            setup: args.setup.as_ref().map(one).transpose()?,
            prepare: self.own("--prepare", &args.prepare)?.map(one).transpose()?,
            conclude: self.own("--conclude", &args.conclude)?.map(one).transpose()?,
            cleanup: args.cleanup.as_ref().map(one).transpose()?,
        })
    }

    /// The value for this command of an option that is given once for all commands or once for each.
    fn own<'a>(&self, flag: &str, values: &'a [String]) -> anyhow::Result<Option<&'a String>> {
        match values.len() {
            0 | 1 => Ok(values.first()),
            given if given == self.count => Ok(values.get(self.index)),
            given => bail!("{flag} is given {given} times for {} commands; give it once, or once for each", self.count),
        }
    }

    /// A command of this case in its working directory, with its output where it belongs.
    fn placed(&self, command: CommandLine) -> anyhow::Result<CommandLine> {
        let output = self.own("--output", &self.args.around.output)?.map(|place| output_to(place));
        Ok(command.in_directory(self.commit.map(|commit| commit.directory.as_path())).with_output(output))
    }

    /// The name of a variant of a command: what distinguishes it from the others.
    fn name(&self, command: &CommandLine, variant: &Variant) -> String {
        let given = self.args.command_name.get(self.index).map(|name| fill(name, self.set));
        let values = self.set.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        let is_told_apart = !variant.name.is_empty() || self.commit.is_some();
        let work = match given {
            Some(given) => given,
            None if self.count == 1 && !self.set.is_empty() => values,
            None if self.count == 1 && is_told_apart => String::new(),
            None => command.to_string(),
        };
        let at = self.commit.map(|commit| commit.label()).unwrap_or_default();
        [work, at, variant.name.clone()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

fn shell(shell: Option<&str>) -> anyhow::Result<Shell> {
    Ok(match shell {
        None | Some("none") => Shell::None,
        Some("default") => Shell::Program(vec!["/bin/sh".into()]),
        Some(text) => Shell::Program(CommandLine::parse(text, &Shell::None)?.words().to_vec()),
    })
}

fn command(args: &BenchArgs, index: usize, set: &ParameterSet, shell: &Shell) -> anyhow::Result<CommandLine> {
    Ok(match args.commands.get(index) {
        Some(text) => CommandLine::parse(&fill(text, set), shell)?,
        None => CommandLine::of_words(args.words.iter().map(|word| fill_word(word, set)).collect())?,
    })
}

fn make_unique(candidates: &mut [Candidate]) {
    for index in 1..candidates.len() {
        let (before, rest) = candidates.split_at_mut(index);
        let taken = |name: &str| before.iter().any(|one| one.name == name);
        let name = rest[0].name.clone();
        let mut number = 2;
        while taken(&rest[0].name) {
            rest[0].name = format!("{name} ({number})");
            number += 1;
        }
    }
}

/// Checks that the program of a candidate exists, before anything runs.
fn find(candidate: &Candidate, commits: Option<&Commits>) -> anyhow::Result<()> {
    if !candidate.is_started() {
        return Ok(());
    }
    let path = std::env::var_os("PATH");
    let replaced = candidate.file().map(|file| file.as_os_str().to_owned());
    let Some(program) = replaced.or_else(|| candidate.words().into_iter().next()) else { return Ok(()) };
    let directory = candidate.command.directory();
    let commit = commits.and_then(|all| all.all.iter().find(|one| Some(one.directory.as_path()) == directory));
    match find_program(&candidate.command.from_here(&program), path.as_deref()) {
        Err(_) if let Some(commit) = commit => Err(commit.missing(&program).into()),
        Err(LaunchError::NotFound { .. }) if is_assignment(&program) => bail!(
            "{}: not found in PATH; no shell reads the command, so a variable is set with --env, or -S lets a shell read it",
            program.display()
        ),
        found => Ok(found.map(drop)?),
    }
}

/// Whether a shell would take a word for a variable assignment before a command.
fn is_assignment(word: &OsStr) -> bool {
    let name = word.to_str().and_then(|word| Some(word.split_once('=')?.0));
    name.is_some_and(|name| {
        let fine = |ch: char| ch == '_' || ch.is_ascii_alphanumeric();
        name.chars().all(fine) && name.chars().next().is_some_and(|ch| !ch.is_ascii_digit())
    })
}
