//! Which events belong to which library: the lookups before it was found, its mapping, its share of the relocation.
//!
//! A library is a file that the watched process itself opened and mapped, at least once executable. What the kernel
//! mapped at exec (the program, its loader) is not one.

use crate::{CallOutcome, Event, FailedTry, LibraryLoad, MissingLibrary, Nanos, PathText, PhaseKind};
use bstr::ByteSlice;
use std::ops::Range;
use underpin_sys::RawPid;

/// What the events show about libraries.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) libraries: Vec<LibraryLoad>,
    pub(crate) program_relocate: Option<Nanos>,
    pub(crate) missing: Vec<MissingLibrary>,
}

/// A file that was opened and may turn out to be a library.
struct Candidate {
    load: LibraryLoad,
    range: Range<u64>,
    executable: bool,
}

struct Finder<'a> {
    candidates: Vec<Candidate>,
    /// Failed lookups that no library has claimed yet.
    unclaimed: Vec<&'a Event>,
    program: &'a Range<u64>,
    program_relocate: Option<Nanos>,
    /// When the share of the next RELRO `mprotect` begins, and whether there was one before.
    mark: Nanos,
    relocating: bool,
}

pub(crate) fn find(events: &[Event], leader: RawPid, program: &Range<u64>) -> Loaded {
    let mut finder = Finder {
        candidates: Vec::new(),
        unclaimed: Vec::new(),
        program,
        program_relocate: None,
        mark: Nanos(0),
        relocating: false,
    };
    for event in events.iter().filter(|event| event.pid.0 == leader) {
        finder.take(event);
    }
    let missing = missing(&finder.unclaimed, &finder.candidates);
    let libraries = finder.candidates.into_iter().filter(|found| found.executable).map(|found| found.load).collect();
    Loaded { libraries, program_relocate: finder.program_relocate, missing }
}

impl<'a> Finder<'a> {
    fn take(&mut self, event: &'a Event) {
        match event.name() {
            _ if event.failed_lookup() => self.unclaimed.push(event),
            "open" | "openat" | "openat2" if !event.failed() => self.opened(event),
            "mmap" if !event.failed() => self.mapped(event),
            "mprotect" if !event.failed() => self.protected(event),
            "close" | "read" | "pread64" | "fstat" | "newfstatat" | "fcntl" if event.by_descriptor => {
                if let Some(candidate) = self.current(event.path.as_ref()) {
                    candidate.load.map = event.end() - candidate.load.opened;
                }
            }
            _ => {}
        }
        if !self.relocating {
            self.mark = event.end();
        }
    }

    fn opened(&mut self, event: &Event) {
        let Some(path) = &event.path else { return };
        if self.candidates.iter().any(|known| known.load.path == *path && known.executable) {
            return;
        }
        self.candidates.retain(|known| known.load.path != *path);
        let load = LibraryLoad {
            name: PathText::new(path.file_name()),
            path: path.clone(),
            phase: event.phase,
            failed: Vec::new(),
            search: Nanos(0),
            opened: event.start,
            map: event.duration,
            mappings: 0,
            relocate: None,
        };
        self.candidates.push(Candidate { load, range: 0..0, executable: false });
    }

    /// The candidate with this path: usually the last one opened.
    fn current(&mut self, path: Option<&PathText>) -> Option<&mut Candidate> {
        let path = path?;
        self.candidates.iter_mut().rev().find(|candidate| candidate.load.path == *path)
    }

    fn mapped(&mut self, event: &Event) {
        let Some(mapping) = event.mapping() else { return };
        let memory = mapping.address..mapping.address.saturating_add(mapping.length);
        if mapping.anonymous() {
            // The zeroed end of a data segment, mapped over the end of the library's range.
            let last = self.candidates.last_mut().filter(|found| found.range.contains(&memory.start));
            if let Some(candidate) = last {
                candidate.load.map = event.end() - candidate.load.opened;
            }
            return;
        }
        let Some(candidate) = self.current(event.path.as_ref()) else { return };
        if candidate.range.is_empty() {
            candidate.range = memory;
        }
        candidate.load.mappings += 1;
        candidate.load.map = event.end() - candidate.load.opened;
        if mapping.executable() && !candidate.executable {
            candidate.executable = true;
            let (name, opened) = (candidate.load.name.clone(), candidate.load.opened);
            let failed = self.claim(&name, opened);
            if let Some(candidate) = self.current(event.path.as_ref()) {
                candidate.load.search = failed.iter().fold(Nanos(0), |sum, failed| sum + failed.duration);
                candidate.load.failed = failed;
            }
        }
    }

