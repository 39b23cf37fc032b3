//! Which programs of an image are looked at: those named, what its configuration starts, or all.

use super::{Diagnosis, Evidence, Lack, LackKind, Program, View};
use crate::oci::FileKind;
use bstr::{BStr, BString, ByteSlice};
use underpin_elf::{Elf, FileType, ScriptLine};
use underpin_resolve::Root;

/// Where engines look for a command if the image sets no PATH.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// A script may be run by a script (execve(2) allows four).
const SCRIPTS: usize = 5;

/// The ELF programs to look at, each once; scripts on the way are in `out`, what is missing in `findings`.
pub(super) fn programs(
    view: &View<'_>,
    named: &[BString],
    findings: &mut Vec<Lack>,
    out: &mut Diagnosis,
) -> Vec<BString> {
    let mut found = Vec::new();
    let config = view.image.config.as_ref();
    let command: Vec<BString> = config
        .map(|config| config.entrypoint.iter().chain(&config.command).map(|word| word.as_str().into()).collect())
        .unwrap_or_default();
    if !named.is_empty() {
        for name in named {
            start(view, name.as_ref(), "it was named", findings, out, &mut found);
        }
        return found;
    }
    let Some(first) = command.first() else { return all(view, findings, out) };
    out.configured = true;
    start(view, first.as_ref(), "the configuration starts it", findings, out, &mut found);
    // A starter such as tini or env is given the program as an argument.
    for word in command[1..].iter().filter(|word| word.starts_with(b"/")) {
        let is_program = view
            .image
            .files
            .find(word.as_ref())
            .is_ok_and(|(_, node)| matches!(node.kind, FileKind::Regular(_)) && node.mode & 0o111 != 0);
        if is_program {
            start(view, word.as_ref(), "the configuration names it", findings, out, &mut found);
        }
    }
    found
}

/// Every file that can be executed.
fn all(view: &View<'_>, findings: &mut Vec<Lack>, out: &mut Diagnosis) -> Vec<BString> {
    let mut found = Vec::new();
    for (path, node) in view.image.files.iter() {
        let is_file = matches!(node.kind, FileKind::Regular(_));
        if !is_file || node.mode & 0o111 == 0 {
            continue;
        }
        let path: BString = [b"/", path.as_bytes()].concat().into();
        if is_elf_program(view, path.as_ref()) {
            found.push(path);
        } else if in_path(path.as_ref()) && ScriptLine::read(&head(view, path.as_ref())).is_some() {
            start(view, path.as_ref(), "it can be started", findings, out, &mut Vec::new());
        }
    }
    found
}

fn in_path(path: &BStr) -> bool {
    let folder = path.rfind_byte(b'/').map_or(path, |slash| path[..slash].as_bstr());
    PATH.split(':').any(|known| folder == known)
}

fn is_elf_program(view: &View<'_>, path: &BStr) -> bool {
    let Ok(opened) = view.image.files.open(path) else { return false };
    let Ok(elf) = Elf::read(&*opened.source) else { return false };
    let is_pie = elf.dynamic.as_ref().is_some_and(|dynamic| dynamic.flags.pie());
    let runs = elf.interpreter.is_some() || elf.ident.file_type == FileType::Executable || is_pie;
    // libc.so.6 and the loader can be run too, and nobody means them.
    runs && elf.dynamic.as_ref().is_none_or(|dynamic| dynamic.soname.is_none() || is_pie)
}

