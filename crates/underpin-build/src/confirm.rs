//! Is the file what was asked for? Its own bytes answer, by the rules of `underpin check`.

use crate::evidence::{Presence, presence};
use crate::{Allocator, BuildError, CLibrary, Claim, Goal, LinkObject, Linkage, Spec};
use bstr::{BString, ByteSlice};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_elf::{AllocatorKind, BuildNote, Details, Elf, IsaLevel, LibcKind};
use underpin_resolve::compat::{
    self, AllocatorFinding, Compat, ExpectationOutcome, Expectations, ObjectFacts, Subject,
};

/// What a file is, compared with what was asked for.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// Each property.
    pub facts: Vec<Fact>,
    /// Its note.
    pub note: Option<BuildNote>,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many of them are debugging information, which no start reads.
    pub debug_bytes: u64,
    /// It calls `dlopen`, which always fails in it: a static program on musl loads nothing.
    pub opens_in_vain: bool,
    /// It converts texts by musl's `iconv`, which is another than glibc's.
    pub converts: bool,
}

/// What musl's `dlopen` for static programs says (src/ldso/dlopen.c); nothing else of it is linked for anything else.
const IN_VAIN: Text = Text { head: b'D', tail: b"ynamic loading not supported\0" };

/// How musl's table of charsets begins (src/locale/iconv.c), which is linked for nothing but `iconv`.
const CHARSETS: Text = Text { head: b'u', tail: b"tf8\0char\0\0\xc8wchart\0\0\xc6" };

/// A text to look for, the first byte apart from the rest: this program has musl's `dlopen` and `iconv` no more than it calls
/// them, and is not to find them in itself.
struct Text {
    head: u8,
    tail: &'static [u8],
}

impl Text {
    fn is_in(&self, file: &[u8]) -> bool {
        file.find_iter(self.tail).any(|at| at.checked_sub(1).is_some_and(|before| file[before] == self.head))
    }
}

/// One property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Which.
    pub what: &'static str,
    /// What was asked for.
    pub asked: String,
    /// What the file is.
    pub found: String,
    /// Whether both agree. What is not known does not agree.
    pub met: bool,
    /// Whether the file shows it at all.
    pub known: bool,
}

impl Confirmation {
    /// Whether the file is all that was asked for.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.facts.iter().all(|fact| fact.met)
    }
}

