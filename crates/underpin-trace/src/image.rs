//! The memory layout of a freshly executed program: its ranges, its entry point, its loader, and the function that the
//! loader calls after changing the list of objects (`_dl_debug_state`, the hook that `gdb` uses too).
//!
//! Read from the process right after its exec, before it has run an instruction.

use crate::PathText;
use crate::symbols::exported;
use std::ffi::OsStr;
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_elf::{Elf, FileSource, Notes, Vaddr};
use underpin_sys::{AuxVector, RawPid, SysError, auxv, read_memory, read_string};

const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;
const PT_PHDR: u32 = 6;
const HEADER: usize = 56;
/// More program headers than any real program has: a limit against hostile counts.
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
    /// `_dl_debug_state`, or the static probe `rtld:init_complete` of a loader that does not export it.
    pub(crate) function: u64,
    /// `r_state` of `_r_debug`; `None` if the hook is called only once the loader is ready (musl, the probe).
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
        let path = Path::new(OsStr::from_bytes(path.bytes()));
        let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = File::open(path).and_then(FileSource::new).map_err(|error| unreadable(&error))?;
        let elf = Elf::read(&file).map_err(|error| unreadable(&error))?;
        let lowest = elf.loads().map(|load| load.vaddr.0).min().unwrap_or(0) & !0xfff;
        let bias = self.loader_base.wrapping_sub(lowest);
        let find = |name: &str| exported(&file, &elf, name).map(|Vaddr(at)| bias.wrapping_add(at));
        if let Some(function) = find("_dl_debug_state") {
            // struct r_debug: version, map, brk, state; the pointers are aligned.
            return Ok(LoaderHook { function, state: find("_r_debug").map(|at| at + 24) });
        }
        let notes = Notes::read(&file, &elf).map_err(|error| unreadable(&error))?;
        let probe = notes.probes.iter().find(|probe| probe.provider == "rtld" && probe.name == "init_complete");
        let function = probe.map(|probe| bias.wrapping_add(probe.pc.0));
        let function = function.ok_or("the loader has neither _dl_debug_state nor the probe init_complete")?;
        Ok(LoaderHook { function, state: None })
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

/// The load bias: what the kernel added to the file's addresses. PT_PHDR gives it; without one (static programs) the
/// headers are assumed to follow the ELF header, as every linker writes them.
fn bias(headers: &[Header], aux: &AuxVector) -> u64 {
    const ELF_HEADER: u64 = 64;
    let stated = headers.iter().find(|header| header.kind == PT_PHDR).map(|header| header.vaddr);
    let first = || {
        let load = headers.iter().find(|header| header.kind == PT_LOAD && header.offset == 0)?;
        Some(load.vaddr.wrapping_add(ELF_HEADER))
    };
    stated.or_else(first).map_or(0, |vaddr| aux.program_headers.wrapping_sub(vaddr))
}

#[cfg(test)]
mod tests {
    use super::*;
    use underpin_test_support::{Fixture, need};

    /// A stand-in for a loader: one probe, and the hook if `HOOK` is defined.
    const LOADER: &str = r#"
#ifdef HOOK
void _dl_debug_state(void) {}
struct { int version; void *map, *brk; int state; } _r_debug = { 1, 0, 0, 1 };
#endif
__attribute__((visibility("default"))) void marked(void) {
    __asm__ volatile(
        "marker: nop\n.globl marker\n"
        ".pushsection .note.stapsdt,\"a\",%note\n.balign 4\n"
        ".long 2f-1f, 4f-3f, 3\n1: .asciz \"stapsdt\"\n2: .balign 4\n"
        "3: .quad marker, 0, 0\n.asciz \"rtld\"\n.asciz \"init_complete\"\n.asciz \"\"\n4: .balign 4\n.popsection\n");
}"#;

    fn hook(dir: &Fixture, flags: &[&str]) -> (LoaderHook, impl Fn(&str) -> u64 + use<>) {
        dir.write("loader.c", LOADER);
        let fixed = ["-shared", "-fPIC", "-nostdlib", "-Wl,-Bsymbolic", "-o", "loader.so", "loader.c"];
        dir.cc(fixed.iter().chain(flags));
        let path = PathText::new(dir.join("loader.so").as_os_str().as_bytes());
        let image = Image { interpreter: Some(path), loader_base: 0x7000_0000, ..Image::default() };
        let symbols = dir.must("nm", ["loader.so"]);
        let address = move |name: &str| {
            let line =
                symbols.lines().find(|line| line.ends_with(&format!(" {name}"))).expect("a symbol of the fixture");
            0x7000_0000 + u64::from_str_radix(&line[..16], 16).expect("an address")
        };
        (image.loader_hook().expect("a hook"), address)
    }

    #[test]
    fn the_hook_is_found_through_either_hash_table() {
        need!("cc", "nm");
        for style in ["-Wl,--hash-style=gnu", "-Wl,--hash-style=sysv"] {
            let dir = Fixture::new();
            let (hook, address) = hook(&dir, &["-DHOOK", style]);
            assert_eq!(hook.function, address("_dl_debug_state"), "{style}");
            assert_eq!(hook.state, Some(address("_r_debug") + 24), "{style}");
        }
    }

    #[test]
    fn a_loader_without_the_hook_is_marked_at_its_probe() {
        need!("cc", "nm");
        let dir = Fixture::new();
        let (hook, address) = hook(&dir, &[]);
        assert_eq!((hook.function, hook.state), (address("marker"), None));
    }

    #[test]
    fn a_file_that_is_no_loader_gives_a_reason() {
        let image = Image { interpreter: Some(PathText::new(b"/etc/passwd")), ..Image::default() };
        assert!(image.loader_hook().unwrap_err().starts_with("/etc/passwd: "));
    }
}
