//! What the programs of an image need that is not in it, with the byte that shows the need; and what is in it without need.
//!
//! Nothing is run. Libraries are looked for by the model of the image's own loader ([`underpin_resolve`]); what is opened later
//! (roots of certificates, zones, names, charsets) is concluded from imports and texts of the programs. A need is only
//! claimed with such evidence: a working image has no finding.

mod extras;
mod links;
mod needs;
mod objects;
mod started;
mod stores;

pub use extras::{Extra, ExtraKind};
pub use needs::{Need, Subject, needs_of, unwinder_of};
pub(crate) use objects::Objects;
pub use objects::{Known, Object};
pub(crate) use stores::{account, spellings};

use crate::oci::Image;
use bstr::{BStr, BString};
use underpin_resolve::{Environment, LoaderKind, Root};

/// A byte that shows a need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The file in the image; empty for the configuration.
    pub file: BString,
    /// Where in it; `None` if the file as a whole shows it.
    pub offset: Option<u64>,
    /// What is there.
    pub what: String,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LackKind {
    /// What the configuration starts is not there, or cannot be executed.
    Start,
    /// The interpreter of a script.
    ScriptInterpreter,
    /// The loader that a program names.
    Interpreter,
    /// A library, or one that the loader cannot use.
    Library,
    /// A version of a symbol that a library does not define.
    SymbolVersion,
    /// A library that is to be preloaded.
    Preload,
    /// The processor of a program, and the one that the configuration names.
    Architecture,
    /// Roots of certificates.
    Certificates,
    /// Zones of time.
    TimeZone,
    /// A folder for temporary files.
    Temporary,
    /// The user or group.
    User,
    /// Modules of the name service.
    NameService,
    /// Charsets of iconv(3).
    Charset,
    /// The locale that is set.
    Locale,
    /// The library that glibc opens to unwind a stack.
    Unwinder,
}

/// Something that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What it is about.
    pub kind: LackKind,
    /// The programs that it concerns.
    pub programs: Vec<BString>,
    /// What is missing and what comes of it, as a sentence without its end.
    pub missing: String,
    /// What shows it.
    pub evidence: Vec<Evidence>,
    /// What to do.
    pub fix: String,
}

/// A program that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where it is.
    pub path: BString,
    /// How many objects its loader maps, itself among them.
    pub objects: usize,
    /// Whether it is a script; its interpreter is a program of its own.
    pub script: bool,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// The programs that were looked at.
    pub programs: Vec<Program>,
    /// Whether these are what the configuration starts, and not all there are.
    pub configured: bool,
    /// What is missing, the worst first.
    pub findings: Vec<Lack>,
    /// What is there without need.
    pub extras: Vec<Extra>,
    /// What could not be looked at, and why.
    pub unknown: Vec<String>,
}

/// What the checks look at.
pub(crate) struct View<'a> {
    pub image: &'a Image,
    pub environment: Vec<(BString, BString)>,
}

impl<'a> View<'a> {
    pub(crate) fn new(image: &'a Image) -> View<'a> {
        let list = image.config.as_ref().map(|config| config.environment.as_slice()).unwrap_or_default();
        let split = |pair: &String| pair.split_once('=').map(|(name, value)| (name.into(), value.into()));
        View { image, environment: list.iter().filter_map(split).collect() }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&BStr> {
        let found = self.environment.iter().rfind(|(known, _)| known == name);
        found.map(|(_, value)| value.as_ref()).filter(|value: &&BStr| !value.is_empty())
    }

    pub(crate) fn has(&self, path: impl AsRef<[u8]>) -> bool {
        self.image.files.stat(BStr::new(path.as_ref())).is_ok()
    }

    /// The numbers of the user that the image starts as; `None` if its name is not known there.
    pub(crate) fn user(&self) -> Option<u64> {
        let user = self.image.config.as_ref().map_or("", |config| config.user.as_str());
        let name = user.split(':').next().unwrap_or_default();
        if name.is_empty() {
            return Some(0);
        }
        name.parse().ok().or_else(|| {
            let line = stores::account(&self.image.files, "/etc/passwd", name.as_bytes())?;
            std::str::from_utf8(line.get(2)?).ok()?.parse().ok()
        })
    }

    fn loader_environment(&self) -> Environment {
        let mut environment = Environment::empty();
        for (name, value) in &self.environment {
            environment.set(name, value.clone());
        }
        environment
    }
}

/// Looks at an image: at the programs named, or else at what its configuration starts, or else at all.
#[must_use]
pub fn diagnose(image: &Image, named: &[BString]) -> Diagnosis {
    diagnose_known(image, named, Known::default())
}

/// [`diagnose`] of an image of which some files were read before.
#[must_use]
pub fn diagnose_known(image: &Image, named: &[BString], known: Known) -> Diagnosis {
    let view = View::new(image);
    let mut out = Diagnosis::default();
    let mut findings = Vec::new();
    let starts = started::programs(&view, named, &mut findings, &mut out);
    let objects = Objects::new(&image.files, known);
    let resolver = underpin_resolve::Resolver::new(&image.files, view.loader_environment());
    for path in &starts {
        let closure = match resolver.resolve(path.as_ref(), underpin_resolve::Depth::Findings) {
            Ok(closure) => closure,
            Err(error) => {
                out.unknown.push(error.to_string());
                continue;
            }
        };
        links::check(&view, &objects, &closure, &mut findings);
        let mapped: Vec<_> = closure.objects.iter().filter_map(|object| objects.get(object.path.as_ref())).collect();
        let is_glibc = match closure.loader.kind {
            LoaderKind::Glibc => true,
            LoaderKind::Musl => false,
            LoaderKind::None => mapped.first().is_some_and(|program| program.is_static_glibc()),
        };
        let subject = needs::Subject { program: path, objects: &mapped, is_glibc, version: closure.loader.version };
        findings.extend(stores::check(&view, &subject));
        out.programs.push(Program { path: path.clone(), objects: mapped.len(), script: false });
        objects.forget(path.as_ref());
    }
    out.findings = merged(findings);
    out.extras = extras::find(image, &out);
    out
}

/// One finding for all programs that need the same thing.
fn merged(findings: Vec<Lack>) -> Vec<Lack> {
    let mut out: Vec<Lack> = Vec::new();
    for finding in findings {
        let same = out.iter_mut().find(|known| known.kind == finding.kind && known.missing == finding.missing);
        match same {
            Some(known) => {
                let new = finding.programs.into_iter().filter(|program| !known.programs.contains(program));
                known.programs.extend(new.collect::<Vec<_>>());
            }
            None => out.push(finding),
        }
    }
    out.sort_by_key(|finding| finding.kind);
    out
}
