//! What a process's loader has loaded, in the order in which it looks for symbols, read from the process itself.
//!
//! This is the loader's own list (`r_debug` behind DT_DEBUG, `glibc elf/link.h`, musl `include/link.h`: the same
//! layout), which debuggers read too. It is complete once the program is at its entry point.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use underpin_sys::{AuxVector, RawPid, SysError, read_memory, read_string};

/// The objects of a process, in search order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The paths as the loader has them; the program itself, whose name is empty there, and the vdso are left out.
    pub libraries: Vec<PathBuf>,
}

const PT_DYNAMIC: u64 = 2;
const PT_PHDR: u64 = 6;
const DT_DEBUG: u64 = 21;
/// Far more objects than any program has: a cyclic list is cut off here.
const MOST_OBJECTS: usize = 65_536;
/// Far more entries than any dynamic section has.
const MOST_ENTRIES: usize = 4_096;

impl Scope {
    /// Reads the list of a process that is at its entry point. Empty for a program without a loader.
    ///
    /// # Errors
    /// If its memory cannot be read.
    pub fn read(pid: RawPid, aux: &AuxVector) -> Result<Scope, SysError> {
        let mut scope = Scope::default();
        let Some(debug) = debug_structure(pid, aux)? else { return Ok(scope) };
        // struct r_debug: version, then the first link_map. struct link_map: address, name, dynamic section, next.
        let mut map = word(pid, debug + 8)?;
        let mut scratch = Vec::new();
        for _ in 0..MOST_OBJECTS {
            if map == 0 {
                break;
            }
            let name = read_string(pid, word(pid, map + 8)?, &mut scratch)?;
            if name.contains(&b'/') {
                scope.libraries.push(PathBuf::from(OsString::from_vec(name.to_vec())));
            }
            map = word(pid, map + 24)?;
        }
        Ok(scope)
    }
}

/// The value of DT_DEBUG, which the loader has filled in.
fn debug_structure(pid: RawPid, aux: &AuxVector) -> Result<Option<u64>, SysError> {
    const HEADER: usize = 56;
    if aux.program_header_size as usize != HEADER {
        return Ok(None);
    }
    let (mut bias, mut dynamic) = (0, None);
    for index in 0..aux.program_header_count.min(u64::from(u16::MAX)) {
        let at = aux.program_headers + index * HEADER as u64;
        let vaddr = || word(pid, at + 16);
        match word(pid, at)? & u64::from(u32::MAX) {
            PT_PHDR => bias = aux.program_headers.wrapping_sub(vaddr()?),
            PT_DYNAMIC => dynamic = Some(vaddr()?),
            _ => {}
        }
    }
    let Some(dynamic) = dynamic else { return Ok(None) };
    for index in 0..MOST_ENTRIES as u64 {
        let at = dynamic.wrapping_add(bias) + index * 16;
        match word(pid, at)? {
            0 => return Ok(None),
            DT_DEBUG => return word(pid, at + 8).map(|debug| (debug != 0).then_some(debug)),
            _ => {}
        }
    }
    Ok(None)
}

fn word(pid: RawPid, address: u64) -> Result<u64, SysError> {
    let mut bytes = [0; 8];
    if read_memory(pid, address, &mut bytes)? < bytes.len() {
        return Err(SysError { what: "process_vm_readv", errno: libc::EFAULT });
    }
    Ok(u64::from_ne_bytes(bytes))
}
