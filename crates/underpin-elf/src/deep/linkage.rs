//! How a file was linked.
//!
//! ET_DYN says little: libraries, programs and loaders share it. A program has PT_INTERP, unless it is static; then
//! DF_1_PIE (binutils since 2.26, lld) or DT_DEBUG (any linker, for programs) distinguishes it from a library. A
//! library may have PT_INTERP too (`libc.so.6`): it has a soname and neither mark.

use crate::{Dynamic, Elf, FileType, Linkage, Vaddr};

/// The linkage of a file; `defines_loader`: it defines symbols that only a dynamic loader has.
pub(crate) fn of(elf: &Elf, defines_loader: bool) -> Linkage {
    match elf.ident.file_type {
        FileType::Relocatable => Linkage::Relocatable,
        FileType::Core => Linkage::CoreDump,
        FileType::Other(_) => Linkage::Other,
        FileType::Executable | FileType::Dynamic if is_debug_file(elf) => Linkage::DebugFile,
        FileType::Executable if elf.interpreter.is_some() => Linkage::DynamicExecutable,
        FileType::Executable => Linkage::StaticExecutable,
        FileType::Dynamic => dynamic_file(elf, defines_loader),
    }
}

fn dynamic_file(elf: &Elf, defines_loader: bool) -> Linkage {
    let as_program = elf.dynamic.as_ref().is_some_and(|dynamic| dynamic.flags.pie() || dynamic.debug);
    let has_soname = elf.dynamic.as_ref().is_some_and(|dynamic| dynamic.soname.is_some());
    match (elf.interpreter.is_some(), as_program) {
        (true, false) if has_soname => Linkage::RunnableLibrary,
        (true, _) => Linkage::DynamicPie,
        (false, true) if elf.dynamic.as_ref().is_none_or(|dynamic| dynamic.needed.is_empty()) => Linkage::StaticPie,
        (false, _) if elf.dynamic.as_ref().is_some_and(|dynamic| is_loader(elf, dynamic, defines_loader)) => {
            Linkage::Loader
        }
        (false, _) => Linkage::SharedLibrary,
    }
}

/// A loader is a library without dependencies that can be started and defines a loader's symbols (Debian's musl has no
/// soname), or has the name of one.
fn is_loader(elf: &Elf, dynamic: &Dynamic, defines_loader: bool) -> bool {
    let named = dynamic.soname.as_ref().is_some_and(|soname| {
        soname.starts_with(b"ld-linux") || soname.starts_with(b"ld.so") || soname.starts_with(b"ld64.so")
    });
    dynamic.needed.is_empty() && elf.entry != Vaddr(0) && (named || defines_loader)
}

/// The code is elsewhere: `objcopy --only-keep-debug` keeps the segments and drops their bytes.
fn is_debug_file(elf: &Elf) -> bool {
    let mut code = elf.loads().filter(|load| load.flags.execute && load.memory_size > 0).peekable();
    code.peek().is_some() && code.all(|load| load.file_size == 0)
}
