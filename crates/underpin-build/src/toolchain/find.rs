//! Looking for compilers, and asking them what they are.

use super::{Clang, CompilerFamily, Gcc, LibcOf, Musl, Rust, Toolchains, Zig};
use crate::Processor;
use bstr::ByteSlice;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_sys::{QUESTION_LIMIT, answer};

/// Where to look.
#[derive(Clone, Debug)]
pub struct Finder {
    /// Folders of programs, in the order of PATH.
    pub path: Vec<PathBuf>,
    /// The root of the file system with `/usr/lib/...-linux-musl`.
    pub root: PathBuf,
    /// The project: rustup chooses the toolchain by folder.
    pub folder: PathBuf,
}

impl Finder {
    /// This machine, seen from a folder.
    #[must_use]
    pub fn here(folder: &Path) -> Finder {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Finder { path: std::env::split_paths(&path).collect(), root: "/".into(), folder: folder.to_owned() }
    }

    /// The first program of a name.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        self.path.iter().map(|folder| folder.join(name)).find(|path| is_executable(path))
    }

    /// What a program prints, without the white space around it; `None` if it fails.
    fn ask<A: AsRef<OsStr>>(&self, program: &Path, arguments: &[A]) -> Option<String> {
        let mut command = Command::new(program);
        command.args(arguments).env("LC_ALL", "C");
        if self.folder.is_dir() {
            command.current_dir(&self.folder);
        }
        let output = answer(&mut command, QUESTION_LIMIT).ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

impl Toolchains {
    /// Looks for everything but Rust, which a C project does not need.
    #[must_use]
    pub fn find(finder: &Finder) -> Toolchains {
        let clang = clang(finder);
        Toolchains { rust: None, zig: zig(finder), gcc: gccs(finder), clang, musl: musls(finder) }
    }

    /// Looks for one kind of compiler and what it needs: asking all of them takes most of a second.
    #[must_use]
    pub fn find_one(finder: &Finder, family: CompilerFamily) -> Toolchains {
        match family {
            CompilerFamily::Zig => Toolchains { zig: zig(finder), ..Toolchains::default() },
            CompilerFamily::Gcc => Toolchains { gcc: gccs(finder), musl: musls(finder), ..Toolchains::default() },
            CompilerFamily::Clang => Toolchains { zig: None, ..Toolchains::find(finder) },
        }
    }

    /// Looks for Rust too.
    #[must_use]
    pub fn with_rust(self, finder: &Finder) -> Toolchains {
        Toolchains { rust: rust(finder), ..self }
    }
}

/// rustc reports its folder and version; what is installed for a target is a folder of libraries.
fn rust(finder: &Finder) -> Option<Rust> {
    let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let rustc = named("RUSTC").or_else(|| finder.program("rustc"))?;
    let cargo = named("CARGO").or_else(|| finder.program("cargo"))?;
    let told = finder.ask(&rustc, &["-vV"])?;
    let field = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    let (version, host) = (field("release: ")?, field("host: ")?);
    let sysroot = PathBuf::from(finder.ask(&rustc, &["--print", "sysroot"])?);
    let libraries = sysroot.join("lib/rustlib");
    let has_std = |triple: &String| {
        let files = fs::read_dir(libraries.join(triple).join("lib")).into_iter().flatten().flatten();
        files.into_iter().any(|file| file.file_name().as_encoded_bytes().starts_with(b"libstd-"))
    };
    let mut targets: Vec<String> = fs::read_dir(&libraries)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(has_std)
        .collect();
    targets.sort();
    let lld = libraries.join(&host).join("bin/rust-lld");
    Some(Rust {
        has_source: libraries.join("src/rust/library/std/Cargo.toml").is_file(),
        by_rustup: finder.program("rustup").is_some()
            && sysroot.components().any(|part| part.as_os_str() == "toolchains"),
        lld: is_executable(&lld).then_some(lld).or_else(|| finder.program("ld.lld")),
        cargo,
        rustc,
        version,
        host,
        sysroot,
        targets,
    })
}

/// `zig` of PATH, or the one in Python's package `ziglang`.
fn zig(finder: &Finder) -> Option<Zig> {
    let of_python = || {
        let line = "import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))";
        let place = finder.ask(&finder.program("python3")?, &["-c", line])?;
        Some(PathBuf::from(place)).filter(|path| is_executable(path))
    };
    let program = finder.program("zig").or_else(of_python)?;
    let version = finder.ask(&program, &["version"])?;
    Some(Zig { program, version })
}

/// Every gcc by the name of its target, and this machine's own.
fn gccs(finder: &Finder) -> Vec<Gcc> {
    let mut found = Vec::new();
    for processor in Processor::ALL {
        for (libc, of_name) in [(LibcOf::Musl, "musl"), (LibcOf::Glibc, "gnu")] {
            let prefix = format!("{processor}-linux-{of_name}-");
            if let Some(gcc) = gcc(finder, &prefix, processor, libc) {
                found.push(gcc);
            }
        }
        if Processor::host() == Some(processor) {
            found.extend(own_gcc(finder, processor));
        }
    }
    found
}

/// A gcc whose name begins with its target.
fn gcc(finder: &Finder, prefix: &str, processor: Processor, libc: LibcOf) -> Option<Gcc> {
    let program = finder.program(&format!("{prefix}gcc"))?;
    let libc = if libc == LibcOf::Musl && is_script(&program) { LibcOf::MuslWrapper } else { libc };
    let beside = |name: &str| finder.program(&format!("{prefix}{name}"));
    let of_wrapper = |path: &Option<PathBuf>| libc == LibcOf::MuslWrapper && path.is_none();
    let ar = beside("ar");
    let ar = if of_wrapper(&ar) { finder.program("ar") } else { ar };
    // musl's wrapper has no C++ library for musl.
    let cxx = beside("g++").filter(|_| libc != LibcOf::MuslWrapper);
    finished(
        finder,
        Gcc { program, cxx, ar, processor, libc, version: String::new(), runtime: None, wants_find_object: false },
    )
}

/// A gcc with what it reports about itself; `None` if it does not start.
fn finished(finder: &Finder, gcc: Gcc) -> Option<Gcc> {
    let version = finder.ask(&gcc.program, &["-dumpfullversion"])?;
    let libgcc = finder.ask(&gcc.program, &["-print-file-name=libgcc.a"]).map(PathBuf::from);
    let runtime = libgcc.as_deref().and_then(Path::parent).filter(|folder| folder.is_absolute()).map(Path::to_owned);
    let unwinder = runtime.as_ref().and_then(|folder| fs::read(folder.join("libgcc_eh.a")).ok()).unwrap_or_default();
    let wants_find_object = unwinder.find(b"_dl_find_object").is_some();
    Some(Gcc { version, runtime, wants_find_object, ..gcc })
}

/// The machine's own gcc, and musl's wrapper of it under its short name.
fn own_gcc(finder: &Finder, processor: Processor) -> Vec<Gcc> {
    let of = |program: PathBuf, cxx: Option<PathBuf>, libc: LibcOf| {
        let (ar, version) = (finder.program("ar"), String::new());
        finished(finder, Gcc { program, cxx, ar, version, processor, libc, runtime: None, wants_find_object: false })
    };
    let wrapper = finder.program("musl-gcc").and_then(|program| of(program, None, LibcOf::MuslWrapper));
    let own = finder.program("gcc").or_else(|| finder.program("cc")).and_then(|program| {
        let machine = finder.ask(&program, &["-dumpmachine"])?;
        let libc = if machine.ends_with("musl") { LibcOf::Musl } else { LibcOf::Glibc };
        of(program, finder.program("g++").or_else(|| finder.program("c++")), libc)
    });
    wrapper.into_iter().chain(own).collect()
}

fn is_script(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"#!"))
}

