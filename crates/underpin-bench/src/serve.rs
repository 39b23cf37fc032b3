//! One run of a server: started under its variant, awaited, loaded, its memory read before and after, stopped.
//!
//! A timed run reads `/proc` at those two moments only; a watched run samples the whole process tree all through the load
//! and is never timed. A server that was already running, one that ends by itself and one that never answers are errors
//! with the end of what the server wrote. Nothing that was started outlives the run.

use crate::candidate::Candidate;
use crate::error::BenchError;
use crate::launch::{Environment, STOP, locate, outcome, pause};
use crate::load::{Load, LoadSample, PORT, Server};
use crate::memory::{COST_SHARE, followed};
use crate::memory_point::MemoryPoint;
use crate::outcome::RunOutcome;
use crate::record::{MemoryRun, ProcessPeak, TimedRun};
use crate::series::{Series, point, process_peak};
use crate::streams::{OutputTo, StreamsPlan};
use crate::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};
use underpin_load::{LoadError, LoadResult, Request, drive, is_taken, probe};
use underpin_sys::{
    Background, Launch, LaunchError, MemoryUse, RawPid, Streams, SysError, Usage, end_requests, memory_use, peak_rss,
    process_tree,
};

/// The pause between two tries to get a first answer.
const TRY_EVERY: Duration = Duration::from_millis(10);
/// How often a loaded server is checked to be still running.
const LOOK: Duration = Duration::from_millis(100);
/// How long a server that was told to end may take.
const GRACE: Duration = Duration::from_secs(5);
/// The shortest time between two samples of a watched run.
const SAMPLE_EVERY: Duration = Duration::from_millis(20);
/// What is read of the end of a server's output, and how many lines of it an error shows.
const TAIL: u64 = 4096;
const LINES: usize = 6;

/// A candidate that is a server, about to run once.
pub(crate) struct Service<'a> {
    pub candidate: &'a Candidate,
    pub load: &'a Load,
    pub streams: &'a StreamsPlan,
    pub padding: Option<CString>,
}

/// A server that answers.
struct Running<'a> {
    name: &'a str,
    background: Option<Background>,
    request: Request,
    output: Option<File>,
}

