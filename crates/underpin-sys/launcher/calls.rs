//! The system calls that the launcher makes, as functions of what they are for.

use crate::arch::{call6, number};

/// A file descriptor.
pub type Descriptor = usize;

/// A negated error number, or a value.
pub fn outcome(result: isize) -> Result<usize, i32> {
    // The kernel's MAX_ERRNO: a result in the last 4095 values is a negated error number.
    if (-4095..0).contains(&result) { Err(result.unsigned_abs() as i32) } else { Ok(result as usize) }
}

const AT_FDCWD: usize = -100_isize as usize;
const O_CLOEXEC: usize = 0o2_000_000;

/// `ENOENT`.
pub const NO_ENTRY: i32 = 2;
/// `EMFILE`.
pub const TOO_MANY_FILES: i32 = 24;
/// `ENOSYS`.
pub const NO_SUCH_CALL: i32 = 38;
/// `EINVAL`.
pub const INVALID: i32 = 22;

/// Opens a file for reading.
///
/// # Safety
/// `path` ends in a NUL.
pub unsafe fn open(path: *const u8) -> Result<Descriptor, i32> {
    // SAFETY: the caller promises a terminated path; the call writes nothing here.
    outcome(unsafe { call6(number::OPENAT, [AT_FDCWD, path as usize, O_CLOEXEC, 0, 0, 0]) })
}

/// Reads at an offset; short if the file ends.
pub fn read_at(descriptor: Descriptor, into: &mut [u8], offset: usize) -> Result<usize, i32> {
    let args = [descriptor, into.as_mut_ptr() as usize, into.len(), offset, 0, 0];
    // SAFETY: the kernel writes at most `into.len()` bytes to `into`.
    outcome(unsafe { call6(number::PREAD64, args) })
}

/// Writes once; may be short.
pub fn write(descriptor: Descriptor, bytes: &[u8]) -> Result<usize, i32> {
    // SAFETY: the kernel only reads `bytes`.
    outcome(unsafe { call6(number::WRITE, [descriptor, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) })
}

/// Writes at an offset; may be short.
pub fn write_at(descriptor: Descriptor, bytes: &[u8], offset: usize) -> Result<usize, i32> {
    let args = [descriptor, bytes.as_ptr() as usize, bytes.len(), offset, 0, 0];
    // SAFETY: the kernel only reads `bytes`.
    outcome(unsafe { call6(number::PWRITE64, args) })
}

const FALLOC_FL_KEEP_SIZE: usize = 1;
const FALLOC_FL_PUNCH_HOLE: usize = 2;

/// Gives the memory behind a part of a memory file back. If the kernel cannot, it stays.
pub fn punch(descriptor: Descriptor, offset: usize, size: usize) {
    let args = [descriptor, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, offset, size, 0, 0];
    // SAFETY: touches no memory of this process; the caller no longer maps that part.
    let _ = unsafe { call6(number::FALLOCATE, args) };
}

/// Sets a file's size.
pub fn truncate(descriptor: Descriptor, size: usize) -> Result<(), i32> {
    // SAFETY: numbers only.
    outcome(unsafe { call6(number::FTRUNCATE, [descriptor, size, 0, 0, 0, 0]) }).map(|_| ())
}

/// Closes a descriptor.
pub fn close(descriptor: Descriptor) {
    // SAFETY: touches no memory.
    let _ = unsafe { call6(number::CLOSE, [descriptor, 0, 0, 0, 0, 0]) };
}

/// Reads a symbolic link; returns the length.
///
/// # Safety
/// `path` ends in a NUL.
pub unsafe fn read_link(path: *const u8, into: &mut [u8]) -> Result<usize, i32> {
    let args = [AT_FDCWD, path as usize, into.as_mut_ptr() as usize, into.len(), 0, 0];
    // SAFETY: the kernel writes at most `into.len()` bytes to `into`.
    outcome(unsafe { call6(number::READLINKAT, args) })
}

/// The current directory with its NUL; returns the length, NUL included.
pub fn current_directory(into: &mut [u8]) -> Result<usize, i32> {
    // SAFETY: the kernel writes at most `into.len()` bytes to `into`.
    outcome(unsafe { call6(number::GETCWD, [into.as_mut_ptr() as usize, into.len(), 0, 0, 0, 0]) })
}

const MFD_CLOEXEC: usize = 1;
const MFD_NOEXEC_SEAL: usize = 8;

/// A file in memory that an exec closes.
///
/// `MFD_NOEXEC_SEAL` (Linux 6.3) is asked for first, since `vm.memfd_noexec=2` refuses anything else; it forbids
/// execve(2) of the file, not the mapping of code. Older kernels do not know it.
///
/// # Safety
/// `name` ends in a NUL.
pub unsafe fn memory_file(name: *const u8) -> Result<Descriptor, i32> {
    // SAFETY: the caller promises a terminated name.
    let create = |flags| outcome(unsafe { call6(number::MEMFD_CREATE, [name as usize, flags, 0, 0, 0, 0]) });
    match create(MFD_CLOEXEC | MFD_NOEXEC_SEAL) {
        Err(INVALID) => create(MFD_CLOEXEC),
        result => result,
    }
}

/// Ends the process.
pub fn exit(code: usize) -> ! {
    loop {
        // SAFETY: does not return.
        let _ = unsafe { call6(number::EXIT_GROUP, [code, 0, 0, 0, 0, 0]) };
    }
}

pub const PROT_NONE: usize = 0;
pub const PROT_READ: usize = 1;
pub const PROT_WRITE: usize = 2;
pub const PROT_EXEC: usize = 4;
pub const MAP_PRIVATE: usize = 0x02;
pub const MAP_FIXED: usize = 0x10;
pub const MAP_ANONYMOUS: usize = 0x20;
pub const MAP_POPULATE: usize = 0x8000;

/// What to map, and where.
pub struct Mapping {
    pub address: usize,
    pub size: usize,
    pub protection: usize,
    pub flags: usize,
    /// `None` for anonymous memory.
    pub file: Option<(Descriptor, usize)>,
}

/// mmap(2).
///
/// # Safety
/// With `MAP_FIXED`, nothing that is still needed is in the range.
pub unsafe fn map(mapping: &Mapping) -> Result<usize, i32> {
    let (descriptor, offset) = mapping.file.unwrap_or((usize::MAX, 0));
    let args = [mapping.address, mapping.size, mapping.protection, mapping.flags, descriptor, offset];
    // SAFETY: what it replaces is the caller's promise.
    outcome(unsafe { call6(number::MMAP, args) })
}

/// munmap(2).
///
/// # Safety
/// Nothing refers to the range any more.
pub unsafe fn unmap(address: usize, size: usize) {
    // SAFETY: the caller's promise.
    let _ = unsafe { call6(number::MUNMAP, [address, size, 0, 0, 0, 0]) };
}
