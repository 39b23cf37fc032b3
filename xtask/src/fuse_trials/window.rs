//! A graphical program to its first window, on a display that is memory only (Xvfb).
//!
//! `xev` tells when a window of the root is mapped. The first that is not a menu or a tooltip and is larger than the stand-ins
//! that toolkits make counts; then the program is ended.

use super::copies::{self, Made};
use super::processes::Group;
use super::section::{Context, goal, head, missing, shown};
use crate::bench::measure::abba;
use anyhow::{Context as _, bail};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// The heading of the part.
pub const HEADING: &str = "## To the first window";
/// A first window over the unchanged program's.
const GOAL: f64 = 0.8;
/// How long a program may take, and the display.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the first run of a program goes on: it writes caches.
const FIRST: Duration = Duration::from_secs(8);
/// After the end of a program, until the display has forgotten it.
const PAUSE: Duration = Duration::from_millis(100);
/// Stand-ins are smaller.
const SMALLEST: u32 = 100;
/// Two runs of each in a round, and each takes half a second.
const ROUNDS: usize = 50;
/// A program, and what is measured of it.
struct Timed {
    name: &'static str,
    arguments: &'static [&'static str],
    package: &'static str,
    goal: Option<f64>,
    /// Folders of modules that it opens before its window, below a folder of libraries.
    modules: &'static [&'static str],
}

const PLAIN: Timed = Timed { name: "", arguments: &[], package: "", goal: None, modules: &[] };
const TIMED: [Timed; 4] = [
    Timed { name: "inkscape", package: "inkscape", goal: Some(GOAL), ..PLAIN },
    Timed {
        name: "gimp",
        package: "gimp",
        goal: Some(GOAL),
        modules: &["gimp/2.0/modules", "babl-0.1", "gegl-0.4", "gdk-pixbuf-2.0"],
        ..PLAIN
    },
    Timed { name: "emacs", arguments: &["-Q"], package: "emacs-gtk", ..PLAIN },
    Timed {
        name: "ffplay",
        arguments: &["-loglevel", "quiet", "-f", "lavfi", "-i", "testsrc"],
        package: "ffmpeg",
        ..PLAIN
    },
];
/// Where modules of Debian's programs are.
const LIBRARIES: [&str; 3] = ["/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];

impl Timed {
    /// The folders of modules that are there.
    fn folders(&self) -> Vec<PathBuf> {
        let all = LIBRARIES.iter().flat_map(|above| self.modules.iter().map(move |name| Path::new(above).join(name)));
        all.filter(|folder| folder.is_dir()).collect()
    }
}

/// Times from the start to the first window, on the clock.
///
/// # Errors
/// If a copy cannot be made, or shows no window.
pub fn measure(context: &Context) -> anyhow::Result<String> {
    let rounds = context.rounds.min(ROUNDS);
    let mut text = head(HEADING, "window", rounds);
    for (tool, package) in [("Xvfb", "xvfb"), ("xev", "x11-utils")] {
        if copies::installed(tool).is_none() {
            return Ok(text + &missing(&[(tool, package)]));
        }
    }
    text += "From the start to the first window that is mapped, on the clock, under Xvfb without a window manager; runs interleave \
             (ABBA). Gimp's first window is its splash. With `--modules` the libraries are merged that only the modules in its \
             folders need. Emacs and ffplay have no goal.\n\n\
             | program | libraries merged | unchanged, ms | fused, ms | ratio | goal | | runs |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    let display = Display::start()?;
    let mut absent = Vec::new();
    for timed in &TIMED {
        match copies::installed(timed.name) {
            Some(program) => text += &rows(timed, &program, &display, context, rounds)?,
            None => absent.push((timed.name, timed.package)),
        }
    }
    Ok(text + &missing(&absent))
}

/// A program fused, and with the libraries of its modules.
fn rows(timed: &Timed, program: &Path, display: &Display, context: &Context, rounds: usize) -> anyhow::Result<String> {
    let name = timed.name;
    let limit = timed.goal.map(|limit| limit.to_string()).unwrap_or_default();
    let (mut text, mut files, mut members) = (String::new(), vec![program.to_owned()], Vec::new());
    let folders = timed.folders();
    let variants = [(name.to_owned(), &[][..]), (format!("{name}, `--modules`"), folders.as_slice())];
    for (variant, modules) in variants.iter().take(if folders.is_empty() { 1 } else { 2 }) {
        let folder = context.folder("window", &format!("{name}.{}", modules.len()));
        match copies::fused_with(&context.underpin, program, &folder, modules)? {
            Made::Merged(merged) => {
                files.push(merged.program);
                members.push((variant, merged.members));
            }
            other => writeln!(text, "| {variant} | {} | | | | {limit} | missed | |", why(&other))?,
        }
    }
    let home = context.folder("window", &format!("{name}.home"));
    fs::create_dir_all(&home)?;
    let shown_by = |file: &Path, stays| {
        display.first_window(file, program, timed.arguments, &home, stays).with_context(|| name.to_owned())
    };
    shown_by(program, FIRST)?;
    let samples = abba(files.len(), rounds, |at| shown_by(&files[at], Duration::ZERO))?;
    for ((variant, members), sample) in members.iter().zip(&samples[1..]) {
        let ratio = sample.ratio(&samples[0]);
        writeln!(
            text,
            "| {variant} | {members} | {:.0} | {:.0} | {} | {limit} | {} | {} |",
            samples[0].median().value * 1e3,
            sample.median().value * 1e3,
            shown(ratio),
            timed.goal.map_or("", |limit| goal(ratio, limit)),
            sample.runs(),
        )?;
    }
    Ok(text)
}

fn why(made: &Made) -> String {
    match made {
        Made::LeftAlone(members) => format!("left alone: {members}"),
        Made::Refused(reason) => format!("refused: {reason}"),
        Made::Merged(merged) => merged.members.to_string(),
    }
}

/// A display and what is told of its windows. Both processes end with it.
struct Display {
    name: String,
    events: Receiver<(Instant, String)>,
    _server: Group,
    _watcher: Group,
}

impl Display {
    fn start() -> anyhow::Result<Display> {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"]);
        let mut server = Group::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()))?;
        let said = lines(server.child().stdout.take().context("no output of Xvfb")?);
        let number = said.recv_timeout(PATIENCE).context("Xvfb tells no display")?.1;
        let name = format!(":{}", number.trim());
        // A pipe would keep its lines back.
        let mut command = Command::new("stdbuf");
        command.args(["-oL", "xev", "-root", "-event", "substructure"]).env("DISPLAY", &name);
        let mut watcher = Group::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()))?;
        let events = lines(watcher.child().stdout.take().context("no output of xev")?);
        // Until it watches, nothing tells that it does.
        sleep(Duration::from_millis(500));
        Ok(Display { name, events, _server: server, _watcher: watcher })
    }

    /// Seconds until a program's first window. It goes on for a while if that is wanted, and is ended.
    fn first_window(
        &self,
        file: &Path,
        original: &Path,
        arguments: &[&str],
        home: &Path,
        stays: Duration,
    ) -> anyhow::Result<f64> {
        sleep(PAUSE);
        self.events.try_iter().for_each(drop);
        let mut command = Command::new(file);
        // Programs look for their own files beside the name that they are called by.
        command.arg0(original).args(arguments).env("DISPLAY", &self.name).env("HOME", home);
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_CACHE_HOME");
        // Else libraries start a bus that outlives the program, or wait for one.
        command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:").env("NO_AT_BRIDGE", "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let mut group = Group::start(&mut command)?;
        let mut windows = Windows::default();
        loop {
            let left = PATIENCE.saturating_sub(start.elapsed());
            match self.events.recv_timeout(left) {
                Ok((when, line)) if windows.mapped(&line) => {
                    sleep(stays);
                    return Ok(when.duration_since(start).as_secs_f64());
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => match group.child().try_wait()? {
                    Some(status) => bail!("it ended without a window: {status}"),
                    None => bail!("no window after {} s", PATIENCE.as_secs()),
                },
                Err(RecvTimeoutError::Disconnected) => bail!("xev ended"),
            }
        }
    }
}