impl Service<'_> {
    /// Starts, loads and stops it; nothing is read while the load is on.
    pub(crate) fn timed(&self) -> Result<TimedRun, BenchError> {
        let mut running = self.start(false)?;
        self.warm(&mut running)?;
        let before = running.memory();
        let used = running.cpu();
        let result = self.drive(&mut running, self.load.window, LOOK, &mut |_| {})?;
        let cpu = running.cpu().zip(used).map(|(after, before)| Nanos::from(after.saturating_sub(before)));
        if before.is_some() {
            pause(self.load.settle)?;
        }
        let after = running.memory();
        running.alive("after the load")?;
        running.stop()?;
        let load = LoadSample { cpu_ns: cpu, memory_before: before, memory_after: after, ..LoadSample::new(&result) };
        let (wall, outcome) = (result.window, RunOutcome::Exited(0));
        let (usage, counters) = (Usage::default(), BTreeMap::new());
        Ok(TimedRun { wall, usage, counters, outcome, load: Some(load), reported: None })
    }

    /// The same with the memory of the process tree over time.
    pub(crate) fn watched(&self) -> Result<Result<MemoryRun, String>, BenchError> {
        if self.load.server == Server::Running {
            return Ok(Err("underpin did not start the server: start it with --serve".to_owned()));
        }
        let mut running = self.start(false)?;
        let mut watch = TreeWatch::new(running.pid());
        self.warm(&mut running)?;
        let at_start = watch.look();
        self.drive(&mut running, self.load.window, SAMPLE_EVERY, &mut |_| watch.tick())?;
        pause(self.load.settle)?;
        let at_end = watch.look();
        running.alive("after the load")?;
        running.stop()?;
        Ok(Ok(watch.result(at_start, at_end)))
    }

    /// Starts it under a tracer as far as the variant's proof asks for, has it answer once, and checks the proof.
    pub(crate) fn proven(&self) -> Result<(), BenchError> {
        let Some(proof) = self.candidate.variant.proof.as_ref().filter(|_| self.candidate.is_started()) else {
            return Ok(());
        };
        let (running, is_traced) = match self.start(true) {
            // If nothing can be traced, the process's own maps are the proof.
            Err(BenchError::Launch { source: LaunchError::Denied(_), .. }) => (self.start(false)?, false),
            other => (other?, true),
        };
        let took = running.pid().map_or(Ok(()), |pid| if is_traced { proof.took(pid) } else { proof.seen(pid) });
        running.stop()?;
        took.map_err(|reason| BenchError::NotInEffect { name: self.candidate.name.clone(), reason })
    }

    /// Starts the server and waits for its first answer.
    fn start(&self, traced: bool) -> Result<Running<'_>, BenchError> {
        let name = self.candidate.name.as_str();
        let port = free_port()?;
        let request = self.load.request(port)?;
        if self.load.server == Server::Running {
            return Ok(Running { name, background: None, request, output: None });
        }
        if is_taken(request.endpoint()) {
            return Err(BenchError::Taken { name: name.to_owned(), endpoint: request.endpoint().clone() });
        }
        let launch = |source| BenchError::Launch { name: name.to_owned(), source };
        let (program, mut environment) = locate(self.candidate).map_err(launch)?;
        if let Some((variable, value)) = self.padding.as_ref().and_then(|text| text.to_str().ok()?.split_once('=')) {
            environment.push((variable.into(), value.into()));
        }
        for (_, value) in environment.iter_mut().filter(|(name, _)| self.sets(name)) {
            *value = with_port(value, port);
        }
        let words: Vec<OsString> = self.candidate.words().iter().map(|word| with_port(word, port)).collect();
        let (streams, output) = self.open()?;
        let begun = Instant::now();
        let background = if traced {
            self.trace(&program, words, environment, streams)?
        } else {
            Background::start(&program, &words, &environment, self.candidate.command.directory(), streams)
                .map_err(launch)?
        };
        let mut running = Running { name, background: Some(background), request, output };
        running.await_answer(begun, self.load.ready)?;
        Ok(running)
    }

    /// Whether the variant sets a variable.
    fn sets(&self, name: &OsString) -> bool {
        self.candidate.variant.changes.iter().any(|(changed, _)| changed == name)
    }

    fn trace(
        &self,
        program: &Path,
        words: Vec<OsString>,
        environment: Environment,
        streams: Streams,
    ) -> Result<Background, BenchError> {
        let name = || self.candidate.name.clone();
        let launch = Launch {
            program: program.to_owned(),
            arguments: words,
            environment,
            input: streams.input,
            output: streams.output,
            directory: self.candidate.command.directory().map(Path::to_owned),
            filter: None,
        };
        let suspended = launch.start_beside().map_err(|source| BenchError::Launch { name: name(), source })?;
        let task = suspended.task;
        if let Some(proof) = &self.candidate.variant.proof
            && let Err(reason) = followed(proof.as_ref(), task)?
        {
            task.kill_and_reap()?;
            return Err(BenchError::NotInEffect { name: name(), reason });
        }
        Background::release(suspended).map_err(|source| BenchError::Launch { name: name(), source })
    }

    /// The server's streams; its output goes into an unnamed file if it was not asked for, so that an error can
    /// quote it.
    fn open(&self) -> Result<(Streams, Option<File>), BenchError> {
        let streams = self.streams.open()?;
        if self.streams.output != OutputTo::Null {
            return Ok((streams, None));
        }
        let failed = |what| move |error: std::io::Error| SysError::io(what, &error);
        let file = tempfile::tempfile().map_err(failed("making a file for the server's output"))?;
        let copy = || file.try_clone().map_err(failed("copying a descriptor"));
        Ok((Streams { output: Some(copy()?.into()), error: Some(copy()?.into()), ..streams }, Some(file)))
    }

    fn warm(&self, running: &mut Running<'_>) -> Result<(), BenchError> {
        if !self.load.warmup.is_zero() {
            self.drive(running, self.load.warmup, LOOK, &mut |_| {})?;
        }
        Ok(())
    }

    /// Puts the load on for a time and calls `meanwhile` in every `tick` of it.
    fn drive(
        &self,
        running: &mut Running<'_>,
        window: Duration,
        tick: Duration,
        meanwhile: &mut dyn FnMut(RawPid),
    ) -> Result<LoadResult, BenchError> {
        let plan = self.load.plan(running.request.clone(), window);
        let result = drive(&plan, tick, &mut || {
            if end_requests() >= STOP {
                return false;
            }
            let Some(background) = &mut running.background else { return true };
            meanwhile(background.pid());
            // An error here is reported by the check after the load.
            matches!(background.ended(), Ok(None) | Err(_))
        });
        if end_requests() >= STOP {
            return Err(BenchError::Interrupted);
        }
        running.alive("during the load")?;
        result.map_err(|source: LoadError| BenchError::Load { name: running.name.to_owned(), source })
    }
}