/// Follows a word of a command to the program that the kernel would run.
fn start(
    view: &View<'_>,
    word: &BStr,
    because: &str,
    findings: &mut Vec<Lack>,
    out: &mut Diagnosis,
    found: &mut Vec<BString>,
) {
    let Some(mut path) = locate(view, word) else {
        findings.push(not_there(view, word, because));
        return;
    };
    for _ in 0..SCRIPTS {
        if !is_executable(view, path.as_ref()) {
            findings.push(Lack {
                kind: LackKind::Start,
                programs: vec![path.clone()],
                missing: format!("{path} may not be executed: its mode has no right to"),
                evidence: vec![Evidence { file: path.clone(), offset: None, what: mode_of(view, path.as_ref()) }],
                fix: format!("set its mode to 0755: chmod 0755 {path}"),
            });
        }
        let head = head(view, path.as_ref());
        let Some(line) = ScriptLine::read(&head) else {
            if !found.contains(&path) {
                found.push(path);
            }
            return;
        };
        if !out.programs.iter().any(|known| known.path == path) {
            out.programs.push(Program { path: path.clone(), objects: 0, script: true });
        }
        match interpreter(view, line) {
            Ok(next) => path = next,
            Err(name) => {
                findings.push(Lack {
                    kind: LackKind::ScriptInterpreter,
                    programs: vec![path.clone()],
                    missing: format!("{name}, the interpreter of a script: it does not start"),
                    evidence: vec![Evidence { file: path.clone(), offset: Some(0), what: format!("#!{}", line.text) }],
                    fix: format!("add {name} with its libraries, or start a program that needs no interpreter"),
                });
                return;
            }
        }
    }
    out.unknown.push(format!("{word}: a script of a script, more than {SCRIPTS} deep"));
}

fn mode_of(view: &View<'_>, path: &BStr) -> String {
    view.image.files.find(path).map_or_else(|error| error.to_string(), |(_, node)| format!("mode {:04o}", node.mode))
}

fn is_executable(view: &View<'_>, path: &BStr) -> bool {
    view.image.files.find(path).is_ok_and(|(_, node)| node.mode & 0o111 != 0)
}

fn not_there(view: &View<'_>, word: &BStr, because: &str) -> Lack {
    let how = if word.contains(&b'/') {
        String::new()
    } else {
        format!(" in any folder of PATH ({})", view.variable("PATH").map_or_else(|| PATH.into(), ToString::to_string))
    };
    Lack {
        kind: LackKind::Start,
        programs: vec![word.into()],
        missing: format!("{word} is not in the image{how}: nothing starts"),
        evidence: vec![Evidence { file: BString::default(), offset: None, what: because.to_owned() }],
        fix: format!("add {word}, or correct the entrypoint or command"),
    }
}

/// The path of a command, as an engine finds it; links followed.
fn locate(view: &View<'_>, word: &BStr) -> Option<BString> {
    let regular = |path: BString| {
        let (key, node) = view.image.files.find(path.as_ref()).ok()?;
        matches!(node.kind, FileKind::Regular(_)).then(|| [b"/", key.as_slice()].concat().into())
    };
    if word.starts_with(b"/") {
        return regular(word.into());
    }
    if word.contains(&b'/') {
        let folder = view.image.config.as_ref().map_or("/", |config| config.directory.as_str());
        return regular([folder.as_bytes(), b"/", word.as_bytes()].concat().into());
    }
    let path = view.variable("PATH").unwrap_or(PATH.into());
    path.split(|byte| *byte == b':').find_map(|folder| regular([folder, b"/", word.as_bytes()].concat().into()))
}

/// What the kernel reads to find out what a file is; nothing if it cannot be read.
fn head(view: &View<'_>, path: &BStr) -> Vec<u8> {
    let Ok(opened) = view.image.files.open(path) else { return Vec::new() };
    let size = usize::try_from(opened.source.len()).unwrap_or(usize::MAX).min(ScriptLine::HEAD);
    let mut head = vec![0; size];
    if opened.source.read_exact_at(0, &mut head).is_ok() { head } else { Vec::new() }
}

/// The program that a script leads to, `env NAME` included; the name of what is missing.
fn interpreter(view: &View<'_>, line: ScriptLine<'_>) -> Result<BString, BString> {
    if line.interpreter.is_empty() {
        return Err("a name after `#!`".into());
    }
    let path = locate(view, line.interpreter).ok_or_else(|| BString::from(line.interpreter))?;
    match line.through_env() {
        Some(word) => locate(view, word).ok_or_else(|| word.into()),
        None => Ok(path),
    }
}
