//! Relative relocations as addresses and bits (DT_RELR) instead of 24 bytes each, which most relocations of a fused file are:
//! Emacs's takes 5.5 MB less, and its loader reads so much less.
//!
//! glibc knows them since 2.36. The file must not need a newer glibc than its members do, so they are written only if one
//! of them asks for that one anyway, or if the C library goes along with the file.

use crate::machine::Kind;
use crate::object::Object;
use crate::relocate::{NewReloc, Relocated};
use crate::{Closure, Plan};

/// The C library's own name, by which files ask for its versions.
const LIBC: &[u8] = b"libc.so.6";
/// The version that a file with DT_RELR must ask for (glibc `elf/dl-version.c`): older loaders refuse it for that.
const VERSION: &[u8] = b"GLIBC_ABI_DT_RELR";
/// The first release of glibc that has it.
const SINCE: u32 = 36;

/// The file and the version to ask for, if relative relocations may be written in the short form. `moves`: the C library
/// goes where the file goes.
pub(crate) fn permitted(
    closure: &Closure,
    objects: &[Object],
    plan: &Plan,
    moves: bool,
) -> Option<(&'static [u8], &'static [u8])> {
    let libc = closure.objects.iter().position(|object| object.names.iter().any(|name| *name == LIBC))?;
    let versions = |object: usize| objects[object].versions.iter().flatten();
    let offers = versions(libc).any(|version| version.file.is_none() && version.name == VERSION);
    let asks = |&member: &usize| {
        versions(member)
            .any(|version| version.file == Some(LIBC) && (version.name == VERSION || is_since(version.name)))
    };
    let needs = |&member: &usize| closure.objects[member].needs.contains(&libc);
    let members = plan.members.iter();
    let permitted = offers && members.clone().any(needs) && (moves || members.clone().any(asks));
    permitted.then_some((LIBC, VERSION))
}

/// Whether a version of symbols came with that glibc or a later one.
fn is_since(version: &[u8]) -> bool {
    let release = version.strip_prefix(b"GLIBC_2.").and_then(|rest| std::str::from_utf8(rest).ok());
    let minor = release.and_then(|rest| rest.split('.').next()).and_then(|minor| minor.parse::<u32>().ok());
    minor.is_some_and(|minor| minor >= SINCE)
}

/// Takes out the relative relocations that the short form can express, and gives its table. What they add is then in the
/// words themselves. `has_content`: whether the file has bytes for an address.
pub(crate) fn take(relocated: &mut Relocated, has_content: impl Fn(u64) -> bool) -> Vec<u8> {
    let relative = relocated.relocs.iter().filter(|reloc| reloc.kind == Kind::Relative);
    let mut all: Vec<u64> = relative.map(|reloc| reloc.at).collect();
    all.sort_unstable();
    // Words that overlap: the long form lets the last one win, the short form would add twice.
    let is_apart = |index: usize| {
        let before = index.checked_sub(1).is_none_or(|before| all[before] + 8 <= all[index]);
        before && all.get(index + 1).is_none_or(|after| all[index] + 8 <= *after)
    };
    let places = all.iter().enumerate().filter(|(index, at)| at.is_multiple_of(2) && is_apart(*index));
    let places: Vec<u64> = places.map(|(_, at)| *at).filter(|at| has_content(*at)).collect();
    let is_short = |reloc: &NewReloc| reloc.kind == Kind::Relative && places.binary_search(&reloc.at).is_ok();
    let (short, long): (Vec<NewReloc>, Vec<NewReloc>) = relocated.relocs.drain(..).partition(is_short);
    relocated.relocs = long;
    relocated.words.extend(short.iter().map(|reloc| (reloc.at, reloc.addend.cast_unsigned())));
    table(&places).into_iter().flat_map(u64::to_le_bytes).collect()
}

/// The table of sorted even addresses: an address, then words of which bit 0 is set and each other one stands for one of the
/// next 63 words (gABI, "Relative Relocation Table").
fn table(places: &[u64]) -> Vec<u64> {
    let mut out = Vec::new();
    let mut rest = places.iter().copied().peekable();
    while let Some(first) = rest.next() {
        out.push(first);
        let mut base = first.wrapping_add(8);
        loop {
            let mut bits = 0u64;
            while let Some(&next) = rest.peek() {
                let distance = next.wrapping_sub(base);
                if distance >= 63 * 8 || !distance.is_multiple_of(8) {
                    break;
                }
                bits |= 1 << (distance / 8);
                rest.next();
            }
            if bits == 0 {
                break;
            }
            out.push(bits << 1 | 1);
            base = base.wrapping_add(63 * 8);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As glibc's `elf/do-rel.h` goes through it (`elf_dynamic_do_relr`).
    fn applied(table: &[u64]) -> Vec<u64> {
        let (mut out, mut next) = (Vec::new(), 0u64);
        for &word in table {
            if word & 1 == 0 {
                out.push(word);
                next = word + 8;
            } else {
                out.extend((0..63).filter(|bit| word >> (bit + 1) & 1 != 0).map(|bit| next + bit * 8));
                next += 63 * 8;
            }
        }
        out
    }

    #[test]
    fn releases_before_2_36_and_other_names_do_not_permit_it() {
        for version in ["GLIBC_2.36", "GLIBC_2.36.1", "GLIBC_2.40"] {
            assert!(is_since(version.as_bytes()), "{version}");
        }
        for version in ["GLIBC_2.35", "GLIBC_2.4", "GLIBC_2.2.5", "GLIBC_3.0", "GLIBCXX_3.4.36", "GLIBC_PRIVATE", ""] {
            assert!(!is_since(version.as_bytes()), "{version}");
        }
    }

    proptest! {
        #[test]
        fn each_address_is_relocated_once(steps in prop::collection::vec(prop_oneof![Just(8u64), 4u64..60, 400u64..2000], 0..300)) {
            let mut at = 0x1000;
            let places: Vec<u64> = steps.iter().map(|step| { at += (step & !1).max(8); at }).collect();
            prop_assert_eq!(applied(&table(&places)), places);
        }

        #[test]
        fn what_overlaps_is_odd_or_has_no_content_keeps_its_long_form(steps in prop::collection::vec(0u64..20, 1..60)) {
            let mut at = 0x1000;
            let places: Vec<u64> = steps.iter().map(|step| { at += step; at }).collect();
            let reloc = |at: &u64| NewReloc { at: *at, kind: Kind::Relative, outside: None, addend: 7 };
            let mut relocated = Relocated::default();
            relocated.relocs = places.iter().map(reloc).collect();
            let bytes = take(&mut relocated, |at| at < 0x1200);
            let words: Vec<u64> =
                bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
            let short = applied(&words);
            prop_assert_eq!(short.len() + relocated.relocs.len(), places.len());
            for (index, at) in short.iter().enumerate() {
                prop_assert!(at % 2 == 0 && *at < 0x1200);
                prop_assert!(places.iter().filter(|place| place.abs_diff(*at) < 8).count() == 1);
                prop_assert_eq!(relocated.words[index], (*at, 7));
            }
        }
    }
}
