//! Running contestants: for time as bare as can be, for memory under watch.

use crate::contestant::{Command, Contestant};
use crate::error::BenchError;
use crate::memory::{EVERY, MemoryWatch};
use crate::metric::Metric;
use crate::outside;
use crate::record::{MemoryRun, MissingMetric, RunOutcome, Sampled, TimedRun};
use crate::serve::Service;
use crate::stats::Random;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use underpin_sys::{
    CountedEvent, Counter, HardwareCounter, LaunchError, Limits, Run, RunEnd, Spawn, Streams, SysError, end_requests,
    find_program,
};

/// Whatever runs contestants: the machine, or a model of one.
pub trait Executor {
    /// Runs a contestant once and times it.
    ///
    /// # Errors
    /// Where it cannot be started.
    fn run(&mut self, contestant: &Contestant, timeout: Option<Duration>) -> Result<TimedRun, BenchError>;

    /// Runs a contestant once and watches its memory. `Ok(Err(reason))` where this machine does not allow that.
    ///
    /// # Errors
    /// Where it cannot be started, or its variant is not in effect.
    fn watch(
        &mut self,
        contestant: &Contestant,
        timeout: Option<Duration>,
        settle: Duration,
    ) -> Result<Result<MemoryRun, String>, BenchError>;

    /// Finds out whether a contestant's variant is in effect in it.
    ///
    /// # Errors
    /// Where it is not, or the contestant cannot be started.
    fn prove(&mut self, contestant: &Contestant, timeout: Option<Duration>) -> Result<(), BenchError> {
        self.watch(contestant, timeout, Duration::ZERO).map(drop)
    }

    /// Runs a command around the runs.
    ///
    /// # Errors
    /// Where it cannot be started or fails.
    fn hook(&mut self, hook: &'static str, command: &Command) -> Result<(), BenchError>;

    /// The time since the executor was made.
    fn elapsed(&self) -> Duration;

    /// Figures that cannot be had here.
    fn missing(&self) -> Vec<MissingMetric>;

    /// Whether memory was only sampled from outside.
    fn sampled(&self) -> Option<Sampled> {
        None
    }

    /// How often measuring was asked to end: once to finish what was begun, twice to stop at once.
    fn end_requests(&self) -> u32 {
        0
    }
}

/// Where the output of the commands goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OutputTo {
    /// Nowhere.
    #[default]
    Null,
    /// Where ours goes.
    Inherit,
    /// Into a pipe that is read and thrown away: for programs that do less where they write to /dev/null.
    Pipe,
    /// Into a file, appended.
    File(PathBuf),
}

/// Where the streams of the commands come from and go to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamsPlan {
    /// Standard input; `None`: nothing.
    pub input: Option<PathBuf>,
    /// Standard output and error.
    pub output: OutputTo,
}

impl StreamsPlan {
    pub(crate) fn open(&self) -> Result<Streams, SysError> {
        let failed = |what| move |error: io::Error| SysError::io(what, &error);
        let null = PathBuf::from("/dev/null");
        let input = File::open(self.input.as_ref().unwrap_or(&null)).map_err(failed("opening the input"))?;
        let output = match &self.output {
            OutputTo::Inherit => return Ok(Streams { input: Some(input.into()), output: None, error: None }),
            OutputTo::Pipe => drained_pipe().map_err(failed("opening a pipe"))?,
            OutputTo::Null => appended(&null).map_err(failed("opening the output"))?,
            OutputTo::File(path) => appended(path).map_err(failed("opening the output"))?,
        };
        let error = output.try_clone().map_err(failed("opening the output"))?;
        Ok(Streams { input: Some(input.into()), output: Some(output), error: Some(error) })
    }
}

fn appended(path: &Path) -> io::Result<OwnedFd> {
    File::options().append(true).create(true).open(path).map(OwnedFd::from)
}

/// The end of a pipe to write to; a thread throws away what comes out of it, until nobody can write any more.
fn drained_pipe() -> io::Result<OwnedFd> {
    let (mut from, to) = io::pipe()?;
    let drain = move || {
        let mut buffer = vec![0; 64 * 1024];
        // A pipe that fails has nothing more to give.
        while from.read(&mut buffer).is_ok_and(|count| count > 0) {}
    };
    std::thread::Builder::new().name("drain".to_owned()).spawn(drain)?;
    Ok(to.into())
}

/// Runs commands on this machine.
#[derive(Debug)]
pub struct RealExecutor {
    begun: Instant,
    streams: StreamsPlan,
    prepared: HashMap<String, Spawn>,
    counters: Vec<Counter>,
    absent: Vec<MissingMetric>,
    /// Why no process can be traced here, once that is known.
    denied: Option<String>,
    random: Random,
}