    /// The failed lookups that led to a library: those for its name, and those for the directories tried (the loader
    /// checks once whether a directory exists).
    fn claim(&mut self, name: &PathText, before: Nanos) -> Vec<FailedTry> {
        let of_name = |event: &&Event| path_of(event).file_name() == name.bytes() && event.start <= before;
        let named: Vec<&Event> = self.unclaimed.iter().copied().filter(of_name).collect();
        let Some(first) = named.first().map(|event| event.start) else { return Vec::new() };
        let probed = |event: &Event| {
            event.start >= first
                && event.start <= before
                && named
                    .iter()
                    .any(|tried| path_of(tried).directory() == path_of(event).bytes().trim_end_with(|c| c == '/'))
        };
        let (claimed, rest): (Vec<&Event>, Vec<&Event>) =
            self.unclaimed.iter().partition(|event| of_name(event) || probed(event));
        self.unclaimed = rest;
        claimed.into_iter().map(as_try).collect()
    }

    fn protected(&mut self, event: &Event) {
        const PROT_READ: u64 = 1;
        let [address, _, protection, ..] = event.args;
        if event.phase != PhaseKind::Loader || protection != PROT_READ {
            return;
        }
        let share = event.end() - self.mark;
        if self.program.contains(&address) {
            self.program_relocate = Some(share);
        } else if let Some(found) = self.candidates.iter_mut().find(|found| found.range.contains(&address)) {
            found.load.relocate = Some(share);
        }
        self.relocating = true;
        self.mark = event.end();
    }
}

fn path_of(event: &Event) -> &PathText {
    // Failed lookups have a path; see `Event::failed_lookup`.
    static EMPTY: std::sync::LazyLock<PathText> = std::sync::LazyLock::new(|| PathText::new(b""));
    event.path.as_ref().unwrap_or(&EMPTY)
}

fn as_try(event: &Event) -> FailedTry {
    let errno = match event.outcome {
        CallOutcome::Failed(errno) => errno,
        _ => crate::Errno::NOENT,
    };
    FailedTry { path: path_of(event).clone(), call: event.call, errno, duration: event.duration }
}

/// Names of libraries that the program tried to open and never found. The check whether a directory exists, which
/// follows the failed try in it, counts for that name too.
fn missing(unclaimed: &[&Event], found: &[Candidate]) -> Vec<MissingLibrary> {
    let mut out: Vec<MissingLibrary> = Vec::new();
    for event in unclaimed {
        if !matches!(event.name(), "open" | "openat" | "openat2") {
            let directory = path_of(event).bytes().trim_end_with(|letter| letter == '/');
            let in_it = |tried: &FailedTry| tried.path.directory().trim_end_with(|letter| letter == '/') == directory;
            if let Some(asked) = out.iter_mut().rev().find(|known| known.failed.last().is_some_and(in_it)) {
                asked.failed.push(as_try(event));
            }
            continue;
        }
        let name = PathText::new(path_of(event).file_name());
        if !is_library_name(name.bytes()) || found.iter().any(|known| known.load.name == name && known.executable) {
            continue;
        }
        match out.iter_mut().find(|known| known.name == name) {
            Some(known) => known.failed.push(as_try(event)),
            None => out.push(MissingLibrary { name, phase: event.phase, failed: vec![as_try(event)] }),
        }
    }
    out
}

/// `NAME.so` or `NAME.so.1...`: not `ld.so.cache` or `ld.so.preload`.
fn is_library_name(name: &[u8]) -> bool {
    match name.rfind(".so") {
        Some(at) => match &name[at + 3..] {
            [] => true,
            [b'.', version, ..] => version.is_ascii_digit(),
            _ => false,
        },
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_own_files_are_no_libraries() {
        for (name, library) in
            [("libz.so.1", true), ("libx.so", true), ("ld.so.cache", false), ("ld.so.preload", false), ("x.c", false)]
        {
            assert_eq!(is_library_name(name.as_bytes()), library, "{name}");
        }
    }
}