impl Running<'_> {
    fn pid(&self) -> Option<RawPid> {
        self.background.as_ref().map(Background::pid)
    }

    fn await_answer(&mut self, begun: Instant, ready: Duration) -> Result<(), BenchError> {
        let mut refused = None;
        loop {
            self.alive("before it answered")?;
            let left = ready.saturating_sub(begun.elapsed());
            // A server may accept a connection too early and never answer it, so it is asked again.
            let patience = left.clamp(TRY_EVERY, Duration::from_secs(2));
            let reason = match probe(&self.request, patience) {
                Ok(status) if status < 500 => return self.alive("as it answered"),
                Ok(status) => format!("it answers with status {}", refused.insert(status)),
                // The last try may have been a short one: what the server said before tells more.
                Err(unanswered) => match refused {
                    Some(status) => format!("{unanswered}; before, it answered with status {status}"),
                    None => unanswered.to_string(),
                },
            };
            if begun.elapsed() >= ready {
                let (name, seconds) = (self.name.to_owned(), ready.as_secs_f64());
                return Err(BenchError::NotReady { name, seconds, reason, said: self.said() });
            }
            pause(TRY_EVERY)?;
        }
    }

    /// An error if the server has ended.
    fn alive(&mut self, when: &'static str) -> Result<(), BenchError> {
        let Some(background) = &mut self.background else { return Ok(()) };
        match background.ended()? {
            None => Ok(()),
            Some(end) => {
                let (name, outcome) = (self.name.to_owned(), outcome(end)?);
                Err(BenchError::ServerEnded { name, outcome, when, said: self.said() })
            }
        }
    }

    /// Memory of the whole tree now.
    fn memory(&self) -> Option<MemoryPoint> {
        let (sum, pids) = tree_memory(self.pid()?);
        Some(point(Duration::ZERO, sum, pids.len()))
    }

    /// Processor time of the whole tree so far.
    fn cpu(&self) -> Option<Duration> {
        Some(process_tree(self.pid()?).iter().map(|process| process.cpu).sum())
    }

    fn stop(mut self) -> Result<(), BenchError> {
        match self.background.take().map(|background| background.end(GRACE)) {
            // How it ends once it is told to does not matter.
            None | Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(error.into()),
        }
    }

    /// The last lines that the server wrote, as the end of a message.
    fn said(&mut self) -> String {
        let Some(output) = &mut self.output else { return String::new() };
        let mut bytes = Vec::new();
        let length = output.seek(SeekFrom::End(0)).unwrap_or(0);
        // What cannot be read is left out.
        let _ = output.seek(SeekFrom::Start(length.saturating_sub(TAIL)));
        let _ = output.take(TAIL).read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let plain = |line: &str| line.chars().filter(|ch| !ch.is_control() || *ch == '\t').collect::<String>();
        let lines: Vec<String> = text.lines().map(plain).filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        if last.is_empty() { String::new() } else { format!("; it wrote:\n  {}", last.join("\n  ")) }
    }
}

/// A free port.
fn free_port() -> Result<u16, BenchError> {
    let failed = |error: std::io::Error| SysError::io("finding a free port", &error);
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(failed)?;
    Ok(listener.local_addr().map_err(failed)?.port())
}

fn with_port(word: &OsString, port: u16) -> OsString {
    match word.to_str() {
        Some(text) if text.contains(PORT) => text.replace(PORT, &port.to_string()).into(),
        _ => word.clone(),
    }
}

/// Memory of a process and its descendants, and their ids.
fn tree_memory(root: RawPid) -> (MemoryUse, Vec<RawPid>) {
    let mut sum = MemoryUse::default();
    let mut pids: Vec<RawPid> = process_tree(root).iter().map(|process| process.pid).collect();
    // A process that has just ended has no memory any more.
    pids.retain(|&pid| memory_use(pid).map(|memory| sum += memory).is_ok());
    (sum, pids)
}

/// The memory of a tree over time.
struct TreeWatch {
    root: Option<RawPid>,
    begun: Instant,
    next: Instant,
    series: Series,
    seen: BTreeSet<RawPid>,
    peaks: BTreeMap<RawPid, ProcessPeak>,
}

impl TreeWatch {
    fn new(root: Option<RawPid>) -> TreeWatch {
        let begun = Instant::now();
        TreeWatch {
            root,
            begun,
            next: begun,
            series: Series::new(SAMPLE_EVERY),
            seen: BTreeSet::new(),
            peaks: BTreeMap::new(),
        }
    }

    /// Samples the tree if it is time to.
    fn tick(&mut self) {
        let before = Instant::now();
        if before >= self.next {
            self.look();
            self.next = Instant::now() + self.series.every.max(before.elapsed() * COST_SHARE);
        }
    }

    /// Adds up the tree as it is now.
    fn look(&mut self) -> Option<MemoryPoint> {
        let (sum, pids) = tree_memory(self.root?);
        self.seen.extend(&pids);
        let processes = pids.len();
        for pid in pids {
            let Some(peak) = peak_rss(pid) else { continue };
            self.peaks.insert(pid, process_peak(pid, peak));
        }
        Some(self.series.add(self.begun.elapsed(), sum, processes))
    }

    fn result(self, at_start: Option<MemoryPoint>, at_end: Option<MemoryPoint>) -> MemoryRun {
        let run = self.series.run(self.peaks.into_values());
        MemoryRun { at_start, at_end, process_count: self.seen.len(), ..run }
    }
}
