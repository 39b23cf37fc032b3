//! aarch64: ELF for the Arm 64-bit Architecture (AAELF64), and its System V ABI.

use super::{BEFORE, Facts, Kind};
use crate::object::u32_at;
use underpin_elf::Machine;

pub(super) const FACTS: Facts = Facts {
    machine: Machine::AARCH64,
    page: 1 << 16,
    kinds: &[
        (0, Kind::None),
        (257, Kind::Absolute),
        (1024, Kind::Copy),
        (1025, Kind::GlobDat),
        (1026, Kind::JumpSlot),
        (1027, Kind::Relative),
        (1028, Kind::Module),
        (1029, Kind::ModuleOffset),
        (1030, Kind::ThreadOffset),
        (1031, Kind::Descriptor),
        (1032, Kind::Indirect),
    ],
    protect: &PROTECT,
    answers: include_bytes!("answers.aarch64"),
    // GNU_PROPERTY_AARCH64_FEATURE_1_AND.
    and_property: 0xc000_0000,
    // DT_AARCH64_BTI_PLT and DT_AARCH64_PAC_PLT: what calls through a PLT may rely on.
    if_all: &[0x7000_0001, 0x7000_0003],
    // DT_AARCH64_VARIANT_PCS: some symbols are not to be bound late, because their calls pass more registers.
    if_any: &[0x7000_0005],
};

/// `mprotect(address, size, PROT_READ)` for each entry of the list, with both ends rounded down to a page as the loader
/// does. An initialiser gets the environment in x2, and behind it is the auxiliary vector, which has the size of pages
/// (AT_PAGESZ, 6); without it the largest is taken.
///
/// ```text
///     bti  c
///     mov  x7, #0x10000
/// 1:  ldr  x3, [x2], #8
///     cbnz x3, 1b
/// 2:  ldp  x3, x4, [x2], #16
///     cbz  x3, 3f
///     cmp  x3, #6
///     b.ne 2b
///     mov  x7, x4
/// 3:  neg  x7, x7
///     adrp x5, list
///     add  x5, x5, :lo12:list
///     mov  x6, x5
/// 4:  ldrsw x0, [x6], #8
///     ldur w1, [x6, #-4]
///     cbz  w1, 5f
///     add  x0, x0, x5
///     add  x1, x1, x0
///     and  x0, x0, x7
///     and  x1, x1, x7
///     sub  x1, x1, x0
///     cbz  x1, 4b
///     mov  x2, #1
///     mov  x8, #226
///     svc  #0
///     b    4b
/// 5:  ret
/// ```
const PROTECT: [u8; 108] = [
    0x5f, 0x24, 0x03, 0xd5, 0x27, 0x00, 0xa0, 0xd2, 0x43, 0x84, 0x40, 0xf8, 0xe3, 0xff, 0xff, 0xb5, 0x43, 0x10, 0xc1,
    0xa8, 0x83, 0x00, 0x00, 0xb4, 0x7f, 0x18, 0x00, 0xf1, 0xa1, 0xff, 0xff, 0x54, 0xe7, 0x03, 0x04, 0xaa, 0xe7, 0x03,
    0x07, 0xcb, 0x05, 0x00, 0x00, 0x90, 0xa5, 0x00, 0x00, 0x91, 0xe6, 0x03, 0x05, 0xaa, 0xc0, 0x84, 0x80, 0xb8, 0xc1,
    0xc0, 0x5f, 0xb8, 0x61, 0x01, 0x00, 0x34, 0x00, 0x00, 0x05, 0x8b, 0x21, 0x00, 0x00, 0x8b, 0x00, 0x00, 0x07, 0x8a,
    0x21, 0x00, 0x07, 0x8a, 0x21, 0x00, 0x00, 0xcb, 0x01, 0xff, 0xff, 0xb4, 0x22, 0x00, 0x80, 0xd2, 0x48, 0x1c, 0x80,
    0xd2, 0x01, 0x00, 0x00, 0xd4, 0xf4, 0xff, 0xff, 0x17, 0xc0, 0x03, 0x5f, 0xd6,
];
/// Where the list's page and place in it go.
const ADRP: usize = 40;

