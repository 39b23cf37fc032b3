//! Objects that only run at the address that a linker gives them. What this build compiles runs at any address, whatever a makefile
//! says of PIE; Go and GHC compile by themselves, to other objects, and say `-no-pie` where they link.

use super::cc::says_fixed;
use super::options::{Purpose, inputs, purpose};
use super::{Compiler, Dialect, Tool, ToolPlan};
use crate::{Linkage, Processor};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use underpin_elf::{Class, Details, Elf, Endian, FileType, Section, SectionKind, Source};

/// `SHT_RELA` (gABI, "Sections"): the relocations of another section, whose index is in `sh_info`.
const SHT_RELA: SectionKind = SectionKind::Other(4);
/// Bytes of an `Elf64_Rela`; its type is the lower half of the second eight.
const RELA: usize = 24;
/// Bytes of relocations that are read at once.
const CHUNK: usize = 1024 * RELA;

/// The plan of one link, if it says `-no-pie` and has an object that it is true of, and a remark if something else was asked for.
pub(super) fn plan(
    plan: &ToolPlan,
    tool: Tool,
    arguments: &[OsString],
    is_fixed: &dyn Fn(&OsStr) -> bool,
) -> Option<(ToolPlan, Option<String>)> {
    let links = matches!(tool, Tool::Cc | Tool::Cxx) && plan.spec.linkage != Linkage::Static;
    if !links || !arguments.iter().any(|word| says_fixed(word)) || purpose(arguments) != Purpose::Program {
        return None;
    }
    let mut files = inputs(arguments).into_iter().map(|at| &arguments[at]);
    let object = files.find(|file| Path::new(file).extension() == Some(OsStr::new("o")) && is_fixed(file))?;
    let mut plan = plan.clone();
    let mut remark = None;
    if plan.spec.linkage == Linkage::StaticPie {
        plan.spec.linkage = Linkage::Static;
        let name = Path::new(object).display();
        remark = Some(format!("{name} was compiled for a fixed address: the program is static, and no PIE"));
    }
    let begin = if plan.spec.linkage == Linkage::Static { "crtbeginT.o" } else { "crtbegin.o" };
    [&mut plan.cc, &mut plan.cxx].into_iter().flatten().for_each(|compiler| place(compiler, begin));
    Some((plan, remark))
}

/// The start files of a program for one address, and a compiler that adds no `-pie` of its own.
fn place(compiler: &mut Compiler, begin: &str) {
    let files = [("rcrt1.o", "crt1.o"), ("Scrt1.o", "crt1.o"), ("crtbeginS.o", begin), ("crtendS.o", "crtend.o")];
    compiler.start.retain(|word| word != "-pie");
    for word in compiler.start.iter_mut().chain(&mut compiler.end) {
        let Some((folder, name)) = word.rsplit_once('/') else { continue };
        if let Some((_, of_one)) = files.iter().find(|(of_any, _)| *of_any == name) {
            *word = format!("{folder}/{of_one}");
        }
    }
    if compiler.dialect != Dialect::Zig {
        compiler.leading.push("-no-pie".to_owned());
    }
}

/// Whether a file is an object with an absolute address in what is not written to: in a program for any address the loader would
/// have to write there (`DT_TEXTREL`), or there is no room for the address.
#[must_use]
pub fn is_fixed<S: Source + ?Sized>(file: &S) -> bool {
    let Ok(elf) = Elf::read(file) else { return false };
    let mut processors = Processor::ALL.into_iter();
    let Some(processor) = processors.find(|known| known.machine() == elf.ident.machine) else { return false };
    let shape = (elf.ident.file_type, elf.ident.class, elf.ident.endian);
    if shape != (FileType::Relocatable, Class::Elf64, Endian::Little) {
        return false;
    }
    let Ok(Details { sections, .. }) = Details::read(file, &elf) else { return false };
    let of_constants = |table: &&Section| {
        let of = usize::try_from(table.info).ok().and_then(|index| sections.get(index));
        table.kind == SHT_RELA && of.is_some_and(|section| section.is_allocated() && !section.is_writable())
    };
    sections.iter().filter(of_constants).any(|table| has_address(file, table, processor))
}

fn has_address<S: Source + ?Sized>(file: &S, table: &Section, processor: Processor) -> bool {
    let (mut at, end) = (table.offset.0, table.offset.0.saturating_add(table.size).min(file.len()));
    let mut buffer = [0; CHUNK];
    while at < end {
        let size = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
        let part = &mut buffer[..size];
        if file.read_exact_at(at, part).is_err() {
            return false;
        }
        let mut entries = part.chunks_exact(RELA);
        if entries.any(|entry| is_address(processor, u32::from_le_bytes([entry[8], entry[9], entry[10], entry[11]]))) {
            return true;
        }
        at += size as u64;
    }
    false
}

/// Whether a relocation of this type is an address, or a part of one (the processors' supplements to the ELF specification).
fn is_address(processor: Processor, kind: u32) -> bool {
    match processor {
        // R_X86_64_64, R_X86_64_32, R_X86_64_32S.
        Processor::X86_64 => matches!(kind, 1 | 10 | 11),
        // R_AARCH64_ABS64, R_AARCH64_ABS32, and those of MOVW (R_AARCH64_MOVW_UABS_G0 to _G3).
        Processor::Aarch64 => matches!(kind, 257 | 258 | 263..=269),
        // R_RISCV_32, R_RISCV_64, R_RISCV_HI20.
        Processor::Riscv64 => matches!(kind, 1 | 2 | 26),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    fn object(options: &[&str]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let (source, object) = (folder.path().join("a.c"), folder.path().join("a.o"));
        let text = "extern int x[]; int *const place = x; static const char *const names[] = {\"a\", \"b\"};\n\
                    int f(int i) { return names[i & 1][0] + x[i]; }\n";
        fs::write(&source, text).unwrap();
        let mut command = Command::new("cc");
        command.args(["-O1", "-g", "-c"]).args(options).arg(&source).arg("-o").arg(&object);
        assert!(command.status().unwrap().success(), "{options:?}");
        fs::read(object).unwrap()
    }

    #[test]
    fn an_object_is_fixed_as_its_compiler_was_told() {
        for (options, fixed) in [
            (&["-fno-pie"][..], true),
            (&["-fno-pie", "-mcmodel=large"][..], true),
            (&["-fPIE"][..], false),
            (&["-fPIC"][..], false),
            (&["-fPIC", "-mcmodel=large"][..], false),
        ] {
            if cfg!(target_arch = "x86_64") || !options.contains(&"-mcmodel=large") {
                assert_eq!(is_fixed(object(options).as_slice()), fixed, "{options:?}");
            }
        }
    }

    #[test]
    fn what_is_no_object_is_not_fixed() {
        let mut cut = object(&["-fno-pie"]);
        for length in (0..cut.len()).rev().step_by(97) {
            cut.truncate(length);
            // No answer is wrong for what is cut off, but there is one.
            let _ = is_fixed(cut.as_slice());
        }
        assert!(!is_fixed(&b"#!/bin/sh\n"[..]));
        let program = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!is_fixed(program.as_slice()));
    }
}
