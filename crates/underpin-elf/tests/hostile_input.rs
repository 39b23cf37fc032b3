//! No input makes the reader panic; every error has an offset.

#[path = "common/synthetic.rs"]
mod synthetic;

use proptest::prelude::*;
use std::sync::LazyLock;
use synthetic::Synthetic;
use underpin_elf::{Details, Elf, LinkFacts};

fn good() -> impl Strategy<Value = Vec<u8>> {
    let entry = (prop_oneof![0..40_u64, 0x6fff_fe00..=0x7fff_ffff_u64], 0..64_u64);
    (any::<bool>(), any::<bool>(), proptest::collection::vec(entry, 0..24), any::<bool>()).prop_map(
        |(wide, big, dynamic, end_dynamic)| {
            let mut file = Synthetic { wide, big, end_dynamic, ..Synthetic::default() };
            file.named(1, "liba.so.1").named(14, "libself.so").named(29, "/opt/lib");
            file.interpreter = Some(b"/lib/ld.so\0".to_vec());
            file.dynamic.extend(dynamic);
            file.build()
        },
    )
}

fn read_all(bytes: &[u8]) {
    let result = Elf::read(bytes).and_then(|elf| Details::read(bytes, &elf));
    if let Err(error) = result {
        assert!(error.to_string().contains("at offset 0x"), "{error}");
    }
}

/// A real file with every kind of table; its headers and dynamic tables are at the front.
static REAL: LazyLock<Vec<u8>> = LazyLock::new(|| std::fs::read("/bin/true").expect("every system has it"));

proptest! {
    #[test]
    fn mutated_programs_are_survived(
        changes in proptest::collection::vec((0..4096_usize, any::<u8>()), 1..6),
        anywhere in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        keep in 90..=100_usize,
    ) {
        let mut bytes = REAL.clone();
        for (at, value) in changes.into_iter().chain(anywhere.iter().map(|(at, value)| (at.index(REAL.len()), *value))) {
            bytes[at] = value;
        }
        read_all(&bytes[..bytes.len() * keep / 100]);
    }

    #[test]
    fn garbage_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2048)) {
        read_all(&bytes);
    }

    #[test]
    fn garbage_behind_a_good_identification_is_survived(
        class in 1..=2_u8, data in 1..=2_u8, rest in proptest::collection::vec(any::<u8>(), 0..2048),
    ) {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', class, data, 1];
        bytes.extend(rest);
        read_all(&bytes);
    }

    #[test]
    fn truncated_files_are_survived(bytes in good(), keep in 0..100_usize) {
        read_all(&bytes[..bytes.len() * keep / 100]);
    }

    #[test]
    fn mutated_files_are_survived(
        mut bytes in good(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read_all(&bytes);
    }
}

/// s390 has words of 64 bits in DT_HASH: a count of symbols larger than any file, times the size of an entry, exceeds
/// 64 bits.
#[test]
fn a_number_of_symbols_beyond_all_bounds_is_survived() {
    let mut file = Synthetic { big: true, machine: 22, ..Synthetic::default() };
    let (name, version) = (file.string("libx.so.1"), file.string("X_1"));
    file.strings.resize(64, 0);
    let tables = synthetic::BASE + 64 + 2 * 56 + 8 * 16;
    // DT_HASH: one bucket, and the highest possible number of symbols.
    file.strings.extend([1_u64.to_be_bytes(), u64::MAX.to_be_bytes()].concat());
    // One need with one version of index 2 (`elf(5)`, Elf64_Verneed and Elf64_Vernaux).
    file.strings.extend([[0, 1], 1_u16.to_be_bytes()].concat());
    file.strings.extend([name as u32, 16, 0].map(u32::to_be_bytes).concat());
    file.strings.extend([[0; 4], [0, 0, 0, 2]].concat());
    file.strings.extend([version as u32, 0].map(u32::to_be_bytes).concat());
    file.strings.extend([0, 2].repeat(16));
    file.strings.resize(256, 0);
    let addresses = [(4, 64), (0x6fff_fffe, 80), (0x6fff_fff0, 112), (6, 200)];
    file.dynamic.extend(addresses.map(|(tag, offset)| (tag, tables + offset)));
    file.dynamic.push((0x6fff_ffff, 1));
    let bytes = file.build();
    let elf = Elf::read(&bytes[..]).expect("a sound file but for its tables");
    let facts = LinkFacts::versions(&bytes[..], &elf).expect("one version");
    assert_eq!(facts.version_needs.len(), 1, "{facts:?}");
    // Whatever the result, the call returns, and an error has an offset.
    if let Err(error) = facts.imports_under(&bytes[..], &elf, &[b"f"], |_| true) {
        assert!(error.to_string().contains("at offset 0x"), "{error}");
    }
}
