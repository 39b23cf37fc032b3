//! Starts of the twins in turn, and what each of them said.

use super::twins::{EMPTY, ROWS, Twin, Twins, WITH_SUITES};
use crate::plan::{ImageComparePlan, MachineFiles, guest_environment, guest_memory};
use crate::progress::Progress;
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use underpin_bench::Nanos;
use underpin_image::Image;
use underpin_image::boot::{Accelerator, Boot, GuestEnd, Machine, Patience, Qemu, Receiver, boot, telling};
use underpin_image::protocol::Request;
use underpin_suite::{BootFigure, Failure, Guest, GuestBoot, GuestFigureName, Row, Said, guest_name, guest_rows};
use underpin_sys::end_requests;

/// Files of the suites' rows are in memory, and some rows take much of it.
const LEAST_MEMORY_MIB: u32 = 768;
/// How often the program that does nothing is started in each boot.
const STARTS: &str = "100";
/// A guest may take so long in all, and this long for each row: emulation is a hundred times slower at worst.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(6));
/// Until a guest is up: longer than for one command, since a busy machine would lose the work of an hour.
const UP: Duration = Duration::from_secs(300);
/// Lines of the console that a message has.
const SHOWN: usize = 8;

/// Starts images.
pub struct Starter<'a> {
    plan: &'a ImageComparePlan,
    twins: &'a Twins,
    progress: &'a Progress,
    qemu: Qemu,
    /// Where the rows run.
    pub guest: Guest,
    /// Its memory.
    pub memory_mib: u32,
}

/// What one boot without the suites' programs said.
pub struct Started {
    build: usize,
    block: u32,
    first_result: Duration,
    said: Said,
}

impl Started {
    /// One of its figures.
    pub fn figure(&self, name: GuestFigureName) -> Option<BootFigure> {
        let nanoseconds = |ns: u64| ns as f64 / 1e9;
        let figure = match name {
            GuestFigureName::FirstResult => self.first_result.as_secs_f64(),
            GuestFigureName::Boot => nanoseconds(self.said.up?.up_ns),
            GuestFigureName::EmptyProcess => nanoseconds(self.said.start_ns?),
            GuestFigureName::UsedMemory => {
                let up = self.said.up?;
                1024.0 * up.total_kib.saturating_sub(up.available_kib) as f64
            }
        };
        Some(BootFigure { build: self.build, block: self.block, figure })
    }
}

/// What all boots for rows said.
pub struct Done {
    /// Each boot, with the rows that ended in it.
    pub boots: Vec<GuestBoot>,
    /// Rows that ended no boot: they were not built, or took their guest down.
    pub failed: Vec<(String, Failure)>,
}

/// One boot as it ended.
struct Ended {
    said: Said,
    first_result: Option<Duration>,
    boot: Boot,
}

