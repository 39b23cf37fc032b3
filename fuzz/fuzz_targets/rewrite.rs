//! Any bytes as a file to be bound: every strategy, with few and with many names. A refusal is a good answer; a panic, a
//! hang, an allocation beyond the limits of `run.sh`, or an undo that does not give every byte back is not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underpin_rewrite::{Edits, Names, Rename, RewriteOptions, SearchPathEdit, Strategy, record, rewrite, undo};

fuzz_target!(|bytes: &[u8]| {
    let _ = record(bytes);
    let _ = undo(bytes);
    // Whatever the file needs is renamed, so that mutated names count as well.
    let names = Names::read(bytes).unwrap_or_default();
    let all = names.needed.iter().chain(&names.version_files).take(8);
    let renames: Vec<Rename> =
        all.map(|name| Rename { from: name.clone(), to: "/opt/lib/libbound.so.1".into() }).collect();
    let many = (0..40).map(|at| format!("/opt/lib/lib{at}.so").as_str().into()).collect();
    let few = Edits { renames: renames.clone(), search_path: SearchPathEdit::Dead, ..Edits::default() };
    let flat = Edits {
        renames,
        needed: Some(many),
        search_path: SearchPathEdit::Runpath("/opt/lib".into()),
        ..Edits::default()
    };
    let strategies = [Strategy::DeadStrings, Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment];
    for only in strategies.into_iter().map(Some).chain([None]) {
        for edits in [&few, &flat] {
            let options = RewriteOptions { only, ..RewriteOptions::default() };
            let Ok(rewrite) = rewrite(bytes, edits, &options) else { continue };
            if !rewrite.is_empty() {
                assert_eq!(undo(&rewrite.apply(bytes)).as_deref(), Ok(bytes), "undo gives other bytes");
            }
        }
    }
});
