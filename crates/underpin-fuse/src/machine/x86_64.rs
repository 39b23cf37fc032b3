//! x86-64: System V ABI, AMD64 supplement.

use super::{BEFORE, Facts, Kind, any_of};
use crate::object::u32_at;
use bstr::ByteSlice;
use underpin_elf::Machine;

pub(super) const FACTS: Facts = Facts {
    machine: Machine::X86_64,
    page: 4096,
    kinds: &[
        (0, Kind::None),
        (1, Kind::Absolute),
        (5, Kind::Copy),
        (6, Kind::GlobDat),
        (7, Kind::JumpSlot),
        (8, Kind::Relative),
        (16, Kind::Module),
        (17, Kind::ModuleOffset),
        (18, Kind::ThreadOffset),
        (36, Kind::Descriptor),
        (37, Kind::Indirect),
    ],
    protect: &PROTECT,
    answers: include_bytes!("answers.x86_64"),
    // GNU_PROPERTY_X86_FEATURE_1_AND.
    and_property: 0xc000_0002,
    if_all: &[],
    if_any: &[],
};

/// `mprotect(address, size, PROT_READ)` for each entry of the list.
///
/// ```text
///     endbr64
///     push rbx
///     lea  rbx, [rip + list]
///     mov  r8, rbx
/// 1:  mov  esi, [rbx + 4]
///     test esi, esi
///     je   2f
///     movsxd rdi, dword ptr [rbx]
///     add  rdi, r8
///     mov  edx, 1
///     mov  eax, 10
///     syscall
///     add  rbx, 8
///     jmp  1b
/// 2:  pop  rbx
///     ret
/// ```
const PROTECT: [u8; 48] = [
    0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0x48, 0x8d, 0x1d, 0, 0, 0, 0, 0x49, 0x89, 0xd8, 0x8b, 0x73, 0x04, 0x85, 0xf6, 0x74,
    0x18, 0x48, 0x63, 0x3b, 0x4c, 0x01, 0xc7, 0xba, 1, 0, 0, 0, 0xb8, 10, 0, 0, 0, 0x0f, 0x05, 0x48, 0x83, 0xc3, 8,
    0xeb, 0xe1, 0x5b, 0xc3,
];

/// Fills in where the list is.
pub(super) fn aim(code: &mut [u8], at: u64, list: u64) {
    let distance = list.wrapping_sub(at + 12) as u32;
    code[8..12].copy_from_slice(&distance.to_le_bytes());
}

/// `mov $-1, %rdi`, `or $-1, %rdi`.
const MINUS_ONE: [&[u8]; 2] = [b"\x48\xc7\xc7\xff\xff\xff\xff", b"\x48\x83\xcf\xff"];

pub(super) fn passes_minus_one(code: &[(u64, &[u8])], slots: &[u64]) -> bool {
    // Jumps through a slot: the PLT stub, or the call itself.
    let mut stubs = Vec::new();
    let mut calls: Vec<(&[u8], usize)> = Vec::new();
    for &(start, bytes) in code {
        for at in bytes.find_iter(b"\xff").filter(|at| at + 6 <= bytes.len()) {
            let target = relative(start, bytes, at + 2);
            match bytes[at + 1] {
                0x25 if slots.contains(&target) => {
                    stubs.push(start + at as u64);
                    calls.push((bytes, at));
                }
                0x15 if slots.contains(&target) => calls.push((bytes, at)),
                _ => {}
            }
        }
    }
    // A stub may begin with endbr64 (4 bytes) and the prefix `bnd` (1).
    let is_stub = |target: u64| stubs.iter().any(|stub| target <= *stub && target + 5 >= *stub);
    let direct = calls.len();
    for &(start, bytes) in code.iter().filter(|_| !stubs.is_empty()) {
        let near = bytes.iter().enumerate().filter(|(at, byte)| matches!(byte, 0xe8 | 0xe9) && at + 5 <= bytes.len());
        calls.extend(near.filter(|(at, _)| is_stub(relative(start, bytes, at + 1))).map(|(at, _)| (bytes, at)));
    }
    if calls.len() == direct && stubs.len() == direct {
        return code.iter().any(|(_, bytes)| any_of(&MINUS_ONE, bytes));
    }
    calls.iter().any(|(bytes, at)| any_of(&MINUS_ONE, &bytes[at.saturating_sub(BEFORE)..*at]))
}

fn relative(start: u64, bytes: &[u8], at: usize) -> u64 {
    let displacement = i64::from(u32_at(bytes, at).cast_signed());
    (start + at as u64 + 4).wrapping_add_signed(displacement)
}