impl<'a> Starter<'a> {
    /// Finds the emulator.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn new(plan: &'a ImageComparePlan, twins: &'a Twins, progress: &'a Progress) -> anyhow::Result<Starter<'a>> {
        let qemu = Qemu::find(plan.target, std::env::var_os("PATH").as_deref())?;
        let memory = twins.all.iter().map(|twin| guest_memory(&twin.whole)).max().unwrap_or_default();
        let guest = Guest {
            machine: plan.target.name().to_owned(),
            emulator: format!("QEMU {}.{} ({})", qemu.version.0, qemu.version.1, Accelerator::Tcg.name()),
            counts_instructions: true,
        };
        Ok(Starter { plan, twins, progress, qemu, guest, memory_mib: memory.max(LEAST_MEMORY_MIB) })
    }

    /// Writes the rows beside the images with the suites that are kept, a line each, as the program that runs them takes them:
    /// one can be repeated by hand.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn keep_rows(&self, folder: &Path) -> anyhow::Result<()> {
        for twin in &self.twins.all {
            let lines = self.plan.rows.iter().filter_map(|row| Some(self.words(twin, row)? + "\n"));
            let file = folder.join(format!("{}{WITH_SUITES}.rows", twin.build.name));
            std::fs::write(&file, lines.collect::<String>()).with_context(|| file.display().to_string())?;
        }
        Ok(())
    }

    /// Starts every image alone, one after the other, in each block in the other direction: their times are this machine's.
    ///
    /// # Errors
    /// If a guest does not come up.
    pub fn figures(&self) -> anyhow::Result<Vec<Started>> {
        let mut all = Vec::new();
        for block in 0..self.plan.boots {
            for build in self.order(block) {
                let twin = &self.twins.all[build];
                self.progress.say(format!("starting {}, {} of {}", twin.build.name, block + 1, self.plan.boots));
                let ended = self.start(&twin.small, &[])?;
                if end_requests() > 0 {
                    return Ok(all);
                }
                let (true, Some(first_result)) = (ended.said.is_done, ended.first_result) else {
                    bail!("{}", gone(twin, &ended.boot));
                };
                all.push(Started { build, block, first_result, said: ended.said });
            }
        }
        Ok(all)
    }

    /// Starts every image with the suites, as many at once as there are processors: what is counted does not depend on that.
    /// `None` if the user asked for the end.
    ///
    /// # Errors
    /// If a guest does not come up.
    pub fn rows(&self) -> anyhow::Result<Option<Done>> {
        let begun = Instant::now();
        let mut done = Done { boots: Vec::new(), failed: self.not_built() };
        let at_once = std::thread::available_parallelism().map_or(1, usize::from);
        for block in 0..self.plan.boots {
            let left = left(begun.elapsed(), block, self.plan.boots);
            self.progress.say(format!("rows in the guests, start {} of {}{left}", block + 1, self.plan.boots));
            for builds in self.order(block).chunks(at_once) {
                let at_ns = Nanos::from(begun.elapsed());
                let failed = &done.failed;
                let results: Vec<anyhow::Result<Boots>> = std::thread::scope(|scope| {
                    let threads: Vec<_> =
                        builds.iter().map(|&build| scope.spawn(move || self.all_rows(build, failed))).collect();
                    let ended = |thread: std::thread::ScopedJoinHandle<'_, anyhow::Result<Boots>>| {
                        thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread ended by a panic")))
                    };
                    threads.into_iter().map(ended).collect()
                });
                for (&build, result) in builds.iter().zip(results) {
                    let (rows, failed) = result?;
                    done.failed.extend(failed);
                    done.boots.push(GuestBoot { build, block, at_ns, rows });
                }
                if end_requests() > 0 {
                    return Ok(None);
                }
            }
        }
        Ok(Some(done))
    }

    fn order(&self, block: u32) -> Vec<usize> {
        let there = 0..self.twins.all.len();
        if block.is_multiple_of(2) { there.collect() } else { there.rev().collect() }
    }

    /// The rows of suites that were not built.
    fn not_built(&self) -> Vec<(String, Failure)> {
        let of = |(build, twin): (usize, &'a Twin)| {
            let failed = move |row: &&'static Row| {
                let reason = twin.not_built(row.suite)?.to_owned();
                Some((guest_name(row), Failure { build, reason }))
            };
            self.plan.rows.iter().filter_map(failed).collect::<Vec<_>>()
        };
        self.twins.all.iter().enumerate().flat_map(of).collect()
    }

    /// Every row that has not failed, once: in one boot, or in several if rows take the guest down.
    fn all_rows(&self, build: usize, failed: &[(String, Failure)]) -> anyhow::Result<Boots> {
        let twin = &self.twins.all[build];
        let has_failed =
            |row: &Row| failed.iter().any(|(name, failure)| failure.build == build && *name == guest_name(row));
        let working = self.plan.rows.iter().filter(|row| !has_failed(row));
        let with_processes = working.filter_map(|row| Some((self.words(twin, row)?, row.guest_processes())));
        let mut rest: Vec<String> =
            with_processes.flat_map(|(words, processes)| std::iter::repeat_n(words, processes)).collect();
        let (mut rows, mut lost) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            let ended = self.start(&twin.whole, &rest)?;
            if end_requests() > 0 {
                break;
            }
            let Said { rows: ended_rows, unfinished, is_done, up, .. } = ended.said;
            let reached = ended_rows.len() + usize::from(unfinished.is_some());
            if up.is_none() || !is_done && reached == 0 {
                bail!("{}", gone(twin, &ended.boot));
            }
            rows.extend(ended_rows);
            rest = if is_done { Vec::new() } else { rest.split_off(reached.min(rest.len())) };
            if let Some(name) = unfinished {
                // It would take the next guest down, too.
                rest.retain(|words| words.split(' ').next() != Some(&name));
                let reason = how_it_went(&ended.boot);
                lost.push((name, Failure { build, reason }));
            }
        }
        Ok((guest_rows(rows), lost))
    }

    /// A row as the program in the guest takes it.
    fn words(&self, twin: &Twin, row: &Row) -> Option<String> {
        let (program, started) = twin.programs.programs.get(&row.suite)?;
        let mut words = vec![guest_name(row)];
        if let Some((variable, name)) = started {
            words.push(format!("{variable}={}", place(&twin.whole, name)?));
        }
        words.push(place(&twin.whole, program)?);
        words.extend(row.words(row.guest_milliseconds(self.plan.milliseconds)));
        Some(words.join(" "))
    }

    fn start(&self, image: &Image, rows: &[String]) -> anyhow::Result<Ended> {
        let files = MachineFiles::of(image);
        let machine = Machine {
            target: self.plan.target,
            kernel: &files.kernel,
            initramfs: &files.initramfs,
            disk: None,
            device_tree: None,
            accelerator: Accelerator::Tcg,
            icount: true,
            memory_mib: self.memory_mib,
        };
        let of = |name: &str| place(image, name).with_context(|| format!("the image has no {name}"));
        let seconds = self.plan.row_time.as_secs().to_string();
        let starts = if rows.is_empty() { STARTS } else { "0" };
        let mut arguments: Vec<OsString> = [of(ROWS)?, seconds, starts.to_owned(), of(EMPTY)?].map(Into::into).into();
        arguments.extend(rows.iter().map(OsString::from));
        let request =
            Request { arguments, environment: guest_environment(), directory: "/".into(), ..Request::default() };
        let mut heard = Heard { begun: Instant::now(), first: None, text: Vec::new() };
        let command = PATIENCE.0 + PATIENCE.1 * u32::try_from(rows.len()).unwrap_or(u32::MAX) + 10 * self.plan.row_time;
        let boot = boot(&self.qemu, &machine, &request, Patience { up: UP, command }, &mut heard)?;
        let said = Said::of_text(&String::from_utf8_lossy(&heard.text));
        Ok(Ended { said, first_result: heard.first, boot })
    }
}

