//! The pages of members that become read-only once they are relocated: the loader protects one range of a file, and a fused
//! file has one for each member. Its first initialiser protects the others.

use crate::layout::{Layout, PAGE};
use crate::object::Object;
use underpin_elf::SegmentKind;

/// The list of what becomes read-only after relocation: distances from the list, and sizes.
pub(crate) fn ranges(objects: &[Object], layout: &Layout, at: u64) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for place in &layout.members {
        let Some(relro) = objects[place.object].segment(SegmentKind::Relro) else { continue };
        let start = (relro.vaddr.0 + place.base) / PAGE * PAGE;
        let end = (relro.vaddr.0 + place.base + relro.memory_size) / PAGE * PAGE;
        if start < end {
            out.extend(i32::try_from(start.wrapping_sub(at).cast_signed()).ok()?.to_le_bytes());
            out.extend(u32::try_from(end - start).ok()?.to_le_bytes());
        }
    }
    out.extend([0; 8]);
    Some(out)
}

/// `mprotect(address, size, PROT_READ)` for each entry of the list, by system calls of its own: no other code has run.
///
/// ```text
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
pub(crate) const CODE: [u8; 45] = [
    0x53, 0x48, 0x8d, 0x1d, 0, 0, 0, 0, 0x49, 0x89, 0xd8, 0x8b, 0x73, 0x04, 0x85, 0xf6, 0x74, 0x18, 0x48, 0x63, 0x3b,
    0x4c, 0x01, 0xc7, 0xba, 1, 0, 0, 0, 0xb8, 10, 0, 0, 0, 0x0f, 0x05, 0x48, 0x83, 0xc3, 8, 0xeb, 0xe1, 0x5b, 0xc3,
    0x90,
];

/// The function at an address, for a list at another.
pub(crate) fn function(at: u64, list: u64) -> [u8; 45] {
    let mut code = CODE;
    let distance = (list.wrapping_sub(at + 8)) as u32;
    code[4..8].copy_from_slice(&distance.to_le_bytes());
    code
}