/// Reads a file and checks it against what was asked for.
///
/// # Errors
/// If it cannot be read as a program.
pub fn confirm(path: &Path, spec: &Spec, objects: &[LinkObject]) -> Result<Confirmation, BuildError> {
    let file = std::fs::read(path).map_err(BuildError::io(path))?;
    let elf = Elf::read(file.as_slice()).map_err(|error| unreadable(path, &error))?;
    let details = Details::read(file.as_slice(), &elf).map_err(|error| unreadable(path, &error))?;
    let facts = ObjectFacts::from_elf(path.as_os_str().as_bytes(), &elf, &details);
    let facts = facts.map_err(|error| unreadable(path, &error))?;
    let subject = Subject::alone(facts);
    let compat = compat::check(&subject, &[], None);
    let note = details.notes.build.clone();
    let mut facts = held_against(spec, &subject, &compat, note.as_ref());
    let claimed = LinkObject::claimed(objects).into_iter();
    let present: Vec<(&Claim, Presence)> =
        claimed.filter_map(|(object, claim)| Some((claim, presence(&file, &object.bytes)?))).collect();
    if details.notes.abi.is_none() && present.iter().any(|(_, presence)| matches!(presence, Presence::Linked { .. })) {
        facts.iter_mut().for_each(|fact| by_note(fact, spec, note.as_ref()));
    }
    let libc_kind = details.identity.libc.as_ref().map(|libc| libc.kind);
    if libc_kind == Some(LibcKind::NoLibc) && present.iter().any(|(_, presence)| *presence == Presence::NotNeeded) {
        facts.iter_mut().for_each(|fact| without_library(fact, spec, note.as_ref()));
    }
    facts.extend(present.iter().map(|(claim, presence)| linked(claim, presence)));
    let has_of_musl = |text: Text| spec.libc == CLibrary::Musl && spec.linkage.is_static() && text.is_in(&file);
    let (opens_in_vain, converts) = (has_of_musl(IN_VAIN), has_of_musl(CHARSETS));
    let (bytes, debug_bytes) = (file.len() as u64, details.debug_bytes());
    Ok(Confirmation { facts, note, bytes, debug_bytes, opens_in_vain, converts })
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> BuildError {
    BuildError::io(path)(std::io::Error::other(error.to_string()))
}

fn held_against(spec: &Spec, subject: &Subject, compat: &Compat, note: Option<&BuildNote>) -> Vec<Fact> {
    let linkage = match spec.linkage {
        // Not a PIE, which `static` as an expectation would let pass.
        Linkage::Static => Fact {
            what: "linkage",
            asked: "static".to_owned(),
            found: subject.program.linkage.to_string(),
            met: subject.program.linkage == underpin_elf::Linkage::StaticExecutable,
            known: true,
        },
        other => expect("linkage", other.name(), subject, compat, || subject.program.linkage.to_string()),
    };
    let mut facts = vec![
        expect("processor", &format!("arch={}", spec.processor), subject, compat, || spec.processor.to_string()),
        linkage,
        library(spec, subject, compat),
    ];
    facts.extend(allocator(spec, subject, compat));
    facts.extend(level(subject));
    facts.push(claim(note));
    facts
}

/// The C library, and of a dynamic program the oldest glibc that starts it.
fn library(spec: &Spec, subject: &Subject, compat: &Compat) -> Fact {
    let floor = || compat.floors.glibc().map(|floor| format!(" {floor} or newer")).unwrap_or_default();
    match spec.libc {
        CLibrary::Musl => expect("C library", "musl", subject, compat, || "musl".to_owned()),
        CLibrary::Glibc(None) => expect("C library", "glibc", subject, compat, || format!("glibc{}", floor())),
        CLibrary::Glibc(Some(limit)) => {
            let family = expect("C library", "glibc", subject, compat, String::new);
            if !family.met {
                return family;
            }
            expect("C library", &format!("glibc<={limit}"), subject, compat, || format!("glibc{}", floor()))
        }
    }
}

/// A stripped static program may be so small that nothing of musl's texts is in it. Then its note is believed, if code of the
/// objects linked with it is there, which shows that the note is this build's: glibc's start file would have left its own
/// note (`NT_GNU_ABI_TAG`), and nothing else that is linked statically here has none.
fn by_note(fact: &mut Fact, spec: &Spec, note: Option<&BuildNote>) {
    let claimed = note.and_then(|note| note.claim("libc")).filter(|claim| claim.starts_with(b"musl"));
    let Some(claim) = claimed.filter(|_| spec.libc == CLibrary::Musl && spec.linkage.is_static()) else { return };
    if fact.what == "C library" && !fact.known {
        *fact = Fact { found: format!("{claim}, by its note"), met: true, known: true, ..fact.clone() };
    }
}

/// A static program that has nothing of any C library, as its symbols show, and the note of a build for musl: it calls none of
/// its functions, nor the overlay's.
fn without_library(fact: &mut Fact, spec: &Spec, note: Option<&BuildNote>) {
    let is_ours = note.and_then(|note| note.claim("libc")).is_some_and(|claim| claim.starts_with(b"musl"));
    if fact.what == "C library" && is_ours && spec.libc == CLibrary::Musl && spec.linkage.is_static() {
        *fact = Fact { found: "none: nothing of it is needed".to_owned(), met: true, known: true, ..fact.clone() };
    }
}

/// The allocator. A program that never asks for memory has none, which is accepted if none was named.
fn allocator(spec: &Spec, subject: &Subject, compat: &Compat) -> Option<Fact> {
    let of_libc = match spec.libc {
        CLibrary::Musl => "musl",
        CLibrary::Glibc(_) => "glibc",
    };
    let name = match spec.allocator {
        Allocator::System if compat.allocators.iter().any(is_zigs) && spec.goal != Goal::Memory => "zig",
        Allocator::System => of_libc,
        other => other.name(),
    };
    if spec.allocator == Allocator::System && (compat.allocators.is_empty() || !spec.linkage.is_static()) {
        return None;
    }
    Some(expect("allocator", &format!("malloc={name}"), subject, compat, || name.to_owned()))
}

/// It is the system's where zig's C library is the system: musl's own would not be there to take.
fn is_zigs(found: &AllocatorFinding) -> bool {
    found.kind == Some(AllocatorKind::Zig)
}

/// A build that names no processor level must not need a newer processor than the oldest of its architecture.
fn level(subject: &Subject) -> Option<Fact> {
    let level = subject.program.x86_level.filter(|level| *level > IsaLevel::Baseline)?;
    let found = format!("{level} or newer");
    Some(Fact { what: "processor level", asked: "x86-64".to_owned(), found, met: false, known: true })
}

/// Whether an object that the note names is in the file. Its code needs no symbols, so this holds after a strip too.
fn linked(claim: &Claim, presence: &Presence) -> Fact {
    let name = &claim.key;
    let found = match presence {
        Presence::Linked { except } if except.is_empty() => format!("{name} linked in"),
        Presence::Linked { except } => format!("{name} linked in, but another's {}", except.join(", ")),
        Presence::NotNeeded => format!("{name} not needed: the program calls none of its functions"),
        Presence::Replaced(function) => format!("no code of {name}: {function} is another library's"),
        Presence::NotKnown => {
            format!(
                "not known: no code of {name}, and no symbols that show whether any was needed; link it without strip"
            )
        }
    };
    let met = matches!(presence, Presence::Linked { .. } | Presence::NotNeeded);
    let known = *presence != Presence::NotKnown;
    Fact { what: "linked in", asked: format!("{} {}", claim.key, claim.value), found, met, known }
}

fn claim(note: Option<&BuildNote>) -> Fact {
    let missing = || BString::from("no note");
    let found = note.map_or_else(missing, |note| note.claim("build").cloned().unwrap_or_else(missing));
    Fact { what: "note", asked: "present".to_owned(), found: found.to_string(), met: note.is_some(), known: true }
}

/// One of `check --expect`'s expectations; `met` describes what was found if it is met.
fn expect(what: &'static str, text: &str, subject: &Subject, compat: &Compat, met: impl FnOnce() -> String) -> Fact {
    let asked = text.split_once('=').filter(|_| !text.contains('<')).map_or(text, |(_, value)| value).to_owned();
    // Every text is made here from names that expectations have.
    let results = text.parse::<Expectations>().map(|list| list.evaluate(subject, compat)).unwrap_or_default();
    match results.first() {
        Some(result) if result.outcome == ExpectationOutcome::Met => {
            Fact { what, asked, found: met(), met: true, known: true }
        }
        Some(result) => {
            let known = result.outcome != ExpectationOutcome::NotKnown;
            Fact { what, asked, found: result.found.clone(), met: false, known }
        }
        None => Fact { what, asked, found: "not known".to_owned(), met: false, known: false },
    }
}

#[cfg(test)]
mod tests {
    use super::{CHARSETS, IN_VAIN};

    #[test]
    fn a_program_that_only_looks_for_the_texts_of_musl_does_not_have_them() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for text in [IN_VAIN, CHARSETS] {
            assert!(!text.is_in(&own), "{}", text.tail.escape_ascii());
            assert!(!text.is_in(text.tail));
            assert!(text.is_in(&[b"\0", &[text.head], text.tail].concat()));
        }
    }
}