/// clang, where its headers are, and what it can end a link with.
fn clang(finder: &Finder) -> Option<Clang> {
    let program = finder.program("clang")?;
    let told = finder.ask(&program, &["--version"])?;
    let version = told.split_whitespace().skip_while(|word| *word != "version").nth(1)?;
    let version = version.split(['-', '+']).next().unwrap_or_default().to_owned();
    let resources = PathBuf::from(finder.ask(&program, &["-print-resource-dir"])?);
    let builtins = |processor: Processor| {
        ["compiler-rt", "libgcc"].into_iter().find_map(|library| {
            let target = format!("--target={processor}-linux-gnu");
            let arguments = [target.as_str(), &format!("--rtlib={library}"), "-print-libgcc-file-name"];
            let path = PathBuf::from(finder.ask(&program, &arguments)?);
            path.is_file().then_some((processor, path))
        })
    };
    Some(Clang {
        builtins: Processor::ALL.into_iter().filter_map(builtins).collect(),
        has_lld: finder.program("ld.lld").is_some(),
        cxx: finder.program("clang++"),
        ar: finder.program("llvm-ar").or_else(|| finder.program("ar")),
        program,
        version,
        resources,
    })
}

/// A musl for each processor: as Debian lays it out, and as musl's own installation does.
fn musls(finder: &Finder) -> Vec<Musl> {
    let mut found = Vec::new();
    for processor in Processor::ALL {
        let triple = format!("{processor}-linux-musl");
        let places = [
            (format!("usr/lib/{triple}"), format!("usr/include/{triple}")),
            ("usr/local/musl/lib".to_owned(), "usr/local/musl/include".to_owned()),
        ];
        for (libraries, headers) in places {
            let (libraries, headers) = (finder.root.join(libraries), finder.root.join(headers));
            let of_any = libraries.ends_with("musl/lib");
            if (of_any && Processor::host() != Some(processor)) || !libraries.join("libc.a").is_file() {
                continue;
            }
            let version = musl_version(&libraries.join("libc.a"));
            let kernel = kernel_headers(&finder.root, processor, &headers);
            found.push(Musl { processor, libraries, headers, version, kernel });
            break;
        }
    }
    found
}

