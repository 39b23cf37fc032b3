//! Reading and patching the memory of a traced task.

use crate::error::{SysError, check};
use crate::{RawPid, Tracee};

/// The longest path that the kernel takes, with its NUL (`PATH_MAX`).
const PATH_MAX: usize = 4096;
/// Most paths are shorter; one read then does.
const FIRST_READ: usize = 256;

/// Reads up to `buffer.len()` bytes; fewer if the mapping ends.
///
/// # Errors
/// `EFAULT` if nothing is readable at `address`.
pub fn read_memory(pid: RawPid, address: u64, buffer: &mut [u8]) -> Result<usize, SysError> {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: buffer.len() };
    // SAFETY: `local` describes `buffer`, which lives through the call; `remote` is not dereferenced here.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    check("process_vm_readv", read as libc::c_long).map(|count| count as usize)
}

/// Reads a NUL-terminated string of at most `PATH_MAX` bytes into `scratch` and returns it without the NUL.
///
/// Longer strings are cut: the kernel refuses them as paths.
///
/// # Errors
/// `EFAULT` if the address is bad, as the call itself will find out.
pub fn read_string(pid: RawPid, address: u64, scratch: &mut Vec<u8>) -> Result<&[u8], SysError> {
    scratch.resize(FIRST_READ, 0);
    let mut filled = 0;
    loop {
        let read = match read_memory(pid, address.wrapping_add(filled as u64), &mut scratch[filled..]) {
            Ok(read) if read > 0 => read,
            Ok(_) => return Ok(&scratch[..filled]),
            Err(error) if filled == 0 => return Err(error),
            Err(_) => return Ok(&scratch[..filled]),
        };
        if let Some(end) = scratch[filled..filled + read].iter().position(|&byte| byte == 0) {
            return Ok(&scratch[..filled + end]);
        }
        filled += read;
        if filled >= PATH_MAX {
            return Ok(&scratch[..PATH_MAX - 1]);
        }
        scratch.resize((filled * 2).clamp(FIRST_READ, PATH_MAX), 0);
    }
}

/// Replaces up to eight bytes at `address`, also in read-only memory, and returns those that were there.
///
/// # Errors
/// `EFAULT` or `EIO` if nothing is mapped there.
pub fn write_byte_patch(task: Tracee, address: u64, patch: &[u8]) -> Result<Vec<u8>, SysError> {
    let mut word = [0u8; size_of::<usize>()];
    let length = patch.len().min(word.len());
    if read_memory(task.0, address, &mut word)? < length {
        return Err(SysError { what: "process_vm_readv", errno: libc::EFAULT });
    }
    let before = word[..length].to_vec();
    word[..length].copy_from_slice(&patch[..length]);
    task.poke(address, usize::from_ne_bytes(word))?;
    Ok(before)
}
