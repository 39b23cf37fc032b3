//! A storm and what remains of it after a binding.

use crate::document::storm::{FileSystemRecord, StormBinding};
use crate::{StormDocument, StormInput};
use std::time::Duration;
use underpin_resolve::storm::{FileSystemTable, NodeDemand, Operations, StormJob, estimate};

/// 64 nodes of 32 processes on Lustre: a search in prefixes, bound, and in one comparison a hostile name.
pub(crate) fn sample_storm() -> StormDocument {
    let table = FileSystemTable::embedded();
    let fs = table.get("lustre").expect("a compiled-in file system");
    let job =
        StormJob { nodes: 64, per_node: 32, cores: 32, processor: Duration::from_millis(40), processor_known: false };
    let case = |name: &str, binding: Option<StormBinding>, lookups: u64, absent: u64| {
        let first = Operations {
            lookups,
            absent,
            opens: 106,
            reads: 400,
            bytes: 40 << 20,
            closes: 106,
            ..Operations::default()
        };
        let next = Operations { lookups: absent, absent, opens: 106, closes: 106, ..Operations::default() };
        let demand = NodeDemand { first, next, directories: 210 };
        StormInput {
            name: name.to_owned(),
            binding,
            changes: binding.map(|_| "/opt/tree/emacs-28.2/bin/emacs".into()).into_iter().collect(),
            program: "/opt/tree/emacs-28.2/bin/emacs".into(),
            objects: 106,
            modelled: true,
            demand,
            estimate: estimate(&demand, &job, fs),
            following: estimate(&demand.following(), &job, fs),
        }
    };
    let bound = |binding: StormBinding, lookups, absent| case(binding.words(), Some(binding), lookups, absent);
    let cases = vec![
        case("as it is", None, 6200, 5415),
        bound(StormBinding::Bind, 330, 2),
        bound(StormBinding::Flatten, 331, 3),
        case("a\u{1b}[31mb", None, 331, 3),
    ];
    let record = FileSystemRecord::new(fs, table, vec!["/opt/tree".into()], &["--ppn".to_owned()]);
    let absent = vec!["not shown: farm of links, since it would change nothing".to_owned()];
    StormDocument::new("/opt/tree/emacs-28.2/bin/emacs".into(), &job, record, cases, absent)
}
