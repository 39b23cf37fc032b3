//! Small models for the tests, built by hand: no facts about the host, no versions of this machine.

mod bench;
mod check;
mod image_compare;
mod storm;
mod suite;
mod trace;

pub(crate) use bench::*;
pub(crate) use check::*;
pub(crate) use image_compare::*;
pub(crate) use storm::*;
pub(crate) use suite::*;
pub(crate) use trace::*;

use bstr::BString;
use std::collections::BTreeMap;
use underpin_elf::{Class, Endian, FileType, Ident, Machine};
use underpin_resolve::{
    CallCount, CallName, Calls, Closure, Edge, EdgeKind, Finding, FindingKind, Found, LibcVersion, Loader, LoaderKind,
    Object, ObjectId, Outcome, RecognisedBy, SearchDirectory, Severity, Try, TryResult,
};

const IDENT: Ident = Ident {
    class: Class::Elf64,
    endian: Endian::Little,
    machine: Machine::X86_64,
    file_type: FileType::Dynamic,
    os_abi: 0,
    abi_version: 0,
    flags: 0,
};

/// An object; its soname is its file name.
pub(crate) fn object(path: &str, requested_by: Option<usize>, found: Found) -> Object {
    let name = path.rsplit('/').next().unwrap_or(path);
    Object {
        search: Vec::new(),
        path: path.into(),
        real_path: None,
        id: None,
        soname: requested_by.map(|_| name.into()),
        names: requested_by.map(|_| BString::from(name)).into_iter().collect(),
        requested_by: requested_by.map(ObjectId),
        found,
        ident: IDENT,
        size: 1000,
        needed: Vec::new(),
        rpath: None,
        runpath: None,
        no_default_lib: false,
        initialise_first: false,
    }
}

/// Directories of one rule, then those that every search continues with.
fn search_list(own: &[(&str, bool)], source: &Found) -> Vec<SearchDirectory> {
    let system = [("/etc/ld.so.cache", Found::Cache), ("/lib/x86_64-linux-gnu/", Found::DefaultDirectory)];
    let own = own.iter().map(|&(path, exists)| (path, source.clone(), exists));
    own.chain(system.map(|(path, source)| (path, source, true)))
        .map(|(path, source, exists)| SearchDirectory { directory: path.into(), source, exists: Some(exists) })
        .collect()
}

/// A request that `to` satisfies.
pub(crate) fn edge(from: usize, name: &str, to: usize, found: Found) -> Edge {
    Edge {
        from: ObjectId(from),
        kind: EdgeKind::Needed,
        name: name.into(),
        outcome: Outcome::Loaded { object: ObjectId(to), found },
        tries: Vec::new(),
    }
}

/// A path tried.
pub(crate) fn tried(path: &str, source: Found, result: TryResult) -> Try {
    Try { path: path.into(), source, result }
}

pub(crate) fn finding(severity: Severity, object: Option<usize>, kind: FindingKind) -> Finding {
    Finding { severity, object: object.map(ObjectId), kind }
}

pub(crate) fn glibc() -> Loader {
    let mut loader = Loader::none();
    loader.kind = LoaderKind::Glibc;
    loader.path = "/lib64/ld-linux-x86-64.so.2".into();
    loader.version = Some(LibcVersion { major: 2, minor: 99, patch: 0 });
    loader.system_directories = vec!["/lib/x86_64-linux-gnu/".into(), "/usr/lib/x86_64-linux-gnu/".into()];
    loader.lib_token = "lib/x86_64-linux-gnu".into();
    loader.platform = Some("x86_64".into());
    loader.subdirectories = vec!["glibc-hwcaps/x86-64-v2/".into(), "".into()];
    loader.configuration = Some("/etc/ld.so.cache".into());
    loader
}

fn calls() -> Calls {
    let count = |calls, errors| CallCount { calls, errors };
    Calls {
        sequence: None,
        counts: BTreeMap::from([
            (CallName::Openat, count(9, 4)),
            (CallName::Read, count(4, 0)),
            (CallName::Mmap, count(1021, 0)),
            (CallName::Close, count(5, 0)),
        ]),
        modelled: true,
    }
}

const SEEN: Found = Found::AlreadyLoaded { identity: RecognisedBy::Soname };

