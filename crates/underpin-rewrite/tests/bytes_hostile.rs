//! No input makes a rewrite panic, hang or grow without limit, and whatever is rewritten is restored byte for byte.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod bytes_support;

use bytes_support::{STRATEGIES, only, program};
use proptest::prelude::*;
use proptest::sample::Index;
use std::sync::LazyLock;
use underpin_rewrite::{Edits, Names, Rename, RewriteOptions, SearchPathEdit, record, rewrite, undo};
use underpin_test_support::{Fixture, available, skip};

/// What a rewrite may append in addition to a small multiple of the file: names, alignment, zeros that become content.
const ALLOWANCE: usize = 1 << 20;

/// Programs of several linkers, including 32 bit; each also bound with every strategy.
static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut files = Vec::new();
    let all = [
        ("cc", "ld", "-g"),
        ("cc", "ld.lld", "-fuse-ld=lld"),
        ("cc", "ld.gold", "-fuse-ld=gold"),
        ("musl-gcc", "musl-gcc", "-s"),
    ];
    for (compiler, tool, flag) in all {
        if !available(tool) {
            skip(&format!("{tool} is not on this machine"));
            continue;
        }
        let dir = Fixture::new();
        program(&dir, compiler, &[flag, "-Wl,-rpath,/a/path/that/gives/some/bytes/to/names:/and/another/one"]);
        for name in ["main", "libdep.so.1"] {
            let file = std::fs::read(dir.join(name)).unwrap();
            for strategy in STRATEGIES {
                files.extend(rewrite(&file, &edits(0), &only(strategy)).map(|rewrite| rewrite.apply(&file)));
            }
            files.push(file);
        }
    }
    assert!(!files.is_empty());
    files
});

fn edits(kind: u8) -> Edits {
    let rename = |from: &str, to: &str| Rename { from: from.into(), to: to.into() };
    let search_path = match kind % 4 {
        0 => SearchPathEdit::Dead,
        1 => SearchPathEdit::Keep,
        2 => SearchPathEdit::Runpath("/x".into()),
        _ => SearchPathEdit::Remove,
    };
    let many = (0..50).map(|at| format!("/opt/lib{at}.so").as_str().into()).collect();
    Edits {
        renames: vec![rename("libc.so.6", "/x/libc.so.6"), rename("libdep.so.1", "/y"), rename("", "/nothing")],
        needed: (kind >= 4).then_some(many),
        search_path,
        ..Edits::default()
    }
}

fn survives(bytes: &[u8], kind: u8) {
    let _ = Names::read(bytes);
    let _ = record(bytes);
    let _ = undo(bytes);
    let options = STRATEGIES.map(only).into_iter().chain([RewriteOptions::default()]);
    for options in options {
        match rewrite(bytes, &edits(kind), &options) {
            Ok(rewrite) if rewrite.is_empty() => {}
            Ok(rewrite) => {
                assert!(rewrite.appended.len() <= 8 * bytes.len() + ALLOWANCE, "{}", rewrite.appended.len());
                let bound = rewrite.apply(bytes);
                assert!(undo(&bound).as_deref() == Ok(bytes), "{:?}: {:?}", options.only, undo(&bound).err());
            }
            Err(refusal) => assert!(!refusal.to_string().is_empty()),
        }
    }
}

/// Where tables are: the headers and dynamic tables at the front, sections and records at the end, or anywhere.
fn place(len: usize, at: (u8, Index)) -> usize {
    match at.0 % 4 {
        0 => at.1.index(len.min(1024)),
        1 => at.1.index(len.min(8192)),
        2 => len - 1 - at.1.index(len.min(4096)),
        _ => at.1.index(len),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn mutated_programs_are_refused_or_rewritten_and_restored(
        file in any::<Index>(),
        kind in 0..8_u8,
        changes in proptest::collection::vec(((any::<u8>(), any::<Index>()), prop_oneof![any::<u8>(), Just(0), Just(255)]), 1..8),
        keep in prop_oneof![4 => Just(100_usize), 1 => 1..100_usize],
    ) {
        let mut bytes = file.get(&FILES).clone();
        for (at, value) in changes {
            let at = place(bytes.len(), at);
            bytes[at] = value;
        }
        survives(&bytes[..bytes.len() * keep / 100], kind);
    }

    #[test]
    fn whole_fields_gone_wrong_are_survived(
        file in any::<Index>(),
        kind in 0..8_u8,
        changes in proptest::collection::vec((0..2048_usize, prop_oneof![any::<u64>(), Just(u64::MAX), Just(0), 0..100_000_u64]), 1..4),
    ) {
        let mut bytes = file.get(&FILES).clone();
        for (at, value) in changes {
            let at = at / 8 * 8;
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        survives(&bytes, kind);
    }

    #[test]
    fn garbage_behind_a_good_identification_is_survived(
        class in 1..=2_u8, data in 1..=2_u8, rest in proptest::collection::vec(any::<u8>(), 0..2048),
    ) {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', class, data, 1];
        bytes.extend(rest);
        survives(&bytes, 0);
    }
}
