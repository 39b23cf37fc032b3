//! Compilers of glibc made to link a static program with musl: every start file and library by its path.
//!
//! Left to themselves they fail silently. `musl-gcc -static-pie` makes a program that names a loader, since its specs
//! know no such option; clang for `x86_64-linux-musl` takes glibc's headers and start files if it finds no others.

use super::{Clang, Gcc, Musl};
use crate::Linkage;
use crate::tool::{Compiler, Dialect};
use std::path::Path;

/// The archive with what Debian's libgcc_eh needs and musl does not have, by its name in the folder of tools.
pub const SUPPORT_ARCHIVE: &str = "libunderpin_support.a";

/// The folder of links to the kernel's headers, in the folder of tools.
pub const KERNEL_HEADERS: &str = "kernel";

/// `_dl_find_object` of glibc 2.35, which a libgcc built for that one calls to find the frames of an address: by
/// dl_iterate_phdr, which every C library has. Fields as in glibc's `dlfcn.h`.
pub const SUPPORT_SOURCE: &str = include_str!("find_object.c");

/// Start and end files of musl and of the compiler, for a linkage.
fn files(musl: &Path, runtime: Option<&Path>, linkage: Linkage) -> (Vec<String>, Vec<String>) {
    let (entry, begin, end) = match linkage {
        Linkage::StaticPie => ("rcrt1.o", "crtbeginS.o", "crtendS.o"),
        _ => ("crt1.o", "crtbeginT.o", "crtend.o"),
    };
    let of = |folder: &Path, name: &str| folder.join(name).display().to_string();
    let mut start = vec![of(musl, entry), of(musl, "crti.o")];
    let mut last = Vec::new();
    if let Some(runtime) = runtime {
        start.push(of(runtime, begin));
        last.push(of(runtime, end));
    }
    last.push(of(musl, "crtn.o"));
    (start, last)
}

/// musl's wrapper of gcc. `None` if the gcc behind it does not report where its start files are.
pub fn musl_gcc(gcc: &Gcc, program: &Path, musl: &Musl, linkage: Linkage, support: &Path) -> Option<Compiler> {
    let runtime = gcc.runtime.as_deref()?;
    if linkage == Linkage::Dynamic {
        // The wrapper's specs name start files, loader and libc.so. libgcc_s is glibc's: its unwinder is linked in.
        let mut end = vec!["-Wl,--start-group".to_owned(), "-lgcc_eh".to_owned(), "-lgcc".to_owned()];
        if gcc.wants_find_object {
            end.push(support.display().to_string());
        }
        end.extend(["-Wl,--end-group", "-lc"].map(str::to_owned));
        let (leading, start) = (Vec::new(), Vec::new());
        return Some(Compiler { program: program.to_owned(), leading, dialect: Dialect::Foreign, start, end });
    }
    let (start, last) = files(&musl.libraries, Some(runtime), linkage);
    let mut end: Vec<String> = ["-Wl,--start-group", "-lc", "-lgcc", "-lgcc_eh"].map(str::to_owned).to_vec();
    if gcc.wants_find_object {
        end.push(support.display().to_string());
    }
    end.push("-Wl,--end-group".to_owned());
    end.extend(last);
    Some(Compiler { program: program.to_owned(), leading: Vec::new(), dialect: Dialect::Foreign, start, end })
}

/// What a dynamic program for musl begins with, and its last files.
fn dynamic(musl: &Musl, runtime: Option<&Path>) -> (Vec<String>, Vec<String>) {
    let (mut objects, last) = files(&musl.libraries, runtime, Linkage::StaticPie);
    if let Some(first) = objects.first_mut() {
        *first = musl.libraries.join("Scrt1.o").display().to_string();
    }
    let loader = format!("-Wl,-dynamic-linker,/lib/ld-musl-{}.so.1", musl.processor);
    let options = ["-nostdlib", "-pie", "-Wl,--eh-frame-hdr", &loader].map(str::to_owned);
    let start = options.into_iter().chain([format!("-L{}", musl.libraries.display())]).chain(objects);
    (start.collect(), last)
}

/// A gcc for glibc, without a wrapper, made to use a musl. `None` if it does not report where its start files are.
pub fn gcc_for_musl(gcc: &Gcc, musl: &Musl, linkage: Linkage, support: &Path) -> Option<Compiler> {
    let runtime = gcc.runtime.as_deref()?;
    let mut leading = vec!["-nostdinc".to_owned()];
    for folder in [musl.headers.clone(), runtime.join("include")] {
        leading.extend(["-isystem".to_owned(), folder.display().to_string()]);
    }
    let libraries = format!("-L{}", musl.libraries.display());
    if linkage == Linkage::Dynamic {
        let (start, last) = dynamic(musl, Some(runtime));
        let end = musl_gcc(gcc, &gcc.program, musl, linkage, support)?.end.into_iter().chain(last).collect();
        return Some(Compiler { program: gcc.program.clone(), leading, dialect: Dialect::Foreign, start, end });
    }
    let linked = musl_gcc(gcc, &gcc.program, musl, linkage, support)?;
    let start = std::iter::once(libraries).chain(linked.start).collect();
    Some(Compiler { leading, start, ..linked })
}

/// clang for musl. `None` without lld, or without the functions that compiled code calls.
pub fn musl_clang(clang: &Clang, musl: &Musl, linkage: Linkage) -> Option<Compiler> {
    let builtins = clang.builtins.iter().find(|(processor, _)| *processor == musl.processor)?;
    if !clang.has_lld {
        return None;
    }
    // Of what comes before every command a compilation needs one half and a link the other; with -Werror a warning of that ends a build.
    let mut leading = vec![format!("--target={}-linux-musl", musl.processor)];
    leading.extend(["-nostdinc", "-Wno-unused-command-line-argument"].map(str::to_owned));
    for folder in [clang.resources.join("include"), musl.headers.clone()] {
        leading.extend(["-isystem".to_owned(), folder.display().to_string()]);
    }
    let (mut start, last) = match linkage {
        Linkage::Dynamic => dynamic(musl, None),
        _ => files(&musl.libraries, None, linkage),
    };
    start.extend(["-fuse-ld=lld".to_owned(), format!("-L{}", musl.libraries.display())]);
    let mut end = vec!["-lc".to_owned(), builtins.1.display().to_string()];
    end.extend(last);
    Some(Compiler { program: clang.program.clone(), leading, dialect: Dialect::Foreign, start, end })
}
