use crate::document::storm::{FileSystemRecord, StormBinding, StormCase};
use crate::units::time;
use crate::{Raw, StormDocument, StormInput, markdown, text};
use proptest::prelude::*;
use std::time::Duration;
use underpin_resolve::storm::{FileSystem, FileSystemTable, MODEL_DOUBT, NodeDemand, Operations, StormJob, estimate};

/// Failing lookups, opens and reads of a start.
type Start = (u64, u64, u64);

fn demand((absent, opens, reads): Start) -> NodeDemand {
    let next = Operations { lookups: absent + opens, absent, opens, ..Operations::default() };
    NodeDemand { first: Operations { reads, bytes: reads << 16, ..next }, next, directories: opens }
}

fn input(name: &str, binding: Option<StormBinding>, start: Start, job: &StormJob, fs: &FileSystem) -> StormInput {
    let demand = demand(start);
    StormInput {
        name: name.to_owned(),
        binding,
        program: "/opt/tree/bin/app".into(),
        changes: vec!["/opt/tree/bin/app".into(), "/opt/tree/lib/liba.so".into()],
        objects: 3,
        modelled: true,
        demand,
        estimate: estimate(&demand, job, fs),
        following: estimate(&demand.following(), job, fs),
    }
}

const BINDINGS: [StormBinding; 3] = [StormBinding::Bind, StormBinding::Flatten, StormBinding::Farm];

fn document(
    now: Start,
    bindings: [Option<Start>; 3],
    compared: Option<Start>,
    job: &StormJob,
    fs: &FileSystem,
) -> StormDocument {
    let mut cases = vec![input("as it is", None, now, job, fs)];
    for (kind, start) in BINDINGS.into_iter().zip(bindings) {
        cases.extend(start.map(|start| input(kind.words(), Some(kind), start, job, fs)));
    }
    // Another program may have the name of a binding.
    cases.extend(compared.map(|start| input("bound", None, start, job, fs)));
    let record = FileSystemRecord::new(fs, FileSystemTable::embedded(), vec!["/".into()], &[]);
    StormDocument::new("/opt/tree/bin/app".into(), job, record, cases, Vec::new())
}

/// The binding that the advised command would carry out.
fn advised(document: &StormDocument) -> Option<&StormCase> {
    let command = document.advice.first()?.command.as_deref()?;
    let kind = match command.split(' ').nth(2)? {
        "--dry-run" => return None,
        "--flatten" => StormBinding::Flatten,
        "--farm" => StormBinding::Farm,
        _ => StormBinding::Bind,
    };
    document.cases.iter().find(|case| case.binding == Some(kind))
}

fn start() -> impl Strategy<Value = Start> {
    (0u64..3000, 1u64..300, 0u64..2000)
}