/// The variable whose length shifts the stack from run to run: the alignment of the stack alone can make a difference
/// of several per cent (Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!", 2009).
const PADDING: &str = "UNDERPIN_PADDING=";
/// The longest padding: a page less the name.
const PADDING_BYTES: usize = 4000;
/// A run without a limit of its own, and each command around the runs, is given up after this time: nothing waits for
/// ever.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// So many requests to end stop a run; one lets it finish.
pub(crate) const STOP: u32 = 2;

/// The limits of a run.
pub(crate) fn limits(timeout: Option<Duration>) -> Limits {
    Limits { timeout: Some(timeout.unwrap_or(LONGEST)), requests: STOP }
}

impl RealExecutor {
    /// An executor that counts these events where the machine has them. Use it from the thread that makes it.
    #[must_use]
    pub fn new(streams: StreamsPlan, counters: &[HardwareCounter], seed: u64) -> RealExecutor {
        let (mut open, mut absent) = (Vec::new(), Vec::new());
        for &counter in counters {
            match Counter::open(CountedEvent::Hardware(counter)) {
                Ok(counter) => open.push(counter),
                Err(error) => {
                    absent.push(MissingMetric { metric: Metric::Counter(counter), reason: counter_reason(&error) });
                }
            }
        }
        RealExecutor {
            begun: Instant::now(),
            streams,
            prepared: HashMap::new(),
            counters: open,
            absent,
            denied: None,
            // Not the numbers that the order of the runs is drawn from.
            random: Random::new(!seed),
        }
    }

    fn padding(&mut self) -> Option<CString> {
        let length = self.random.below(PADDING_BYTES);
        CString::new(format!("{PADDING}{}", "x".repeat(length))).ok()
    }

    fn memory_watch<'a>(
        &self,
        contestant: &'a Contestant,
        timeout: Option<Duration>,
        settle: Duration,
    ) -> Result<MemoryWatch<'a>, BenchError> {
        let launch = |source| BenchError::Launch { name: contestant.name.clone(), source };
        let (program, environment) = locate(contestant).map_err(launch)?;
        let streams = self.streams.open()?;
        Ok(MemoryWatch { program, words: contestant.words(), environment, streams, timeout, settle, contestant })
    }

    fn prepared(&mut self, contestant: &Contestant) -> Result<&Spawn, BenchError> {
        if !self.prepared.contains_key(&contestant.name) {
            let launch = |source| BenchError::Launch { name: contestant.name.clone(), source };
            let (program, environment) = locate(contestant).map_err(launch)?;
            let streams = self.streams.open()?;
            let spawn = Spawn::new(program, &contestant.words(), &environment, streams)
                .and_then(|spawn| spawn.in_directory(contestant.command.directory()))
                .map_err(launch)?;
            self.prepared.insert(contestant.name.clone(), spawn);
        }
        Ok(&self.prepared[&contestant.name])
    }
}

/// The environment of a contestant, as pairs of name and value.
pub(crate) type Environment = Vec<(OsString, OsString)>;

/// The file to execute and its environment.
pub(crate) fn locate(contestant: &Contestant) -> Result<(PathBuf, Environment), LaunchError> {
    let environment = contestant.variant.environment(std::env::vars_os());
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let words = contestant.words();
    let named = words.first().ok_or(LaunchError::Empty)?;
    let program = contestant
        .file()
        .map_or_else(|| find_program(&contestant.command.from_here(named), path), |file| Ok(file.to_owned()))?;
    Ok((program, environment))
}

/// Why a counter is absent, as a clause.
fn counter_reason(error: &SysError) -> String {
    const ENOENT: i32 = 2;
    const EACCES: i32 = 13;
    const EPERM: i32 = 1;
    const ENODEV: i32 = 19;
    const EOPNOTSUPP: i32 = 95;
    match error.errno {
        ENOENT | ENODEV | EOPNOTSUPP => "this processor, or the virtual machine, has no such counter".to_owned(),
        EACCES | EPERM => match underpin_sys::perf_event_paranoid() {
            Some(level) if level > 2 => {
                format!("kernel.perf_event_paranoid is {level}: `sudo sysctl kernel.perf_event_paranoid=2` allows it")
            }
            _ => "it is not allowed here, as in many containers".to_owned(),
        },
        _ => error.to_string(),
    }
}