/// Folders of the kernel's headers (linux-libc-dev), which are the same for every C library. zig brings them.
fn kernel_headers(root: &Path, processor: Processor, beside: &Path) -> Vec<(String, PathBuf)> {
    const FOLDERS: [&str; 9] = ["linux", "asm-generic", "drm", "misc", "mtd", "rdma", "sound", "video", "xen"];
    if beside.join("linux").is_dir() || Processor::host() != Some(processor) {
        return Vec::new();
    }
    let all = root.join("usr/include");
    let asm = [all.join(format!("{processor}-linux-gnu/asm")), all.join("asm")];
    let asm = asm.into_iter().map(|path| ("asm".to_owned(), path));
    let rest = FOLDERS.map(|name| (name.to_owned(), all.join(name)));
    let mut found: Vec<(String, PathBuf)> = asm.chain(rest).filter(|(_, path)| path.is_dir()).collect();
    found.dedup_by(|one, other| one.0 == other.0);
    let is_whole = ["linux", "asm"].iter().all(|name| found.iter().any(|(known, _)| known == name));
    if is_whole { found } else { Vec::new() }
}

/// The version in a musl, shared or not: the number is a separate string in it (`src/internal/version.c`).
pub(super) fn musl_version(file: &Path) -> Option<String> {
    let bytes = fs::read(file).ok()?;
    let is_version = |text: &&[u8]| {
        text.len() <= 12 && text.starts_with(b"1.") && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
    };
    let has_three_parts = |text: &&[u8]| text.iter().filter(|byte| **byte == b'.').count() == 2;
    let found = bytes.split(|byte| *byte == 0).filter(is_version).find(has_three_parts)?;
    found.to_str().ok().map(str::to_owned)
}