fn surroundings() -> impl Strategy<Value = (StormJob, FileSystem)> {
    let systems = FileSystemTable::embedded().systems.clone();
    let system = proptest::sample::select(systems);
    let figures = (1u32..2000, 1u32..128, 1u64..500, 1u64..5000, proptest::option::of(100.0f64..1e6));
    (system, figures).prop_map(|(mut fs, (nodes, per_node, milliseconds, latency, rate))| {
        fs.server.latency = Duration::from_micros(latency);
        fs.server.rate = rate;
        let processor = Duration::from_millis(milliseconds);
        (StormJob { nodes, per_node, cores: per_node, processor, processor_known: true }, fs)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn what_is_advised_ends_first_and_before_the_program_as_it_is(
        now in start(),
        bindings in proptest::array::uniform3(proptest::option::of(start())),
        compared in proptest::option::of(start()),
        (job, fs) in surroundings(),
    ) {
        let document = document(now, bindings, compared, &job, &fs);
        let as_it_is = &document.cases[0];
        let others = || document.cases.iter().filter(|case| case.binding.is_some());
        let Some(best) = advised(&document) else {
            // No advice means that no binding saves a twentieth.
            prop_assert!(others().all(|case| case.seconds >= 0.95 * as_it_is.seconds));
            return Ok(());
        };
        prop_assert!(best.seconds < as_it_is.seconds);
        prop_assert!(others().all(|case| best.seconds <= case.seconds));
        let message = &document.advice[0].message;
        prop_assert!(message.starts_with(best.name.as_str()), "{message}");
        // Cases that are close are named with their figures, others are not.
        for case in document.cases[1..].iter().filter(|case| !std::ptr::eq(*case, best)) {
            let close = case.seconds.min(best.seconds) >= (1.0 - MODEL_DOUBT) * case.seconds.max(best.seconds);
            let named = message.contains(&format!("{} ({})", case.name, time(case.seconds)));
            prop_assert!(named || !(close || case.seconds < best.seconds), "{}: {message}", case.name);
        }
        // Every figure in the advice is also in the table, on the screen and on the page.
        for shown in [text::storm(&document, &crate::layout::View::columns(100)).to_string(), markdown::storm(&document)] {
            let table = shown.split(message.get(..20).unwrap_or_default()).next().unwrap_or_default();
            prop_assert!(table.contains(&time(best.seconds)) && table.contains(&time(as_it_is.seconds)), "{shown}");
        }
    }
}

fn lustre() -> (StormJob, FileSystem) {
    let fs = FileSystemTable::embedded().get("lustre").expect("a compiled-in file system").clone();
    let processor = Duration::from_millis(2);
    (StormJob { nodes: 128, per_node: 32, cores: 32, processor, processor_known: true }, fs)
}

#[test]
fn the_binding_that_ends_first_is_advised_also_where_one_file_could_be_bound() {
    let (job, fs) = lustre();
    let document = document((1239, 3, 10), [Some((1, 3, 10)), Some((1178, 3, 10)), None], None, &job, &fs);
    let advice = &document.advice[0];
    assert_eq!(advice.command.as_deref(), Some("underpin bind /opt/tree"));
    assert!(advice.message.starts_with("bound, ") && !advice.message.contains("flattened"), "{}", advice.message);
}

#[test]
fn what_ends_about_as_early_is_named_beside_it() {
    let (job, fs) = lustre();
    let document = document((1239, 3, 10), [Some((101, 3, 10)), Some((100, 3, 10)), None], None, &job, &fs);
    let advice = &document.advice[0];
    assert_eq!(advice.command.as_deref(), Some("underpin bind --flatten /opt/tree/bin/app"));
    assert!(advice.message.contains("Within 20 % of it, the doubt of the model: bound ("), "{}", advice.message);
}

#[test]
fn files_of_the_system_are_named_one_by_one_or_not_at_all() {
    let files = |paths: &[&str]| super::files(&paths.iter().map(|path| Raw::from(*path)).collect::<Vec<_>>());
    assert_eq!(files(&["/opt/a/bin/x", "/opt/a/lib/y"]).as_deref(), Some("/opt/a"));
    assert_eq!(files(&["/opt/a/bin/x"]).as_deref(), Some("/opt/a/bin/x"));
    assert_eq!(files(&["/usr/bin/x", "/usr/lib/y"]).as_deref(), Some("/usr/bin/x /usr/lib/y"));
    assert_eq!(files(&["/opt/a/x", "/opt/b/y"]).as_deref(), Some("/opt/a/x /opt/b/y"));
    assert_eq!(files(&["/home/me/x", "/home/you/y"]).as_deref(), Some("/home/me/x /home/you/y"));
    assert_eq!(files(&["/usr/a", "/usr/b", "/usr/c", "/usr/d", "/usr/e"]), None);
    assert_eq!(files(&["/usr/local/app/bin/x", "/usr/local/app/lib/y"]).as_deref(), Some("/usr/local/app"));
}

#[test]
fn nothing_to_bind_is_not_advised_to_be_bound() {
    let (job, fs) = lustre();
    let cases = vec![input("as it is", None, (500, 3, 10), &job, &fs)];
    let record = FileSystemRecord::new(&fs, FileSystemTable::embedded(), vec!["/".into()], &[]);
    let left_out = vec!["not shown: bound, since it would change nothing".to_owned()];
    let document = StormDocument::new("/opt/tree/bin/app".into(), &job, record, cases, left_out);
    assert!(document.advice.is_empty(), "{:?}", document.advice);
}