/// Fills in where the list is.
pub(super) fn aim(code: &mut [u8], at: u64, list: u64) {
    let pages = (list >> 12).wrapping_sub((at + ADRP as u64) >> 12) as u32;
    let adrp = u32_at(code, ADRP) | (pages & 3) << 29 | (pages >> 2 & 0x7_ffff) << 5;
    let add = u32_at(code, ADRP + 4) | (list as u32 & 0xfff) << 10;
    code[ADRP..ADRP + 4].copy_from_slice(&adrp.to_le_bytes());
    code[ADRP + 4..ADRP + 8].copy_from_slice(&add.to_le_bytes());
}

/// `mov x0, #-1`.
const MINUS_ONE: u32 = 0x9280_0000;
/// A stub of the PLT loads its slot into x17, by x16.
const STUB: (u32, u32) = (16, 17);

pub(super) fn passes_minus_one(code: &[(u64, &[u8])], slots: &[u64]) -> bool {
    // Loads of a slot: a stub, whose start is noted, or a call by a register.
    let mut stubs = Vec::new();
    let mut calls: Vec<(&[u8], usize, usize)> = Vec::new();
    for &(start, bytes) in code {
        for at in (0..bytes.len() / 4 * 4).step_by(4) {
            match load(start, bytes, at) {
                Some((slot, page, true)) if slots.contains(&slot) => stubs.push(start + page as u64),
                // The call may follow later: -1 can be put into the register in between.
                Some((slot, _, false)) if slots.contains(&slot) => calls.push((bytes, at, at + BEFORE)),
                _ => {}
            }
        }
    }
    // A stub may begin with `bti c`.
    let is_stub = |target: u64| stubs.iter().any(|stub| target == *stub || target + 4 == *stub);
    for &(start, bytes) in code.iter().filter(|_| !stubs.is_empty()) {
        let jumps = (0..bytes.len() / 4 * 4).step_by(4).filter_map(|at| Some((at, jump(start, bytes, at)?)));
        calls.extend(jumps.filter(|(_, target)| is_stub(*target)).map(|(at, _)| (bytes, at, at)));
    }
    let next = |bytes: &[u8]| bytes.chunks_exact(4).any(|word| u32_at(word, 0) == MINUS_ONE);
    if calls.is_empty() {
        return code.iter().any(|(_, bytes)| next(bytes));
    }
    calls.iter().any(|(bytes, from, to)| next(&bytes[from.saturating_sub(BEFORE)..bytes.len().min(*to)]))
}

/// The address from which an instruction loads 64 bits, if the page was put into its register shortly before; where that
/// was, and whether it is how a stub of the PLT does it.
fn load(start: u64, bytes: &[u8], at: usize) -> Option<(u64, usize, bool)> {
    let word = u32_at(bytes, at);
    let (base, to) = (word >> 5 & 31, word & 31);
    if word & 0xffc0_0000 != 0xf940_0000 {
        return None;
    }
    let before = (at.saturating_sub(BEFORE)..at).step_by(4).rev();
    let page = before.into_iter().find(|page| u32_at(bytes, *page) & 0x9f00_001f == 0x9000_0000 | base)?;
    let adrp = u32_at(bytes, page);
    // 21 bits of pages, from the page of the instruction.
    let pages = (adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3;
    let distance = i64::from((pages << 11).cast_signed() >> 11) << 12;
    let target = ((start + page as u64) & !0xfff).wrapping_add_signed(distance);
    Some((target.wrapping_add(u64::from(word >> 10 & 0xfff) * 8), page, (base, to) == STUB))
}

/// Where `b` and `bl` lead.
fn jump(start: u64, bytes: &[u8], at: usize) -> Option<u64> {
    let word = u32_at(bytes, at);
    let distance = i64::from((word << 6).cast_signed() >> 6) * 4;
    (word & 0x7c00_0000 == 0x1400_0000).then(|| (start + at as u64).wrapping_add_signed(distance))
}
