//! Progress: one line on standard error, and nothing if that is not a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};
use underpin_bench::{End, Header, MemoryRun, Observer, ObserverError, Sample};
use underpin_rewrite::files;

/// Drawing disturbs what is measured, so it happens only this many times per second.
const DRAWN: u8 = 5;
const BETWEEN: Duration = Duration::from_millis(1000 / DRAWN as u64);

/// A line of progress, removed when it is dropped.
#[derive(Debug)]
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// A text that changes.
    pub fn words() -> Progress {
        Progress::styled("{spinner} {msg}")
    }

    /// Nothing.
    pub const fn hidden() -> Progress {
        Progress(None)
    }

    /// Counted steps; each part of the work announces later how many it has.
    pub fn parts() -> Progress {
        Progress::styled("{msg:>12} [{bar:30}] {pos}/{len} {elapsed}")
    }

    /// This many steps, whose results go to standard output: if that is a terminal too, a bar would tear them apart.
    pub fn steps(count: usize) -> Progress {
        if io::stdout().is_terminal() {
            return Progress(None);
        }
        let progress = Progress::parts();
        progress.begin_part("", count);
        progress
    }

    fn styled(template: &str) -> Progress {
        let style = || ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Progress(io::stderr().is_terminal().then(|| ProgressBar::hidden().with_style(style())))
    }

    fn show(&self) -> Option<&ProgressBar> {
        let bar = self.0.as_ref()?;
        if bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(DRAWN));
        }
        Some(bar)
    }

    /// Shows this text.
    pub fn say(&self, words: String) {
        if let Some(bar) = self.show() {
            bar.set_message(words);
            bar.tick();
        }
    }

    /// Begins a part of this many steps.
    fn begin_part(&self, name: &'static str, steps: usize) {
        if let Some(bar) = self.show() {
            bar.set_length(steps as u64);
            bar.set_position(0);
            bar.set_message(name);
        }
    }

    /// Counts this many steps as done.
    pub fn advance(&self, steps: usize) {
        if let Some(bar) = &self.0 {
            bar.inc(steps as u64);
        }
    }

    /// Removes the line, before something else is printed.
    pub fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

impl files::Progress for Progress {
    fn begin(&self, step: files::JobPhase, items: usize) {
        let name = match step {
            files::JobPhase::Asking => "asking",
            files::JobPhase::Replacing => "files",
            files::JobPhase::Verifying => "verifying",
            files::JobPhase::RollingBack => "taking back",
        };
        self.begin_part(name, items);
    }

    fn done(&self, _: &Path) {
        self.advance(1);
    }
}

/// The runs of an experiment as they end.
#[derive(Debug)]
pub struct RunProgress {
    /// The purpose of the experiment; empty if there is nothing else to do.
    what: &'static str,
    line: Progress,
    drawn: Instant,
    names: Vec<String>,
    /// Timed runs that have ended.
    pub runs: usize,
}

impl RunProgress {
    /// Nothing has run yet.
    pub fn new(what: &'static str) -> RunProgress {
        RunProgress::on(what, Progress::words())
    }

    /// The same, hidden.
    pub fn hidden() -> RunProgress {
        RunProgress::on("", Progress::hidden())
    }

    fn on(what: &'static str, line: Progress) -> RunProgress {
        RunProgress { what, line, drawn: Instant::now(), names: Vec::new(), runs: 0 }
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.line.clear();
    }

    fn draw(&mut self, words: impl FnOnce(&RunProgress) -> String) {
        if self.drawn.elapsed() >= BETWEEN {
            let between = if self.what.is_empty() { "" } else { ", " };
            self.line.say(format!("{}{between}{}", self.what, words(self)));
            self.drawn = Instant::now();
        }
    }

    fn name(&self, variant: usize) -> &str {
        self.names.get(variant).map_or("", String::as_str)
    }
}

impl Observer for RunProgress {
    fn begin(&mut self, header: &Header) -> Result<(), ObserverError> {
        self.names = header.variants.iter().map(|variant| variant.name.clone()).collect();
        Ok(())
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), ObserverError> {
        self.runs += 1;
        self.draw(|it| format!("run {}: {}, {:.3} s", it.runs, it.name(sample.variant), sample.wall_ns.seconds()));
        Ok(())
    }

    fn memory(&mut self, run: &MemoryRun) -> Result<(), ObserverError> {
        self.draw(|it| format!("memory: {}, {} MiB", it.name(run.variant), run.peak_rss.0 >> 20));
        Ok(())
    }

    fn end(&mut self, _: &End) -> Result<(), ObserverError> {
        self.line.clear();
        Ok(())
    }
}
