//! What the user should know about a closure: missing and accidental objects, shadowed copies, symbol versions, loading
//! at run time.
//!
//! The cheap ones follow from the resolution itself. The others ([`Depth::Findings`]) look again at files that the
//! loader would not have touched, and never change what was resolved.

use crate::closure::{
    Finding, FindingKind, Found, ObjectId, Outcome, RecognisedBy, SearchDirectory, Severity, TryResult,
};
use crate::files::Files;
use crate::hash::{HashMap, HashSet};
use crate::loader::{Loader, LoaderKind};
use crate::resolution::{Depth, Program, Resolution};
use crate::tokens::directory_of;
use crate::unique::Unique;
use bstr::{BStr, BString, ByteSlice};
use std::collections::BTreeSet;
use underpin_elf::{DlopenPriority, LinkFacts, Notes, SegmentKind};

/// From this many findings on, a directory is listed once instead of being searched for single names.
const MANY_MISSING: usize = 64;

struct Collector<'a> {
    files: &'a Files<'a>,
    resolution: &'a Resolution,
    is_glibc: bool,
    findings: Unique<Finding>,
    /// Directories of ld.so.conf, once they are asked for.
    configured: Option<Vec<BString>>,
}

pub(crate) fn collect(
    files: &Files<'_>,
    loader: &Loader,
    program: &Program,
    resolution: &Resolution,
    depth: Depth,
) -> Vec<Finding> {
    let is_glibc = loader.kind == LoaderKind::Glibc;
    let mut collector = Collector { files, resolution, is_glibc, findings: Unique::default(), configured: None };
    collector.interpreter(loader, program);
    collector.edges();
    collector.directories();
    collector.objects();
    if is_glibc {
        collector.versions();
    }
    if depth != Depth::Load {
        collector.copies_passed_over();
        if is_glibc {
            collector.accidents();
        }
        collector.run_time();
    }
    let mut findings = collector.findings.into_vec();
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// Whether a file is for the processor of the program.
fn is_for_processor_of(files: &Files<'_>, program: Option<&BString>, path: &BString) -> bool {
    let processor = |path: &BString| {
        let facts = files.open(path.as_ref()).ok()?;
        let ident = facts.elf.as_ref().ok()?.ident;
        Some((ident.class, ident.machine))
    };
    program.and_then(processor).is_none_or(|ours| processor(path) == Some(ours))
}

impl Collector<'_> {
    fn add(&mut self, severity: Severity, object: Option<ObjectId>, kind: FindingKind) {
        self.findings.insert(Finding { severity, object, kind });
    }

    fn interpreter(&mut self, loader: &Loader, program: &Program) {
        if loader.kind != LoaderKind::None && self.files.stat(loader.path.as_ref()).is_err() {
            let severity = if program.is_library { Severity::Note } else { Severity::Error };
            self.add(severity, Some(ObjectId(0)), FindingKind::MissingInterpreter { path: loader.path.clone() });
        }
    }

    /// Misses, fatal files, stale cache entries, relative names.
    fn edges(&mut self) {
        for edge in &self.resolution.edges {
            let (from, name) = (Some(edge.from), edge.name.clone());
            match &edge.outcome {
                Outcome::Missing => {
                    self.add(Severity::Error, from, FindingKind::Missing { name: name.clone() });
                    self.not_in_cache(from, &name);
                }
                Outcome::Fatal { path, reason } => {
                    let (path, reason) = (path.clone(), reason.clone());
                    self.add(Severity::Error, from, FindingKind::FatalFile { name: name.clone(), path, reason });
                }
                Outcome::Loaded { .. } | Outcome::Ignored { .. } => {}
            }
            if name.contains(&b'/') && !name.starts_with(b"/") && !name.starts_with(b"$") {
                self.add(Severity::Warning, from, FindingKind::CurrentDirectory { entry: name.clone() });
            }
            for one in edge.tries.iter().filter(|one| one.source == Found::Cache && one.result == TryResult::NotFound) {
                let path = one.path.clone();
                self.add(Severity::Warning, None, FindingKind::StaleCache { name: name.clone(), path });
            }
        }
    }

    /// Where ldconfig would have found a missing library: an image in which it was never run is a common reason.
    fn not_in_cache(&mut self, from: Option<ObjectId>, name: &BString) {
        if !self.is_glibc || name.contains(&b'/') {
            return;
        }
        let root = self.files.root();
        let (files, program) = (self.files, self.resolution.objects.first().map(|program| &program.path));
        let directories =
            self.configured.get_or_insert_with(|| crate::conf::directories(root, "/etc/ld.so.conf".into()));
        let mut paths =
            directories.iter().map(|directory| BString::from([directory.as_slice(), b"/", name.as_slice()].concat()));
        // Listing a directory costs more than a few lookups and less than many.
        let many = self.findings.len() > MANY_MISSING;
        let may_hold = |path: &BString| !many || self.files.names_in(directory_of(path).as_ref()).contains(name);
        let is_there = |path: &BString| {
            may_hold(path) && self.files.stat(path.as_ref()).is_ok() && is_for_processor_of(files, program, path)
        };
        if let Some(path) = paths.find(is_there) {
            self.add(Severity::Error, from, FindingKind::NotInCache { name: name.clone(), path });
        }
    }

    fn directories(&mut self) {
        for dead in &self.resolution.dead_directories {
            let object = match dead.source {
                Found::Rpath { of } | Found::Runpath { of } => Some(of),
                _ => None,
            };
            let directory = dead.directory.clone();
            if dead.depends_on_cwd {
                self.add(Severity::Warning, object, FindingKind::CurrentDirectory { entry: directory });
            } else {
                let source = dead.source.clone();
                self.add(Severity::Note, object, FindingKind::DeadDirectory { directory, source });
            }
        }
    }

    /// Pinned variants, `$ORIGIN` through a link, two objects of one soname.
    fn objects(&mut self) {
        let mut sonames: HashMap<&BString, ObjectId> = HashMap::default();
        for (index, object) in self.resolution.objects.iter().enumerate() {
            let id = ObjectId(index);
            if object.path.contains_str("/glibc-hwcaps/") {
                self.add(Severity::Note, Some(id), FindingKind::HwcapsVariant { path: object.path.clone() });
            }
            let Some(dynamic) = object.dynamic() else { continue };
            if let Some(soname) = dynamic.soname.as_ref().filter(|_| index > 0) {
                match sonames.get(soname) {
                    Some(&other) => {
                        let kind = FindingKind::DuplicateSoname { soname: soname.clone(), other };
                        self.add(Severity::Warning, Some(id), kind);
                    }
                    None => {
                        sonames.insert(soname, id);
                    }
                }
            }
            let uses_origin =
                [&dynamic.rpath, &dynamic.runpath].into_iter().flatten().any(|path| path.contains_str("ORIGIN"));
            if index > 0 && uses_origin && self.is_elsewhere(object.path.as_ref()) {
                self.add(Severity::Warning, Some(id), FindingKind::OriginThroughSymlink { path: object.path.clone() });
            }
        }
    }

    /// Whether the file behind a path is in another directory than the path says.
    fn is_elsewhere(&self, path: &BStr) -> bool {
        let real = self.files.real_path(path).map(|real| directory_of(&real));
        real.is_ok() && real != self.files.root().real_path(directory_of(path).as_ref())
    }

    /// Other files of the same name further down the path of the same request.
    fn copies_passed_over(&mut self) {
        // Most requests were found by the same rule in the same place as the one before.
        let mut last: Option<(&[SearchDirectory], &Found, BString, Vec<BString>)> = None;
        for edge in &self.resolution.edges {
            let Outcome::Loaded { object, found } = &edge.outcome else { continue };
            if matches!(found, Found::AlreadyLoaded { .. } | Found::Direct | Found::Reserved | Found::Interpreter) {
                continue;
            }
            let taken = &self.resolution.objects[object.0];
            let list = self.resolution.search.get(edge.from.0).map_or(&[][..], Vec::as_slice);
            let own = directory_of(taken.path.as_ref());
            let behind = match &last {
                Some(last) if (last.0, last.1, &last.2) == (list, found, &own) => &last.3,
                _ => {
                    let behind = self.directories_behind(list, found, own.as_ref());
                    &last.insert((list, found, own, behind)).3
                }
            };
            let mut seen = Vec::new();
            for directory in behind {
                if !self.files.names_in(directory.as_ref()).contains(&edge.name) {
                    continue;
                }
                let path: BString = [directory.as_slice(), b"/", edge.name.as_slice()].concat().into();
                let Ok(meta) = self.files.stat(path.as_ref()) else { continue };
                let is_taken = taken.facts.as_ref().is_some_and(|facts| facts.meta.id == meta.id);
                if !is_taken && !seen.contains(&meta.id) {
                    seen.push(meta.id);
                    let (name, taken) = (edge.name.clone(), taken.path.clone());
                    let kind = FindingKind::Shadowed { name, taken, shadowed: path };
                    self.add(Severity::Note, Some(edge.from), kind);
                }
            }
        }
    }

    /// Directories that a search through `list` would have reached after `own`, where it found the object: by their
    /// real names, each once and without `own`.
    fn directories_behind(&self, list: &[SearchDirectory], found: &Found, own: &BStr) -> Vec<BString> {
        let trimmed = |directory: &'_ BString| BString::from(directory.trim_end_with(|letter| letter == '/'));
        // What the cache found is in no directory before it; after it come the default directories.
        let place = list
            .iter()
            .position(|entry| entry.source == *found && (*found == Found::Cache || trimmed(&entry.directory) == own));
        let Some(place) = place else { return Vec::new() };
        let real_own = self.files.real_directory(own);
        let mut behind = Unique::default();
        for entry in
            list[place + 1..].iter().filter(|entry| entry.exists != Some(false) && entry.source != Found::Cache)
        {
            let Some(real) = self.files.real_directory(trimmed(&entry.directory).as_ref()) else { continue };
            if Some(&real) != real_own.as_ref() {
                behind.insert(real);
            }
        }
        behind.into_vec()
    }

    /// Requests that succeed only because another object had already brought the file in.
    fn accidents(&mut self) {
        for edge in &self.resolution.edges {
            let Outcome::Loaded { object, found: Found::AlreadyLoaded { identity } } = &edge.outcome else { continue };
            let by_name = matches!(identity, RecognisedBy::Name | RecognisedBy::Soname);
            let loaded = &self.resolution.objects[object.0];
            if !by_name || edge.name.contains(&b'/') || loaded.found == Found::Interpreter || object.0 == 0 {
                continue;
            }
            if matches!(loaded.found, Found::Cache | Found::DefaultDirectory | Found::LibraryPath) {
                continue;
            }
            let list = self.resolution.search.get(edge.from.0).map_or(&[][..], Vec::as_slice);
            if !self.would_be_found(list, edge.name.as_ref()) {
                let thanks_to = loaded.requested_by.unwrap_or(ObjectId(0));
                let kind = FindingKind::Accidental { name: edge.name.clone(), thanks_to };
                self.add(Severity::Warning, Some(edge.from), kind);
            }
        }
    }

    fn would_be_found(&self, list: &[SearchDirectory], name: &BStr) -> bool {
        let in_cache = self.resolution.cache.as_ref().is_some_and(|cache| cache.lookup(name).is_some());
        in_cache
            || list.iter().any(|entry| {
                let path: BString = [entry.directory.as_slice(), name].concat().into();
                self.files.stat(path.as_ref()).is_ok()
            })
    }

    /// Imports of dlopen, `.note.dlopen`.
    fn run_time(&mut self) {
        for (index, object) in self.resolution.objects.iter().enumerate() {
            let is_libc = object.found == Found::Interpreter;
            if !is_libc && object.facts.as_ref().is_some_and(|facts| facts.imports_dlopen()) {
                self.add(Severity::Note, Some(ObjectId(index)), FindingKind::ImportsDlopen);
            }
            self.dlopen_notes(ObjectId(index));
        }
    }

    /// `_dl_check_map_versions` (glibc elf/dl-version.c). An object without definitions satisfies everything, with a
    /// warning of the loader; a weak need does not stop it.
    fn versions(&mut self) {
        // At a file that stops it, the loader does not get to the versions: missing ones would be a consequence
        // reported as a cause.
        if self.resolution.edges.iter().any(|edge| matches!(edge.outcome, Outcome::Fatal { .. })) {
            return;
        }
        let facts: Vec<Option<&LinkFacts>> =
            self.resolution.objects.iter().map(|object| object.facts.as_ref()?.link()).collect();
        let missing: BTreeSet<&BString> = {
            let lost = |edge: &&crate::closure::Edge| edge.outcome == Outcome::Missing;
            self.resolution.edges.iter().filter(lost).map(|edge| &edge.name).collect()
        };
        // A name means the first object of the chain that has it (glibc elf/dl-misc.c `_dl_name_match_p`).
        let mut bearers: HashMap<&BString, usize> = HashMap::default();
        for (index, object) in self.resolution.objects.iter().enumerate() {
            for name in std::iter::once(&object.path).chain(&object.names) {
                bearers.entry(name).or_insert(index);
            }
        }
        let mut found = Vec::new();
        let mut defined: HashMap<usize, HashSet<&BString>> = HashMap::default();
        for (index, own) in facts.iter().enumerate() {
            let Some(own) = own else { continue };
            for need in &own.version_needs {
                let provider = bearers.get(&need.file).copied();
                let kind = match provider {
                    None if missing.contains(&need.file) => continue,
                    None => FindingKind::VersionFileUnknown { file: need.file.clone() },
                    Some(provider) => {
                        let definitions = facts[provider].map_or(&[][..], |facts| &facts.version_definitions);
                        let names = defined
                            .entry(provider)
                            .or_insert_with(|| definitions.iter().map(|definition| &definition.name).collect());
                        let satisfied = names.is_empty() || names.contains(&need.version);
                        if satisfied || need.weak_flag {
                            continue;
                        }
                        FindingKind::MissingVersion { file: need.file.clone(), version: need.version.clone() }
                    }
                };
                found.push((ObjectId(index), kind));
            }
        }
        for (object, kind) in found {
            self.add(Severity::Error, Some(object), kind);
        }
    }

    fn dlopen_notes(&mut self, id: ObjectId) {
        let object = &self.resolution.objects[id.0];
        let Some((facts, elf)) = object.facts.as_ref().and_then(|facts| Some((facts, facts.elf.as_ref().ok()?))) else {
            return;
        };
        // Files with such notes have a PT_NOTE beyond the usual two; only these are read in full.
        if elf.segments.iter().filter(|segment| segment.kind == SegmentKind::Note).all(|note| note.file_size < 128) {
            return;
        }
        let Ok(notes) = Notes::read(&*facts.source, elf) else { return };
        for note in notes.dlopen {
            let priority = match note.priority {
                DlopenPriority::Required => "required",
                DlopenPriority::Recommended => "recommended",
                DlopenPriority::Suggested => "suggested",
            };
            let kind =
                FindingKind::DlopenNote { feature: note.feature, priority: priority.to_owned(), sonames: note.sonames };
            self.add(Severity::Note, Some(id), kind);
        }
    }
}
