//! From the resolver's [`Closure`] to the tree document. Every conversion is total: what a newer model adds becomes
//! `other` with its text, and nothing is lost.

use super::SchemaTag;
use super::tree::*;
use crate::bytes::Raw;
use std::collections::HashMap;
use underpin_elf::Class;
use underpin_resolve::{
    Calls, Closure, Edge, EdgeKind, FatalReason, Found, Loader, LoaderKind, Object, ObjectId, Outcome, RejectRule,
    SearchDirectory, Try, TryResult,
};

impl TreeDocument {
    /// The document of a closure.
    #[must_use]
    pub fn new(closure: &Closure) -> TreeDocument {
        let (searches, search_of) = distinct_searches(&closure.objects);
        let mut objects: Vec<ObjectRecord> = closure.objects.iter().map(ObjectRecord::from).collect();
        for (object, search) in objects.iter_mut().zip(search_of) {
            object.search = search;
        }
        TreeDocument {
            schema: SchemaTag::new(),
            program: Raw::from(&closure.program),
            loader: LoaderRecord::from(&closure.loader),
            objects,
            searches,
            edges: closure.edges.iter().map(EdgeRecord::from).collect(),
            findings: closure.findings.iter().map(|finding| FindingRecord::new(finding, closure)).collect(),
            calls: CallsRecord::from(&closure.calls),
            comparison: None,
        }
    }
}

/// Each distinct search list once, and for each object the index of its own.
fn distinct_searches(objects: &[Object]) -> (Vec<SearchRecord>, Vec<Option<usize>>) {
    let mut known: HashMap<&[SearchDirectory], usize> = HashMap::new();
    let mut searches = Vec::new();
    // Most objects search the same list as the one before: comparing two lists costs less than hashing one.
    let mut last: Option<(&[SearchDirectory], usize)> = None;
    let search_of = objects
        .iter()
        .map(|object| {
            let list = object.search.as_slice();
            if list.is_empty() {
                return None;
            }
            let place = match last {
                Some((before, place)) if before == list => place,
                _ => *known.entry(list).or_insert_with(|| {
                    searches.push(SearchRecord { directories: list.iter().map(SearchDirectoryRecord::from).collect() });
                    searches.len() - 1
                }),
            };
            last = Some((list, place));
            Some(place)
        })
        .collect();
    (searches, search_of)
}

impl From<&SearchDirectory> for SearchDirectoryRecord {
    fn from(directory: &SearchDirectory) -> SearchDirectoryRecord {
        SearchDirectoryRecord {
            path: Raw::from(&directory.directory),
            source: Why::from(&directory.source),
            exists: directory.exists,
        }
    }
}

impl From<&Loader> for LoaderRecord {
    fn from(loader: &Loader) -> LoaderRecord {
        LoaderRecord {
            kind: match loader.kind {
                LoaderKind::Glibc => LoaderFamily::Glibc,
                LoaderKind::Musl => LoaderFamily::Musl,
                LoaderKind::None => LoaderFamily::None,
            },
            path: Raw::from(&loader.path),
            version: loader.version.map(|version| version.to_string()),
            assumed: loader.assumed,
            system_directories: loader.system_directories.iter().map(Raw::from).collect(),
            subdirectories: loader.subdirectories.iter().map(Raw::from).collect(),
            lib_token: Raw::from(&loader.lib_token),
            platform: loader.platform.as_ref().map(Raw::from),
            configuration: loader.configuration.as_ref().map(Raw::from),
        }
    }
}

impl From<&Object> for ObjectRecord {
    fn from(object: &Object) -> ObjectRecord {
        ObjectRecord {
            path: Raw::from(&object.path),
            real_path: object.real_path.as_ref().map(Raw::from),
            soname: object.soname.as_ref().map(Raw::from),
            names: object.names.iter().map(Raw::from).collect(),
            found: Why::from(&object.found),
            requested_by: object.requested_by.map(|ObjectId(index)| index),
            machine: object.ident.machine.to_string(),
            class_bits: match object.ident.class {
                Class::Elf32 => 32,
                Class::Elf64 => 64,
            },
            bytes: object.size,
            needed: object.needed.iter().map(Raw::from).collect(),
            rpath: object.rpath.as_ref().map(Raw::from),
            runpath: object.runpath.as_ref().map(Raw::from),
            no_default_lib: object.no_default_lib,
            search: None,
        }
    }
}

impl From<&Found> for Why {
    fn from(found: &Found) -> Why {
        let (by, of) = match found {
            Found::Program => (FoundBy::Program, None),
            Found::Interpreter => (FoundBy::Interpreter, None),
            Found::Direct => (FoundBy::Direct, None),
            Found::Rpath { of } => (FoundBy::Rpath, Some(of.0)),
            Found::Runpath { of } => (FoundBy::Runpath, Some(of.0)),
            Found::LibraryPath => (FoundBy::LibraryPath, None),
            Found::Cache => (FoundBy::Cache, None),
            Found::DefaultDirectory => (FoundBy::DefaultDirectory, None),
            Found::PathFile => (FoundBy::PathFile, None),
            Found::AlreadyLoaded { .. } => (FoundBy::AlreadyLoaded, None),
            Found::Reserved => (FoundBy::Reserved, None),
            _ => (FoundBy::Other, None),
        };
        Why { by, of, text: found.to_string() }
    }
}

