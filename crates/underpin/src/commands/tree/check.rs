//! `tree --check`: the predicted calls beside those of a real start, up to `main`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use underpin_report::document::tree::CallsRecord;
use underpin_report::{CallComparison, CallCountRecord};
use underpin_resolve::{CallName, Environment};
use underpin_trace::{CallSet, Event, Mapping, Session, Then, Trace, TraceOptions, Until};

/// Starts the program under the tracer, kills it before `main` runs, and compares the counts.
///
/// # Errors
/// If it cannot be started or traced.
pub fn compare(
    program: &Path,
    arguments: &[OsString],
    predicted: &CallsRecord,
    environment: &Environment,
) -> anyhow::Result<CallComparison> {
    let program = program.canonicalize()?;
    let command = std::iter::once(program.into_os_string()).chain(arguments.iter().cloned());
    let options = TraceOptions {
        env: variables(environment),
        until: Until::Main,
        then: Then::Kill,
        calls: CallSet::Default,
        output: underpin_trace::Output::Null,
        ..TraceOptions::new(command)
    };
    let trace = Session::new(options).run()?;
    Ok(CallComparison::new(predicted, measured(&trace)))
}

/// The calls that the models predict: everything that searches, opens, reads, stats, maps or closes an object.
const MODELLED: [CallName; 16] = [
    CallName::Access,
    CallName::Close,
    CallName::Faccessat,
    CallName::Fcntl,
    CallName::Fstat,
    CallName::Mmap,
    CallName::Mprotect,
    CallName::Munmap,
    CallName::Newfstatat,
    CallName::Open,
    CallName::Openat,
    CallName::Pread64,
    CallName::Read,
    CallName::Readlink,
    CallName::Readlinkat,
    CallName::Stat,
];

/// The loader's calls by name.
fn measured(trace: &Trace) -> Vec<CallCountRecord> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let objects = Spans::of(trace);
    for event in trace.loader_events().filter(|event| objects.hold(event)).chain(farewell(trace, &objects)) {
        let count = counts.entry(event.name()).or_default();
        count.0 += 1;
        count.1 += u64::from(event.failed());
    }
    let record = |(name, (calls, errors)): (&str, (u64, u64))| CallCountRecord { name: name.to_owned(), calls, errors };
    counts.into_iter().map(record).collect()
}

/// The addresses of the objects that the loader mapped.
struct Spans(Vec<(u64, u64)>);

impl Spans {
    fn of(trace: &Trace) -> Spans {
        let files = trace.loader_events().filter_map(Event::mapping).filter(|mapping| !mapping.anonymous());
        Spans(files.map(|mapping| (mapping.address, mapping.address.saturating_add(mapping.length))).collect())
    }

    /// Whether the models predict a call. They leave out the growth of the loader's own heap, which depends on the
    /// length of strings and not on files; memory inside an object (its bss), or reserved for one, is included.
    fn hold(&self, event: &Event) -> bool {
        MODELLED.iter().any(|name| name.as_str() == event.name())
            && event.mapping().filter(Mapping::anonymous).is_none_or(|mapping| {
                const MAP_FIXED: u32 = 0x10;
                let inside = self.0.iter().any(|(start, end)| (*start..*end).contains(&mapping.address));
                if mapping.flags & MAP_FIXED != 0 { inside } else { mapping.protection == 0 }
            })
    }
}

/// glibc's last call, after the relocation and before any initialiser: it unmaps ld.so.cache.
fn farewell<'t>(trace: &'t Trace, objects: &Spans) -> Option<&'t Event> {
    let ready = trace.instants.loader_ready?;
    let first = trace.tasks.first()?.tid;
    let mut later = trace.events.iter().filter(|event| event.tid == first && event.start >= ready);
    later.find(|event| objects.hold(event)).filter(|event| event.name() == CallName::Munmap.as_str())
}

/// The variables that the prediction was made for, so that both describe the same start.
fn variables(environment: &Environment) -> Vec<(OsString, Option<OsString>)> {
    [
        ("LD_LIBRARY_PATH", &environment.library_path),
        ("LD_PRELOAD", &environment.preload),
        ("GLIBC_TUNABLES", &environment.tunables),
    ]
    .map(|(name, value)| (name.into(), value.as_ref().map(|value| OsString::from_vec(value.to_vec()))))
    .to_vec()
}
