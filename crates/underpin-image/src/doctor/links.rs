//! What the loader would report: interpreter, libraries, versions of symbols, preloads; and the processor.

use super::objects::Objects;
use super::{Evidence, Lack, LackKind, View};
use crate::oci::{FileKind, architecture};
use bstr::{BStr, BString, ByteSlice};
use underpin_elf::SegmentKind;
use underpin_resolve::{Closure, Edge, EdgeKind, FatalReason, FindingKind as Found, Outcome, TryResult};

pub(super) fn check(view: &View<'_>, objects: &Objects<'_>, closure: &Closure, findings: &mut Vec<Lack>) {
    processor(view, closure, findings);
    for edge in &closure.edges {
        match (&edge.outcome, edge.kind) {
            (Outcome::Missing, EdgeKind::Interpreter) => {}
            (Outcome::Missing, _) => findings.push(library(view, objects, closure, edge)),
            (Outcome::Fatal { path, reason }, _) => findings.push(unusable(objects, closure, edge, path, reason)),
            (Outcome::Ignored { reason }, EdgeKind::LdPreload | EdgeKind::EtcPreload) => {
                findings.push(preload(view, closure, edge, reason));
            }
            _ => {}
        }
    }
    for finding in &closure.findings {
        match &finding.kind {
            Found::MissingInterpreter { path } => findings.push(loader(view, objects, closure, path)),
            Found::MissingVersion { file, version } => {
                let asks =
                    finding.object.and_then(|id| closure.objects.get(id.0)).map_or(&closure.program, |one| &one.path);
                findings.push(symbol_version(objects, closure, asks, file, version));
            }
            _ => {}
        }
    }
}

fn processor(view: &View<'_>, closure: &Closure, findings: &mut Vec<Lack>) {
    let Some(program) = closure.objects.first() else { return };
    let claimed = view.image.config.as_ref().map_or("", |config| config.architecture.as_str());
    let Some(is) = architecture(program.ident.machine, program.ident.class) else { return };
    if claimed.is_empty() || claimed == is || (claimed == "amd64" && is == "386") {
        return;
    }
    findings.push(Lack {
        kind: LackKind::Architecture,
        programs: vec![closure.program.clone()],
        missing: format!("{} is for {is}, and the image says that it is for {claimed}", closure.program),
        evidence: vec![Evidence { file: program.path.clone(), offset: Some(18), what: format!("e_machine: {is}") }],
        fix: format!("build it for {claimed}, or correct the image's architecture"),
    });
}

/// Where a name is written in the file that asks for it.
fn written(objects: &Objects<'_>, path: &BStr, name: &BStr, what: String) -> Evidence {
    let object = objects.get(path);
    let offset = object.and_then(|object| object.whole(&name.to_string()));
    Evidence { file: path.into(), offset, what }
}

fn asking<'c>(closure: &'c Closure, edge: &Edge) -> &'c BString {
    closure.objects.get(edge.from.0).map_or(&closure.program, |object| &object.path)
}

/// A file of this name elsewhere in the image.
fn elsewhere(view: &View<'_>, name: &BStr) -> Option<BString> {
    let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let same = |path: &BStr| path.rsplit(|byte| *byte == b'/').next() == Some(name);
    let mut files = view.image.files.iter().filter(|(_, node)| !matches!(node.kind, FileKind::Directory));
    files.find(|(path, _)| same(path)).map(|(path, _)| [b"/", path.as_bytes()].concat().into())
}

fn library(view: &View<'_>, objects: &Objects<'_>, closure: &Closure, edge: &Edge) -> Lack {
    let (name, asks) = (&edge.name, asking(closure, edge));
    let other = edge.tries.iter().find(|one| matches!(one.result, TryResult::OtherMachine | TryResult::OtherClass));
    let fix = match (other, elsewhere(view, name.as_ref())) {
        (Some(wrong), _) => format!("replace {}, which is for another processor", wrong.path),
        (None, Some(path)) => {
            let folder = path.rfind_byte(b'/').map_or(path.as_bstr(), |slash| path[..slash].as_bstr());
            format!(
                "it is at {path}, where the loader does not look: run `ldconfig -r ROOT {folder}` or set LD_LIBRARY_PATH={folder}"
            )
        }
        (None, None) => format!("add {name} to a folder that the loader searches, such as {}", folder_of(closure)),
    };
    Lack {
        kind: LackKind::Library,
        programs: vec![closure.program.clone()],
        missing: format!("{name}, which {asks} needs: the program does not start"),
        evidence: vec![written(objects, asks.as_ref(), name.as_ref(), format!("DT_NEEDED {name}"))],
        fix,
    }
}

fn folder_of(closure: &Closure) -> String {
    let folder = closure.loader.system_directories.first();
    folder.map_or_else(|| "/lib".to_owned(), |folder| folder.to_string().trim_end_matches('/').to_owned())
}

fn unusable(objects: &Objects<'_>, closure: &Closure, edge: &Edge, path: &BString, reason: &FatalReason) -> Lack {
    let (name, asks) = (&edge.name, asking(closure, edge));
    Lack {
        kind: LackKind::Library,
        programs: vec![closure.program.clone()],
        missing: format!("{name}: the loader stops at {path}: {reason}"),
        evidence: vec![
            Evidence { file: path.clone(), offset: Some(0), what: reason.to_string() },
            written(objects, asks.as_ref(), name.as_ref(), format!("DT_NEEDED {name}")),
        ],
        fix: format!("replace {path}"),
    }
}

fn preload(view: &View<'_>, closure: &Closure, edge: &Edge, reason: &str) -> Lack {
    let (file, what) = match edge.kind {
        EdgeKind::EtcPreload => (BString::from("/etc/ld.so.preload"), edge.name.to_string()),
        _ => (BString::default(), format!("LD_PRELOAD={}", view.variable("LD_PRELOAD").unwrap_or_default())),
    };
    Lack {
        kind: LackKind::Preload,
        programs: vec![closure.program.clone()],
        missing: format!("{}, which is to be preloaded: programs run without it ({reason})", edge.name),
        evidence: vec![Evidence { file, offset: None, what }],
        fix: format!("add {} with the libraries that it needs, or remove the setting", edge.name),
    }
}

fn loader(view: &View<'_>, objects: &Objects<'_>, closure: &Closure, path: &BString) -> Lack {
    let object = objects.get(closure.program.as_ref());
    let offset = object.and_then(|object| Some(object.elf.segment(SegmentKind::Interpreter)?.offset.0));
    let fix = match elsewhere(view, path.as_ref()) {
        Some(there) => format!("it is at {there}: add a link {path} to it"),
        None => format!("add {path} and the C library of the same build, or link the program statically"),
    };
    Lack {
        kind: LackKind::Interpreter,
        programs: vec![closure.program.clone()],
        missing: format!("{path}, the loader: the program does not start (\"no such file or directory\")"),
        evidence: vec![Evidence { file: closure.program.clone(), offset, what: format!("PT_INTERP {path}") }],
        fix,
    }
}

fn symbol_version(objects: &Objects<'_>, closure: &Closure, asks: &BString, file: &BString, version: &BString) -> Lack {
    let what = format!("needs {version} of {file}");
    Lack {
        kind: LackKind::SymbolVersion,
        programs: vec![closure.program.clone()],
        missing: format!("{version} is not in the image's {file}: {asks} does not start"),
        evidence: vec![written(objects, asks.as_ref(), version.as_ref(), what)],
        fix: format!("take {file} from the system on which {asks} was built, or build it against the image's"),
    }
}
