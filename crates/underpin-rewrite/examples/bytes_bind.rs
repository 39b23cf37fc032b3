#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::exit, missing_docs)]
//! Scratch.
use underpin_rewrite::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&a[1]).unwrap();
    if a.len() == 3 {
        std::fs::write(&a[2], undo(&bytes).unwrap()).unwrap();
        return;
    }
    let only = match a[3].as_str() {
        "A" => Some(Strategy::DeadStrings),
        "B" => Some(Strategy::PagePadding),
        "C" => Some(Strategy::NewSegment),
        "D" => Some(Strategy::DataTail),
        _ => None,
    };
    let mut e = Edits::default();
    for r in &a[4..] {
        let (f, t) = r.split_once('=').unwrap();
        match f {
            "runpath" => e.search_path = SearchPathEdit::Runpath(t.into()),
            "rpath" => e.search_path = SearchPathEdit::Rpath(t.into()),
            "dead" => e.search_path = SearchPathEdit::Dead,
            "needed" => e.needed.get_or_insert_default().push(t.into()),
            _ => e.renames.push(Rename { from: f.into(), to: t.into() }),
        }
    }
    match rewrite(&bytes, &e, &RewriteOptions { only, ..Default::default() }) {
        Ok(r) => {
            let out = r.apply(&bytes);
            assert_eq!(undo(&out).unwrap(), bytes);
            println!("{:?} {:?} patches {} +{}", r.cost, r.placed, r.patches.len(), r.appended.len());
            std::fs::write(&a[2], out).unwrap();
        }
        Err(e) => {
            println!("refused: {e}");
            std::process::exit(1)
        }
    }
}