/// The rows that ended, and those that took their guest down.
type Boots = (Vec<(String, underpin_suite::Outcome)>, Vec<(String, Failure)>);

/// Where a file of this name is in an image.
fn place(image: &Image, name: &str) -> Option<String> {
    let entries = image.manifest.layers.iter().flat_map(|layer| &layer.entries);
    let mut paths = entries.map(|entry| entry.path.as_str());
    paths.find(|path| path.rsplit('/').next() == Some(name)).map(str::to_owned)
}

/// How a guest went down while a row ran.
fn how_it_went(boot: &Boot) -> String {
    let how = match boot.outcome {
        GuestEnd::TimedOut => "the guest said nothing more and was ended",
        _ => "it took its guest down",
    };
    match telling(&boot.console, 1).first() {
        Some(line) => format!("{how}: {line}"),
        None => how.to_owned(),
    }
}

/// Why there is nothing to compare.
fn gone(twin: &Twin, boot: &Boot) -> String {
    let lines = telling(&boot.console, SHOWN).join("; ");
    let said = if boot.said.is_empty() { String::new() } else { format!("; QEMU says: {}", boot.said) };
    let console = if lines.is_empty() { "its console is empty".to_owned() } else { format!("its console: {lines}") };
    format!("the image of {} gave no result in its guest{said}; {console}", twin.build.name)
}

/// How long the rest will take, judged by the blocks so far.
fn left(elapsed: Duration, done: u32, count: u32) -> String {
    if done == 0 {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() / f64::from(done) * f64::from(count - done);
    format!(", {seconds:.0} s left")
}

/// Keeps what the guest says, and when it said something first.
struct Heard {
    begun: Instant,
    first: Option<Duration>,
    text: Vec<u8>,
}

impl Receiver for Heard {
    fn out(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.first.get_or_insert_with(|| self.begun.elapsed());
        self.text.extend_from_slice(bytes);
        Ok(())
    }
}