/// # Errors
/// [`BenchError::Interrupted`] where it was stopped before its end.
pub(crate) fn outcome(end: RunEnd) -> Result<RunOutcome, BenchError> {
    match end {
        RunEnd::Exited(status) => Ok(RunOutcome::Exited(status)),
        RunEnd::Signalled(signal) => Ok(RunOutcome::Signalled(signal)),
        RunEnd::TimedOut => Ok(RunOutcome::TimedOut),
        RunEnd::Interrupted => Err(BenchError::Interrupted),
    }
}

/// Waits, unless measuring is to stop at once.
///
/// # Errors
/// [`BenchError::Interrupted`].
pub(crate) fn pause(time: Duration) -> Result<(), BenchError> {
    const SLICE: Duration = Duration::from_millis(50);
    let until = Instant::now() + time;
    while end_requests() < STOP {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(SLICE));
    }
    Err(BenchError::Interrupted)
}

impl Executor for RealExecutor {
    fn run(&mut self, contestant: &Contestant, timeout: Option<Duration>) -> Result<TimedRun, BenchError> {
        let padding = self.padding();
        if let Some(load) = &contestant.load {
            return Service { contestant, load, streams: &self.streams, padding }.timed();
        }
        self.prepared(contestant)?;
        let launch = |source| BenchError::Launch { name: contestant.name.clone(), source };
        let limits = limits(timeout);
        let before = self.counters.iter().map(Counter::read).collect::<Result<Vec<_>, _>>()?;
        let run: Run = self.prepared[&contestant.name].run(padding.as_ref(), limits).map_err(launch)?;
        let outcome = outcome(run.end)?;
        let mut counters = BTreeMap::new();
        for (counter, before) in self.counters.iter().zip(before) {
            let reading = counter.read()?.since(before);
            // A count for part of the time would be an estimate, and is left out.
            if let (CountedEvent::Hardware(which), true) = (counter.event, reading.is_whole()) {
                counters.insert(which.name().to_owned(), reading.count);
            }
        }
        Ok(TimedRun { wall: run.wall, usage: run.usage, counters, outcome, load: None })
    }

    fn watch(
        &mut self,
        contestant: &Contestant,
        timeout: Option<Duration>,
        settle: Duration,
    ) -> Result<Result<MemoryRun, String>, BenchError> {
        if let Some(load) = &contestant.load {
            return Service { contestant, load, streams: &self.streams, padding: None }.watched();
        }
        if self.denied.is_none() {
            match self.memory_watch(contestant, timeout, settle)?.run() {
                Err(BenchError::Launch { source: LaunchError::Denied(denied), .. }) => {
                    self.denied = Some(denied.to_string());
                }
                other => return other.map(Ok),
            }
        }
        outside::watch(self.memory_watch(contestant, timeout, settle)?)
    }

    fn prove(&mut self, contestant: &Contestant, timeout: Option<Duration>) -> Result<(), BenchError> {
        match &contestant.load {
            Some(load) => Service { contestant, load, streams: &self.streams, padding: None }.proven(),
            None => self.watch(contestant, timeout, Duration::ZERO).map(drop),
        }
    }

    fn hook(&mut self, hook: &'static str, command: &Command) -> Result<(), BenchError> {
        let launch = |source| BenchError::Launch { name: format!("the {hook} command"), source };
        let path = std::env::var_os("PATH");
        let program = command.words().first().ok_or(BenchError::Nothing)?;
        let program = find_program(&command.from_here(program), path.as_deref()).map_err(launch)?;
        let environment: Environment = std::env::vars_os().collect();
        let spawn = Spawn::new(program, command.words(), &environment, self.streams.open()?)
            .and_then(|spawn| spawn.in_directory(command.directory()))
            .map_err(launch)?;
        // What cleans up is stopped only by those who insist.
        let requests = if hook == "cleanup" { STOP.max(end_requests()) + 1 } else { STOP };
        let limits = Limits { timeout: Some(LONGEST), requests };
        // It stays in our process group: it may ask for a password on the terminal.
        let run = spawn.start(None, false).and_then(|started| started.within(limits)).map_err(launch)?;
        match outcome(run.end)? {
            RunOutcome::Exited(0) => Ok(()),
            outcome => Err(BenchError::Hook { hook, command: command.to_string(), outcome }),
        }
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn missing(&self) -> Vec<MissingMetric> {
        self.absent.clone()
    }

    fn sampled(&self) -> Option<Sampled> {
        self.denied.clone().map(|reason| Sampled { every_ns: EVERY.into(), reason })
    }

    fn end_requests(&self) -> u32 {
        end_requests()
    }
}