/// A program in a prefix: two libraries of its own, one from the system, the C library's family, a repeat.
pub(crate) fn prefix_closure() -> Closure {
    let run = Found::Runpath { of: ObjectId(0) };
    let mut program = object("/opt/app/bin/app", None, Found::Program);
    program.runpath = Some("$ORIGIN/../lib:/opt/gone/lib".into());
    let mut core = object("/opt/app/bin/../lib/libcore.so.1", Some(0), run.clone());
    core.rpath = Some("/opt/extra/lib".into());
    program.needed = vec!["libcore.so.1".into(), "libz.so.1".into()];
    core.needed = vec!["libdeep.so".into()];
    program.search = search_list(&[("/opt/app/bin/../lib/", true), ("/opt/gone/lib/", false)], &run);
    core.search = search_list(&[("/opt/extra/lib/", true)], &Found::Rpath { of: ObjectId(1) });
    let objects = vec![
        program,
        core,
        object("/lib/x86_64-linux-gnu/libz.so.1", Some(0), Found::Cache),
        object("/lib/x86_64-linux-gnu/libc.so.6", Some(0), Found::Cache),
        object("/opt/extra/lib/libdeep.so", Some(1), Found::Rpath { of: ObjectId(1) }),
        object("/lib64/ld-linux-x86-64.so.2", Some(0), Found::Interpreter),
    ];
    let mut first = edge(0, "libcore.so.1", 1, run.clone());
    first.tries = vec![tried("/opt/app/bin/../lib/libcore.so.1", run.clone(), TryResult::Taken)];
    let mut zlib = edge(0, "libz.so.1", 2, Found::Cache);
    zlib.tries = vec![
        tried("/opt/app/bin/../lib/libz.so.1", run.clone(), TryResult::NotFound),
        tried("/opt/gone/lib/libz.so.1", run, TryResult::DirectoryMissing),
        tried("/lib/x86_64-linux-gnu/libz.so.1", Found::Cache, TryResult::Taken),
    ];
    Closure {
        program: "/opt/app/bin/app".into(),
        loader: glibc(),
        objects,
        edges: vec![
            first,
            zlib,
            edge(0, "libc.so.6", 3, Found::Cache),
            edge(1, "libdeep.so", 4, Found::Rpath { of: ObjectId(1) }),
            edge(1, "libz.so.1", 2, SEEN),
            edge(1, "libc.so.6", 3, SEEN),
            edge(2, "libc.so.6", 3, SEEN),
            edge(3, "ld-linux-x86-64.so.2", 5, Found::Interpreter),
            edge(4, "libz.so.1", 2, SEEN),
        ],
        findings: vec![
            finding(
                Severity::Warning,
                Some(0),
                FindingKind::DeadDirectory {
                    directory: "/opt/gone/lib".into(),
                    source: Found::Runpath { of: ObjectId(0) },
                },
            ),
            finding(Severity::Note, Some(1), FindingKind::ImportsDlopen),
            finding(Severity::Note, Some(3), FindingKind::ImportsDlopen),
        ],
        calls: calls(),
    }
}

/// A program whose library is not found.
pub(crate) fn broken_closure() -> Closure {
    let run = Found::Runpath { of: ObjectId(0) };
    let mut missing = edge(0, "libgone.so.3", 0, Found::Cache);
    missing.outcome = Outcome::Missing;
    missing.tries = vec![
        tried("/a/rather/long/prefix/of/a/package/store/abcdefghijklmnop/lib/libgone.so.3", run, TryResult::NotFound),
        tried("/lib/i386-linux-gnu/libgone.so.3", Found::Cache, TryResult::OtherClass),
        tried("/lib/x86_64-linux-gnu/libgone.so.3", Found::DefaultDirectory, TryResult::NotFound),
        tried("/usr/lib/x86_64-linux-gnu/libgone.so.3", Found::DefaultDirectory, TryResult::PermissionDenied),
    ];
    Closure {
        program: "./broken".into(),
        loader: glibc(),
        objects: vec![
            object("./broken", None, Found::Program),
            object("/lib/x86_64-linux-gnu/libc.so.6", Some(0), Found::Cache),
        ],
        edges: vec![missing, edge(0, "libc.so.6", 1, Found::Cache)],
        findings: vec![finding(Severity::Error, Some(0), FindingKind::Missing { name: "libgone.so.3".into() })],
        calls: Calls::default(),
    }
}

/// Names that would control the terminal or the page.
pub(crate) fn hostile_closure() -> Closure {
    let mut closure = prefix_closure();
    closure.program = b"/tmp/\x1b[2J\x07</script><script>alert(1)</script>\xff".as_slice().into();
    closure.objects[0].path = closure.program.clone();
    closure.objects[1].soname = Some("\u{1b}]0;owned\u{7}<img src=x onerror=alert(1)>\u{202e}".into());
    closure.edges[0].name = closure.objects[1].soname.clone().unwrap();
    closure.objects[2].path = "/lib/\"onmouseover='x' &amp;\n.so".into();
    closure.findings.push(finding(
        Severity::Warning,
        Some(1),
        FindingKind::CurrentDirectory { entry: "\r\u{9b}31m<b>".into() },
    ));
    closure
}
