//! Findings as sentences: one each, with the object it is about, and what follows from it.

use super::tree::{FindingRecord, FindingSlug, Level};
use super::tree_from::fatal_words;
use crate::bytes::{Raw, file_name, visible};
use bstr::{BString, ByteSlice};
use underpin_resolve::{Closure, Finding, FindingKind, ObjectId, Severity};

/// The parts of a finding besides its severity and object.
struct Parts {
    kind: FindingSlug,
    name: Option<Raw>,
    path: Option<Raw>,
    other: Option<usize>,
    message: String,
}

impl Parts {
    fn new(kind: FindingSlug, message: String) -> Parts {
        Parts { kind, name: None, path: None, other: None, message }
    }

    fn name(self, name: &BString) -> Parts {
        Parts { name: Some(Raw::from(name)), ..self }
    }

    fn path(self, path: &BString) -> Parts {
        Parts { path: Some(Raw::from(path)), ..self }
    }

    fn other(self, other: ObjectId) -> Parts {
        Parts { other: Some(other.0), ..self }
    }
}

/// A finding of this closure as a sentence.
#[must_use]
pub fn finding_words(finding: &Finding, closure: &Closure) -> String {
    FindingRecord::new(finding, closure).message
}

impl FindingRecord {
    /// The record of a finding of this closure.
    #[must_use]
    pub fn new(finding: &Finding, closure: &Closure) -> FindingRecord {
        let who = finding.object.map_or_else(|| shown(&closure.program), |object| label(closure, object));
        let parts = parts(&finding.kind, &who, closure);
        FindingRecord {
            severity: match finding.severity {
                Severity::Error => Level::Error,
                Severity::Warning => Level::Warning,
                Severity::Note => Level::Note,
            },
            kind: parts.kind,
            object: finding.object.map(|ObjectId(index)| index),
            name: parts.name,
            path: parts.path,
            other: parts.other,
            message: parts.message,
        }
    }
}

fn shown(bytes: &BString) -> String {
    visible(bytes.as_bstr()).into_owned()
}

/// The soname or file name of an object.
fn label(closure: &Closure, ObjectId(index): ObjectId) -> String {
    closure.objects.get(index).map_or_else(
        || format!("object {index}"),
        |object| match &object.soname {
            Some(soname) if !soname.is_empty() => shown(soname),
            _ => visible(file_name(object.path.as_bstr())).into_owned(),
        },
    )
}

fn parts(kind: &FindingKind, who: &str, closure: &Closure) -> Parts {
    match kind {
        FindingKind::Missing { name } => {
            Parts::new(FindingSlug::Missing, format!("{} is not found (needed by {who})", shown(name))).name(name)
        }
        FindingKind::FatalFile { name, path, reason } => {
            let message = format!("the loader stops at {} for {}: {}", shown(path), shown(name), fatal_words(reason));
            Parts::new(FindingSlug::FatalFile, message).name(name).path(path)
        }
        FindingKind::MissingInterpreter { path } => {
            let message = format!("the interpreter {} does not exist: {who} cannot start", shown(path));
            Parts::new(FindingSlug::MissingInterpreter, message).path(path)
        }
        FindingKind::MissingVersion { file, version } => {
            let message = format!("{who} needs version {}, which {} does not define", shown(version), shown(file));
            Parts::new(FindingSlug::MissingVersion, message).name(version).path(file)
        }
        FindingKind::VersionFileUnknown { file } => {
            let message = format!("{who} needs versions of {}, and nothing loaded bears that name", shown(file));
            Parts::new(FindingSlug::VersionFileUnknown, message).name(file)
        }
        FindingKind::NotInCache { name, path } => {
            let message = format!(
                "{} lies at {}, which ld.so.conf names, but ld.so.cache does not: run ldconfig (for another root: ldconfig -r DIR)",
                shown(name),
                shown(path)
            );
            Parts::new(FindingSlug::NotInCache, message).name(name).path(path)
        }
        FindingKind::StaleCache { name, path } => {
            let message = format!("ld.so.cache names {} for {}, which is gone: run ldconfig", shown(path), shown(name));
            Parts::new(FindingSlug::StaleCache, message).name(name).path(path)
        }
        other => search_parts(other, who, closure),
    }
}

/// Findings about where objects were found.
fn search_parts(kind: &FindingKind, who: &str, closure: &Closure) -> Parts {
    match kind {
        FindingKind::Shadowed { name, taken, shadowed } => {
            let message = format!("{} is taken from {}; {} is passed over", shown(name), shown(taken), shown(shadowed));
            Parts::new(FindingSlug::Shadowed, message).name(name).path(shadowed)
        }
        FindingKind::DuplicateSoname { soname, other } => {
            let other_path = closure.objects.get(other.0).map_or_else(String::new, |object| shown(&object.path));
            let message = format!("{} is mapped twice; the other copy is {other_path}", shown(soname));
            Parts::new(FindingSlug::DuplicateSoname, message).name(soname).other(*other)
        }
        FindingKind::Accidental { name, thanks_to } => {
            let message = format!(
                "{who} gets {} only because {} has brought it in; its own search would fail",
                shown(name),
                label(closure, *thanks_to)
            );
            Parts::new(FindingSlug::Accidental, message).name(name).other(*thanks_to)
        }
        FindingKind::DeadDirectory { directory, source } => {
            let message = format!("{source} of {who} names {}, which does not exist", shown(directory));
            Parts::new(FindingSlug::DeadDirectory, message).path(directory)
        }
        FindingKind::CurrentDirectory { entry } => {
            let message = if entry.is_empty() {
                format!("an empty entry in the search path of {who} means the current directory")
            } else {
                format!("{} of {who} is relative: what it finds depends on the current directory", shown(entry))
            };
            Parts::new(FindingSlug::CurrentDirectory, message).name(entry)
        }
        other => note_parts(other, who),
    }
}

/// Findings that are worth knowing and harmless by themselves.
fn note_parts(kind: &FindingKind, who: &str) -> Parts {
    match kind {
        FindingKind::ImportsDlopen => {
            Parts::new(FindingSlug::ImportsDlopen, format!("{who} imports dlopen: it may load more at run time"))
        }
        FindingKind::DlopenNote { feature, priority, sonames } => {
            let what = sonames.iter().map(|name| visible(name.as_str().into()).into_owned()).collect::<Vec<_>>();
            let feature = feature.as_ref().map_or(String::new(), |f| format!(" for {}", visible(f.as_str().into())));
            let priority = visible(priority.as_str().into());
            let message = format!("{who} loads {}{feature} at run time ({priority})", what.join(" or "));
            Parts::new(FindingSlug::DlopenNote, message)
        }
        FindingKind::HwcapsVariant { path } => {
            let message = format!("{} is chosen for this CPU; another CPU takes another file", shown(path));
            Parts::new(FindingSlug::HwcapsVariant, message).path(path)
        }
        FindingKind::OriginThroughSymlink { path } => {
            let message = format!("$ORIGIN of {who} is the directory of the symbolic link {}", shown(path));
            Parts::new(FindingSlug::OriginThroughSymlink, message).path(path)
        }
        other => Parts::new(FindingSlug::Other, format!("{who}: {other:?}")),
    }
}
