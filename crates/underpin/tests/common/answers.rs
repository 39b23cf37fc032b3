//! Programs that print a text about themselves and exit, and that text.
//!
//! They are chosen by behaviour, not by name: a program is taken if its file contains the option, it exits by itself
//! with success and some output, and it prints the same twice. It runs in an empty home, without input, display or
//! network.
#![allow(dead_code, reason = "every test file takes what it needs")]

use rayon::prelude::*;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a program may take while it is chosen.
const QUICK: Duration = Duration::from_secs(3);
/// How long a chosen program may take, on a machine that does other things as well.
const PATIENT: Duration = Duration::from_secs(120);

/// A program and the option to which it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub program: PathBuf,
    pub option: &'static str,
}

/// What it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub code: Option<i32>,
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
}

/// The environment in which programs run: a home of their own.
pub struct Room {
    home: PathBuf,
    /// Whether `unshare` can remove the network.
    offline: bool,
    count: AtomicUsize,
}

impl Room {
    /// A room in an empty folder.
    pub fn new(home: PathBuf) -> Room {
        fs::create_dir_all(&home).expect("a home");
        let probe = Command::new("unshare").args(["-n", "true"]).stderr(Stdio::null()).status();
        Room { home, offline: probe.is_ok_and(|status| status.success()), count: AtomicUsize::new(0) }
    }

    /// The answer, or `None` if there is none in time.
    fn ask(&self, question: &Question, limit: Duration) -> Option<Answer> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let (output, errors) = (self.home.join(format!("{number}.out")), self.home.join(format!("{number}.err")));
        let mut command = if self.offline {
            let mut command = Command::new("unshare");
            command.arg("-n").arg(&question.program);
            command
        } else {
            Command::new(&question.program)
        };
        command.arg(question.option).current_dir(&self.home).env_clear();
        command.env("HOME", &self.home).env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").env("TERM", "dumb");
        command.stdin(Stdio::null()).stdout(File::create(&output).ok()?).stderr(File::create(&errors).ok()?);
        let mut child = command.spawn().ok()?;
        let start = Instant::now();
        let status = loop {
            match child.try_wait().ok()? {
                Some(status) => break Some(status),
                None if start.elapsed() > limit => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let answer = Answer { code: status?.code(), output: fs::read(&output).ok()?, errors: fs::read(&errors).ok()? };
        let _ = (fs::remove_file(&output), fs::remove_file(&errors));
        Some(answer)
    }

    /// The first `count` programs that answer, with their answers, in the order given.
    pub fn choose(&self, programs: &[PathBuf], count: usize) -> Vec<(Question, Answer)> {
        let mut chosen = Vec::new();
        for part in programs.chunks(32) {
            let answers: Vec<_> = part.par_iter().map(|program| self.question(program)).collect();
            chosen.extend(answers.into_iter().flatten());
            if chosen.len() >= count {
                break;
            }
        }
        chosen.truncate(count);
        chosen
    }

    fn question(&self, program: &Path) -> Option<(Question, Answer)> {
        let bytes = fs::read(program).ok()?;
        let holds = |option: &&str| bytes.windows(option.len()).any(|window| window == option.as_bytes());
        // getopt_long stores the names without the dashes.
        let option = [("version", "--version"), ("help", "--help")].into_iter().find(|(name, _)| holds(name))?.1;
        let question = Question { program: program.to_owned(), option };
        let answer = self.ask(&question, QUICK)?;
        let speaks = answer.code == Some(0) && !answer.output.is_empty();
        let again = speaks.then(|| self.ask(&question, QUICK)).flatten()?;
        (again == answer).then_some((question, answer))
    }

    /// What is printed differently now, a sentence each.
    pub fn differences(&self, expected: &[(Question, Answer)]) -> Vec<String> {
        let ask = |(question, before): &(Question, Answer)| {
            let program = question.program.display();
            let Some(now) = self.ask(question, PATIENT) else {
                return Some(format!("{program} {}: no answer", question.option));
            };
            let said = String::from_utf8_lossy(&now.errors).into_owned();
            (now != *before).then(|| format!("{program} {}: ends with {:?}: {said}", question.option, now.code))
        };
        expected.par_iter().filter_map(ask).collect()
    }
}
