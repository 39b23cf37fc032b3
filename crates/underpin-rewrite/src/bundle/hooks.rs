//! The loader of a bundle in one file, changed so that it maps libraries from that file.
//!
//! glibc's loader opens each library by a path and maps it from offset 0, so a library inside another file would have to be
//! copied to a file in memory at each start: that took most of the time. Instead the system calls of the bundle's loader
//! that open, examine, read and map a library jump to code behind the loader (`underpin-sys`, `launcher/hooks.rs`), for which
//! `/proc/self/exe/NAME` is the library of that name in the bundle. Nothing is copied, and processes share the file's pages.
//!
//! A system call is changed only where it is certain what it is: its number is put into eax right before, and a known
//! instruction follows, which gives the jump its room. A loader in which one of the four is not found that way, or has
//! something else behind it, stays as it is, and so does one of another machine: then libraries are copied.

use super::graft::alignment;
use super::head::as_usize;
use bstr::{BString, ByteSlice};
use underpin_elf::{Elf, Machine};

/// The folder whose files are those in the bundle.
pub(super) const FOLDER: &str = "/proc/self/exe";

/// Numbers of the system calls (`<asm/unistd_64.h>`): each group needs at least one place.
const CALLS: [&[u32]; 4] = [&[257], &[9], &[17], &[262, 5]];
/// Between the number and the call, other registers are set.
const BETWEEN: usize = 16;
const SYSCALL: &[u8] = b"\x0f\x05";
/// What may follow, which is moved to where the jump leads: a comparison of rax or eax with -4096 or -4095, a copy of rax.
const FOLLOWING: [&[u8]; 5] = [
    b"\x48\x3d\x00\xf0\xff\xff",
    b"\x48\x3d\x01\xf0\xff\xff",
    b"\x3d\x00\xf0\xff\xff",
    b"\x3d\x01\xf0\xff\xff",
    b"\x48\x89\xc7",
];
/// `lea -128(%rsp), %rsp` and back: the function may keep something below its stack pointer.
const BELOW: &[u8] = b"\x48\x8d\x64\x24\x80";
const BACK: &[u8] = b"\x48\x8d\xa4\x24\x80\x00\x00\x00";
const CALL: u8 = 0xe8;
const JUMP: u8 = 0xe9;
const TRAP: u8 = 0xcc;

/// A system call of the loader, and the instruction after it.
struct Site {
    offset: usize,
    address: u64,
    following: &'static [u8],
}

impl Site {
    fn size(&self) -> usize {
        SYSCALL.len() + self.following.len()
    }
}

/// A loader and the code behind it.
pub(super) struct Hooked {
    /// The loader, of its old size.
    pub loader: Vec<u8>,
    /// What the launcher maps at the first page after the loader's last.
    pub area: Vec<u8>,
}

/// Changes a loader: `handler` is the launcher's code, `table` has the names of libraries and where each is in the bundle's
/// file. The sizes do not depend on the places. `None` if it has to stay as it is.
pub(super) fn hook(loader: &[u8], handler: &[u8], table: &[(BString, u64)]) -> Option<Hooked> {
    let elf = Elf::read(loader).ok()?;
    if elf.ident.machine != Machine::X86_64 {
        return None;
    }
    let page = alignment(elf.ident.machine);
    let end = elf.loads().map(|load| load.vaddr.0.saturating_add(load.memory_size)).max()?;
    let behind = end.next_multiple_of(page);
    let sites = sites(loader, &elf)?;
    let mut area = handler.to_vec();
    for (name, place) in table {
        area.extend(place.to_le_bytes());
        area.extend_from_slice(name);
        area.resize((area.len() + 1).next_multiple_of(8), 0);
    }
    area.extend([0; 8]);
    let mut loader = loader.to_vec();
    for site in &sites {
        let start = behind + area.len() as u64;
        let jump = relative(site.address, start)?;
        let place = loader.get_mut(site.offset..)?.get_mut(..site.size())?;
        place.fill(TRAP);
        place[0] = JUMP;
        place[1..5].copy_from_slice(&jump);
        area.extend_from_slice(BELOW);
        area.push(CALL);
        area.extend(relative(behind + area.len() as u64 - 1, behind)?);
        area.extend_from_slice(BACK);
        area.extend_from_slice(site.following);
        area.push(JUMP);
        area.extend(relative(behind + area.len() as u64 - 1, site.address + site.size() as u64)?);
    }
    Some(Hooked { loader, area })
}

/// The distance that a jump or call of five bytes at an address needs.
fn relative(from: u64, to: u64) -> Option<[u8; 4]> {
    let distance = to.wrapping_sub(from + 5).cast_signed();
    i32::try_from(distance).ok().map(i32::to_le_bytes)
}

/// Every system call that is to be changed; `None` if one of the kinds is missing, or one that has no room for a jump.
fn sites(loader: &[u8], elf: &Elf) -> Option<Vec<Site>> {
    let mut all = Vec::new();
    for group in CALLS {
        let before = all.len();
        for load in elf.loads().filter(|load| load.flags.execute) {
            let start = as_usize(load.offset.0);
            let code = loader.get(start..)?.get(..as_usize(load.file_size))?;
            for number in group {
                let set = [&b"\xb8"[..], &number.to_le_bytes()].concat();
                for at in code.find_iter(&set) {
                    let rest = &code[at + set.len()..];
                    let Some(within) = rest[..BETWEEN.min(rest.len())].find(SYSCALL) else { continue };
                    let after = &rest[within + SYSCALL.len()..];
                    let following = FOLLOWING.into_iter().find(|following| after.starts_with(following))?;
                    let at = at + set.len() + within;
                    all.push(Site { offset: start + at, address: load.vaddr.0 + at as u64, following });
                }
            }
        }
        if all.len() == before {
            return None;
        }
    }
    Some(all)
}