impl From<EdgeKind> for RequestKind {
    fn from(kind: EdgeKind) -> RequestKind {
        match kind {
            EdgeKind::Needed => RequestKind::Needed,
            EdgeKind::Filter => RequestKind::Filter,
            EdgeKind::Auxiliary => RequestKind::Auxiliary,
            EdgeKind::LdPreload => RequestKind::LdPreload,
            EdgeKind::EtcPreload => RequestKind::EtcPreload,
            EdgeKind::Interpreter => RequestKind::Interpreter,
        }
    }
}

impl From<&Edge> for EdgeRecord {
    fn from(edge: &Edge) -> EdgeRecord {
        let mut record = EdgeRecord {
            from: edge.from.0,
            kind: edge.kind.into(),
            name: Raw::from(&edge.name),
            result: EdgeResult::Missing,
            object: None,
            why: None,
            path: None,
            reason: None,
            tries: edge.tries.iter().map(TryRecord::from).collect(),
        };
        match &edge.outcome {
            Outcome::Loaded { object, found } => {
                record.result = EdgeResult::Loaded;
                record.object = Some(object.0);
                record.why = Some(Why::from(found));
            }
            Outcome::Missing => {}
            Outcome::Ignored { reason } => {
                record.result = EdgeResult::Ignored;
                record.reason = Some(reason.clone());
            }
            Outcome::Fatal { path, reason } => {
                record.result = EdgeResult::Fatal;
                record.path = Some(Raw::from(path));
                record.reason = Some(fatal_words(reason));
            }
        }
        record
    }
}

impl From<&Try> for TryRecord {
    fn from(tried: &Try) -> TryRecord {
        let (result, text) = match &tried.result {
            TryResult::Taken => (TryOutcome::Taken, "taken".to_owned()),
            TryResult::NotFound => (TryOutcome::NotFound, "no such file".to_owned()),
            TryResult::DirectoryMissing => (TryOutcome::DirectoryMissing, "no such directory".to_owned()),
            TryResult::OtherClass => (TryOutcome::OtherClass, "skipped: other class".to_owned()),
            TryResult::OtherMachine => (TryOutcome::OtherMachine, "skipped: other machine".to_owned()),
            TryResult::PermissionDenied => (TryOutcome::PermissionDenied, "skipped: permission denied".to_owned()),
            TryResult::Rejected { rule } => (TryOutcome::Rejected, format!("skipped: {}", rule_words(*rule))),
            TryResult::Failed { error } => (TryOutcome::Failed, format!("open fails: {error}")),
            TryResult::Fatal { reason } => (TryOutcome::Fatal, format!("the loader stops: {}", fatal_words(reason))),
        };
        TryRecord { path: Raw::from(&tried.path), source: Why::from(&tried.source), result, text }
    }
}

fn rule_words(rule: RejectRule) -> &'static str {
    match rule {
        RejectRule::NoDefaultLib => "DF_1_NODEFLIB forbids system directories",
        RejectRule::NotSetUserId => "secure-execution mode wants a set-user-ID file",
        RejectRule::AbiNote => "its ABI note asks for another system or a newer kernel",
    }
}

/// What is wrong with the file at which the loader stops, as a clause.
pub(super) fn fatal_words(reason: &FatalReason) -> String {
    match reason {
        FatalReason::TooShort => "file too short for an ELF header".to_owned(),
        FatalReason::NotElf => "not an ELF file".to_owned(),
        FatalReason::Directory => "it is a directory".to_owned(),
        FatalReason::WrongByteOrder => "wrong byte order".to_owned(),
        FatalReason::WrongType => "neither a shared object nor an executable".to_owned(),
        FatalReason::Executable => "an executable cannot be loaded as a library".to_owned(),
        FatalReason::BadHeader { detail } => format!("bad ELF header: {detail}"),
        FatalReason::NoDynamicSection => "no dynamic section (separate debug information?)".to_owned(),
        FatalReason::WouldBlock => "it is a FIFO: the loader would wait for a writer".to_owned(),
        FatalReason::TokenInSecureMode => "a token in DT_NEEDED is refused in secure-execution mode".to_owned(),
        FatalReason::EmptyToken => "a token without a value leaves an empty name".to_owned(),
        FatalReason::Open { error } => format!("open fails: {error}"),
        other => format!("{other:?}"),
    }
}

impl From<&Calls> for CallsRecord {
    fn from(calls: &Calls) -> CallsRecord {
        CallsRecord {
            modelled: calls.modelled,
            counts: calls
                .counts
                .iter()
                .map(|(name, count)| CallCountRecord {
                    name: name.to_string(),
                    calls: count.calls,
                    errors: count.errors,
                })
                .collect(),
        }
    }
}