/// The lines of an output, each with the time at which it came.
fn lines(output: impl Read + Send + 'static) -> Receiver<(Instant, String)> {
    let (sender, receiver) = channel();
    spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send((Instant::now(), line)).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The windows that `xev` told of, with their smaller side.
#[derive(Default)]
struct Windows {
    sides: HashMap<String, u32>,
}

impl Windows {
    /// Reads a line, and says whether it tells that a window for the user was mapped.
    fn mapped(&mut self, line: &str) -> bool {
        let after = |key: &str| {
            let rest = line.split_once(key)?.1;
            rest.split([',', ' ']).next().map(str::to_owned)
        };
        let Some(window) = after(", window ") else { return false };
        let side = |key| after(key).and_then(|side| side.parse::<u32>().ok());
        // Created, or given another size.
        if let (Some(width), Some(height)) = (side(" width "), side(" height ")) {
            self.sides.insert(window, width.min(height));
            return false;
        }
        line.contains("override NO") && self.sides.get(&window).is_some_and(|side| *side >= SMALLEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What xev prints while Gimp starts, and a menu.
    const EVENTS: [(&str, bool); 8] = [
        ("CreateNotify event, serial 19, synthetic NO, window 0x50d,", false),
        ("    parent 0x50d, window 0x400001, (10,10), width 10, height 10", false),
        ("    event 0x50d, window 0x400001, override NO", false),
        ("    parent 0x50d, window 0x400003, (0,0), width 642, height 382", false),
        ("    parent 0x50d, window 0x400009, (0,0), width 642, height 382", false),
        ("    event 0x50d, window 0x400009, override YES", false),
        ("MapNotify event, serial 19, synthetic NO, window 0x50d,", false),
        ("    event 0x50d, window 0x400003, override NO", true),
    ];

    #[test]
    fn the_first_window_is_neither_a_stand_in_nor_a_menu() {
        let mut windows = Windows::default();
        for (line, mapped) in EVENTS {
            assert_eq!(windows.mapped(line), mapped, "{line}");
        }
    }

    #[test]
    fn a_refusal_is_told_with_its_reason() {
        assert_eq!(why(&Made::LeftAlone(3)), "left alone: 3");
        assert_eq!(why(&Made::Refused("signed".into())), "refused: signed");
    }
}
