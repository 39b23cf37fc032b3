//! A strace log as a list of calls with the paths behind descriptors and addresses.

use super::modelled;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use underpin_resolve::{CallName, Closure, Environment};

/// One call, as far as the model covers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub name: String,
    pub path: String,
    pub failed: bool,
}

/// Runs a program under strace.
pub fn strace(program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Vec<Seen> {
    let log = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut command = Command::new("strace");
    command.args(["-s", "4096", "-o"]).arg(log.path());
    for name in ["LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES"] {
        command.args(["-E", name]);
    }
    for (name, value) in variables {
        command.arg("-E").arg(format!("{name}={value}"));
    }
    command.arg(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().expect("strace starts");
    let text = std::fs::read_to_string(log.path()).expect("strace's log");
    read_log(&text)
}

/// The calls of a log; if one program executed another, those of the last.
pub fn read_log(text: &str) -> Vec<Seen> {
    let last = text.rfind("\nexecve(").map_or(text, |at| &text[at..]);
    let mut reader = Reader::default();
    last.lines().filter_map(|line| reader.line(line)).collect()
}

#[derive(Default)]
struct Reader {
    descriptors: HashMap<String, String>,
    /// Start, end and path of file mappings.
    mappings: Vec<(u64, u64, String)>,
    /// The file opened last.
    latest: Option<String>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Option<Seen> {
        let (call, result) = line.rsplit_once(" = ")?;
        let (name, rest) = call.split_once('(')?;
        let arguments = rest.trim_end().strip_suffix(')').unwrap_or(rest);
        let failed = result.starts_with("-1");
        let path = match name {
            "open" | "openat" => self.open(arguments, result, failed),
            "access" | "faccessat" | "readlink" | "readlinkat" | "stat" => quoted(arguments),
            "newfstatat" if arguments.starts_with("AT_FDCWD") => quoted(arguments),
            "newfstatat" | "fstat" | "read" | "pread64" | "fcntl" => self.behind(arguments),
            "close" => {
                let path = self.behind(arguments);
                self.descriptors.remove(arguments);
                path
            }
            "mmap" => self.mmap(arguments, result),
            "munmap" => self.owner(arguments),
            "mprotect" => Some(String::new()),
            _ => None,
        }?;
        Some(Seen { name: name.to_owned(), path, failed })
    }

    fn open(&mut self, arguments: &str, result: &str, failed: bool) -> Option<String> {
        let path = quoted(arguments)?;
        if !failed {
            self.descriptors.insert(result.to_owned(), path.clone());
            self.latest = Some(path.clone());
        }
        Some(path)
    }

    fn behind(&self, arguments: &str) -> Option<String> {
        self.descriptors.get(arguments.split(',').next()?.trim()).cloned()
    }

    fn owner(&self, arguments: &str) -> Option<String> {
        let address = number(arguments.split(',').next()?)?;
        let hit = self.mappings.iter().rev().find(|(start, end, _)| (*start..*end).contains(&address));
        hit.map(|(_, _, path)| path.clone())
    }

    /// A file mapping, or anonymous memory fixed inside one (bss); anything else is heap.
    fn mmap(&mut self, arguments: &str, result: &str) -> Option<String> {
        let fields: Vec<&str> = arguments.split(',').map(str::trim).collect();
        let (length, descriptor) = (number(fields.get(1)?)?, *fields.get(4)?);
        let path = if descriptor == "-1" {
            let fixed = fields.get(3)?.contains("MAP_FIXED");
            // Address space reserved for the object being opened is PROT_NONE; heap is not.
            let reserved = fields.get(2)? == &"PROT_NONE";
            self.owner(arguments).filter(|_| fixed).or_else(|| self.latest.clone().filter(|_| reserved))?
        } else {
            self.behind(descriptor)?
        };
        let start = number(result)?;
        self.mappings.push((start, start + length, path.clone()));
        Some(path)
    }
}

fn quoted(arguments: &str) -> Option<String> {
    let rest = arguments.split_once('"')?.1;
    Some(rest.split_once('"')?.0.to_owned())
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// An environment with these variables.
pub fn environment(variables: &[(&str, &str)]) -> Environment {
    let mut environment = Environment::empty();
    for (name, value) in variables {
        assert!(environment.set(name.as_bytes(), (*value).into()), "{name} matters to no loader");
    }
    environment
}

/// The model's calls in the form in which strace shows them.
fn predicted(program: &Path, variables: &[(&str, &str)]) -> Vec<Seen> {
    predicted_calls(program, modelled(program, environment(variables)).expect("a closure"))
}

/// The calls of a closure that was asked to keep them.
pub fn predicted_calls(program: &Path, closure: Closure) -> Vec<Seen> {
    assert!(closure.calls.modelled, "{}: no model for {:?}", program.display(), closure.loader.version);
    closure
        .calls
        .sequence
        .expect("the calls one by one")
        .into_iter()
        .map(|call| Seen {
            name: call.name.to_string(),
            // strace does not show whose pages an mprotect of the program or of ld.so changes.
            path: if call.name == CallName::Mprotect { String::new() } else { call.path.to_string() },
            failed: call.failed,
        })
        .collect()
}

/// Objects whose segments want more than a page's alignment are mapped with two munmaps, one of which the loader saves
/// if address-space randomisation happens to give it an aligned place: such a run is repeated.
const ATTEMPTS: usize = 4;

/// Fails unless what strace sees begins with the predicted calls, call for call, with path and failure.
pub fn agrees(program: &Path, arguments: &[&str], variables: &[(&str, &str)]) {
    let program = program.canonicalize().expect("the program");
    let model = predicted(&program, variables);
    let mut difference = String::new();
    for _ in 0..ATTEMPTS {
        let seen = strace(&program, arguments, variables);
        let Some(at) = first_difference(&model, &seen) else {
            println!("{}: {} calls predicted exactly", program.display(), model.len());
            return;
        };
        let around = |list: &[Seen]| {
            let lines = list.iter().skip(at.saturating_sub(3)).take(8);
            lines.map(|call| format!("    {call:?}\n")).collect::<String>()
        };
        difference = format!("  model:\n{}  strace:\n{}", around(&model), around(&seen));
        let is_munmap = |list: &[Seen]| list.get(at).is_some_and(|call| call.name == "munmap");
        if !is_munmap(&model) && !is_munmap(&seen) {
            break;
        }
    }
    panic!("{}: {} calls predicted, and they differ\n{difference}", program.display(), model.len());
}

/// Where the model departs from what strace saw. The loader's last act is an mprotect or munmap; another one right
/// after the prediction would be one that the model forgot.
pub fn first_difference(model: &[Seen], seen: &[Seen]) -> Option<usize> {
    (0..model.len())
        .find(|&index| seen.get(index) != Some(&model[index]))
        .or_else(|| seen.get(model.len()).is_some_and(|call| call.name == "mprotect").then_some(model.len()))
}
