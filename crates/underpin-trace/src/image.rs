//! Where a freshly executed program lies in memory: its ranges, its entry point, its loader and the function that the
//! loader calls when it has changed the list of objects (`_dl_debug_state`, the debuggers' hook: `gdb`'s and ours).
//!
//! Read from the process right after its exec, before it has run an instruction.

use crate::PathText;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use underpin_elf::{Elf, Source, Vaddr};
use underpin_sys::{AuxVector, RawPid, SysError, auxv, read_memory, read_string};

const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;
const PT_PHDR: u32 = 6;
const HEADER: usize = 56;
/// More program headers than any real program has; a hostile count is cut here.
const MAX_HEADERS: usize = 128;

/// A program image and its loader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    pub(crate) entry: u64,
    /// All memory of the program's segments.
    pub(crate) range: Range<u64>,
    /// Its executable segments.
    text: Vec<Range<u64>>,
    pub(crate) interpreter: Option<PathText>,
    pub(crate) loader_base: u64,
}

/// The loader's hook for debuggers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoaderHook {
    /// `_dl_debug_state`.
    pub(crate) function: u64,
    /// `r_state` of `_r_debug`; `None` for musl, which calls the hook once, when it is ready.
    pub(crate) state: Option<u64>,
}

impl Image {
    /// Reads the image of a process that has just executed it.
    pub(crate) fn of(pid: RawPid) -> Result<Image, SysError> {
        let aux = auxv(pid)?;
        let headers = program_headers(pid, &aux)?;
        let bias = bias(&headers, &aux);
        let mut image = Image { entry: aux.entry, loader_base: aux.loader_base, ..Image::default() };
        for header in &headers {
            let start = bias.wrapping_add(header.vaddr);
            let memory = start..start.saturating_add(header.size);
            match header.kind {
                PT_LOAD => {
                    let lowest = if image.range.is_empty() { memory.start } else { image.range.start };
                    image.range = lowest.min(memory.start)..image.range.end.max(memory.end);
                    if header.flags & 1 != 0 {
                        image.text.push(memory);
                    }
                }
                PT_INTERP if aux.loader_base != 0 => {
                    let mut scratch = Vec::new();
                    image.interpreter = Some(PathText::new(read_string(pid, start, &mut scratch)?));
                }
                _ => {}
            }
        }
        Ok(image)
    }

    /// Whether an address is in the program's own code.
    pub(crate) fn in_text(&self, address: u64) -> bool {
        self.text.iter().any(|range| range.contains(&address))
    }

    /// The loader's hook, or why it is not known.
    pub(crate) fn loader_hook(&self) -> Result<LoaderHook, String> {
        let path = self.interpreter.as_ref().ok_or("the program has no loader")?;
        let path: &Path = Path::new(std::str::from_utf8(path.bytes()).map_err(|_| "the loader's path is not UTF-8")?);
        let file = Disk::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let elf = Elf::read(&file).map_err(|error| format!("{}: {error}", path.display()))?;
        let lowest = elf.loads().map(|load| load.vaddr.0).min().unwrap_or(0) & !0xfff;
        let bias = self.loader_base.wrapping_sub(lowest);
        let find = |name: &str| crate::symbols::exported(&file, &elf, name).map(|Vaddr(at)| bias.wrapping_add(at));
        let function = find("_dl_debug_state").ok_or("the loader does not export _dl_debug_state")?;
        // struct r_debug: version, map, brk, state; the pointers are aligned.
        let state = find("_r_debug").map(|at| at + 24);
        Ok(LoaderHook { function, state })
    }
}

struct Header {
    kind: u32,
    flags: u32,
    offset: u64,
    vaddr: u64,
    size: u64,
}

fn program_headers(pid: RawPid, aux: &AuxVector) -> Result<Vec<Header>, SysError> {
    let count = (aux.program_header_count as usize).min(MAX_HEADERS);
    if aux.program_header_size as usize != HEADER {
        return Ok(Vec::new());
    }
    let mut bytes = vec![0; count * HEADER];
    let read = read_memory(pid, aux.program_headers, &mut bytes)?;
    let half = |bytes: &[u8], at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
    let word = |bytes: &[u8], at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
    let parse = |bytes: &[u8]| Header {
        kind: half(bytes, 0),
        flags: half(bytes, 4),
        offset: word(bytes, 8),
        vaddr: word(bytes, 16),
        size: word(bytes, 40),
    };
    Ok(bytes[..read].chunks_exact(HEADER).map(parse).collect())
}

/// What the kernel added to the file's addresses. PT_PHDR says it; without one (static programs) the headers are
/// taken to follow the ELF header, as every linker writes them.
fn bias(headers: &[Header], aux: &AuxVector) -> u64 {
    const ELF_HEADER: u64 = 64;
    let stated = headers.iter().find(|header| header.kind == PT_PHDR).map(|header| header.vaddr);
    let first = || {
        let load = headers.iter().find(|header| header.kind == PT_LOAD && header.offset == 0)?;
        Some(load.vaddr.wrapping_add(ELF_HEADER))
    };
    stated.or_else(first).map_or(0, |vaddr| aux.program_headers.wrapping_sub(vaddr))
}

/// An open file as a source of bytes.
pub(crate) struct Disk(File, u64);

impl Disk {
    pub(crate) fn open(path: &Path) -> std::io::Result<Disk> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Disk(file, length))
    }
}

impl Source for Disk {
    fn len(&self) -> u64 {
        self.1
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<()> {
        FileExt::read_exact_at(&self.0, buf, offset)
    }
}
