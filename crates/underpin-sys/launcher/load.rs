//! Maps the loader as the kernel maps a PT_INTERP: one reservation for all of it, then each segment in its place
//! (Linux `fs/binfmt_elf.c`, `load_elf_interp`).

use crate::arch;
use crate::calls::{self, Descriptor, Mapping};

/// A loader that is mapped.
pub struct Loaded {
    /// What is added to its link-time addresses: AT_BASE.
    pub base: usize,
    /// Its entry point.
    pub entry: usize,
}

/// Why it cannot be mapped: an error number, or not a loader of this machine.
pub enum Failure {
    Call(i32),
    NotALoader,
}

impl From<i32> for Failure {
    fn from(error: i32) -> Failure {
        Failure::Call(error)
    }
}

/// ELF64 file header, as far as it is needed.
#[repr(C)]
pub struct FileHeader {
    ident: [u8; 16],
    kind: u16,
    machine: u16,
    version: u32,
    entry: u64,
    headers: u64,
    sections: u64,
    flags: u32,
    size: u16,
    header_size: u16,
    header_count: u16,
}

/// ELF64 program header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Header {
    kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    physical: u64,
    pub file_size: u64,
    memory_size: u64,
    align: u64,
}

const PT_LOAD: u32 = 1;
/// Bytes of the file that hold its program headers: as many as loaders themselves look at, and then some.
const HEAD: usize = 2048;

/// The start of a file.
#[repr(C, align(16))]
pub struct Start(pub [u8; HEAD]);

impl Start {
    pub const fn empty() -> Start {
        Start([0; HEAD])
    }
}

impl Header {
    /// `p_flags` as mmap(2) has them.
    pub fn protection(&self) -> usize {
        let one = |(flag, one)| if self.flags & flag != 0 { one } else { calls::PROT_NONE };
        one((4, calls::PROT_READ)) | one((2, calls::PROT_WRITE)) | one((1, calls::PROT_EXEC))
    }
}

/// Maps the loader that is at `place` of a file, and what is at another place and of a size right behind it.
pub fn map(
    descriptor: Descriptor,
    place: usize,
    (more, more_size): (usize, usize),
    page: usize,
) -> Result<Loaded, Failure> {
    let mut start = Start::empty();
    let read = calls::read_at(descriptor, &mut start.0, place)?;
    let (header, loads) = headers(&start, read).ok_or(Failure::NotALoader)?;
    let down = |address: usize| address & !(page - 1);
    let up = |address: usize| down(address + page - 1);
    let mut low = usize::MAX;
    let mut high = 0;
    for load in loads.clone() {
        low = low.min(down(load.address as usize));
        high = high.max(up((load.address + load.memory_size) as usize));
    }
    if low >= high {
        return Err(Failure::NotALoader);
    }
    let flags = calls::MAP_PRIVATE | calls::MAP_ANONYMOUS;
    let reservation = Mapping { address: 0, size: high - low + up(more_size), protection: calls::PROT_NONE, flags, file: None };
    // SAFETY: the kernel chooses a free place.
    let base = unsafe { calls::map(&reservation) }?.wrapping_sub(low);
    for load in loads {
        segment(&load, base, (descriptor, place), page)?;
    }
    if more_size > 0 {
        let (address, protection) = (base.wrapping_add(high), calls::PROT_READ | calls::PROT_EXEC);
        let flags = calls::MAP_PRIVATE | calls::MAP_FIXED;
        let mapping = Mapping { address, size: more_size, protection, flags, file: Some((descriptor, more)) };
        // SAFETY: the end of the reservation, which no segment reaches.
        unsafe { calls::map(&mapping) }?;
    }
    Ok(Loaded { base, entry: base.wrapping_add(header.entry as usize) })
}

/// The file header and the PT_LOADs of a 64-bit object of this machine.
pub fn headers(start: &Start, read: usize) -> Option<(&FileHeader, impl Iterator<Item = Header> + Clone)> {
    // SAFETY: 16-aligned, larger than the header, plain integers.
    let header = unsafe { &*start.0.as_ptr().cast::<FileHeader>() };
    let begin = header.headers as usize;
    let count = usize::from(header.header_count);
    let size = size_of::<Header>();
    let fits = begin.checked_add(count * size).is_some_and(|end| end <= read) && begin.is_multiple_of(8);
    let is_loader = header.ident.starts_with(b"\x7fELF\x02\x01") && header.machine == arch::MACHINE;
    if !fits || !is_loader || usize::from(header.header_size) != size {
        return None;
    }
    let table = start.0.as_ptr().wrapping_add(begin).cast::<Header>();
    let all = (0..count).map(move |index| {
        // SAFETY: inside the bytes read, aligned to 8, plain integers.
        unsafe { table.add(index).read() }
    });
    Some((header, all.filter(|header| header.kind == PT_LOAD && header.memory_size > 0)))
}

fn segment(load: &Header, base: usize, file: (Descriptor, usize), page: usize) -> Result<(), Failure> {
    let protection = load.protection();
    let address = base.wrapping_add(load.address as usize);
    let inside = load.address as usize & (page - 1);
    let file_end = address + load.file_size as usize;
    let memory_end = address + load.memory_size as usize;
    let flags = calls::MAP_PRIVATE | calls::MAP_FIXED;
    if load.file_size > 0 {
        let offset = file.1 + load.offset as usize - inside;
        let size = file_end - (address - inside);
        let mapping = Mapping { address: address - inside, size, protection, flags, file: Some((file.0, offset)) };
        // SAFETY: inside the reservation made for this loader.
        unsafe { calls::map(&mapping) }?;
    }
    if memory_end == file_end {
        return Ok(());
    }
    let pages = (file_end + page - 1) & !(page - 1);
    if load.flags & 2 != 0 && load.file_size > 0 {
        for byte in file_end..pages.min(memory_end.max(pages)) {
            // SAFETY: the rest of the last page of a writable mapping made above.
            unsafe { (byte as *mut u8).write_volatile(0) };
        }
    }
    if memory_end > pages {
        let flags = flags | calls::MAP_ANONYMOUS;
        let size = (memory_end - pages + page - 1) & !(page - 1);
        // SAFETY: inside the reservation made for this loader.
        unsafe { calls::map(&Mapping { address: pages, size, protection, flags, file: None }) }?;
    }
    Ok(())
}
