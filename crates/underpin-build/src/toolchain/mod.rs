//! Which tools on this machine build for which processor and C library, and what to install if none does.
//!
//! [`Toolchains::find`] looks and asks; [`Toolchains::choose`] decides and is pure. Programs are started with `--version` and
//! the like only.

mod choose;
mod find;
mod foreign;
mod missing;

pub use choose::{Needs, RustChoice, Toolchain};
pub use find::Finder;
pub use foreign::{KERNEL_HEADERS, SUPPORT_ARCHIVE, SUPPORT_SOURCE};
pub use missing::Missing;

use crate::{CLibrary, Processor, Spec};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A kind of C compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompilerFamily {
    /// zig, with a C library for every processor.
    Zig,
    /// gcc, musl's wrapper of it, or a cross gcc.
    Gcc,
    /// clang with lld.
    Clang,
}

impl CompilerFamily {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CompilerFamily::Zig => "zig",
            CompilerFamily::Gcc => "gcc",
            CompilerFamily::Clang => "clang",
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// Rust, as it is in the project's folder.
    pub rust: Option<Rust>,
    /// zig.
    pub zig: Option<Zig>,
    /// gcc in its forms.
    pub gcc: Vec<Gcc>,
    /// clang.
    pub clang: Option<Clang>,
    /// Folders with a musl to link with.
    pub musl: Vec<Musl>,
}

/// A C library in a folder, with the kernel's headers, for compilers that have none for the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysroot {
    /// The C library.
    pub musl: Musl,
    /// compiler-rt's functions for the target, which clang ends a link with.
    pub builtins: Option<PathBuf>,
}

impl Toolchains {
    /// The same with the C library of a folder instead of those of this machine, whose wrapper of gcc goes with them.
    #[must_use]
    pub fn with_sysroot(mut self, sysroot: Sysroot) -> Toolchains {
        self.gcc.retain(|gcc| gcc.libc != LibcOf::MuslWrapper);
        if let (Some(clang), Some(builtins)) = (&mut self.clang, sysroot.builtins) {
            clang.builtins = vec![(sysroot.musl.processor, builtins)];
        }
        self.musl = vec![sysroot.musl];
        self
    }

    /// Folders of the compilers' own files, of which any may be linked into a program.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        let gcc = self.gcc.iter().filter_map(|gcc| gcc.runtime.clone());
        let clang = self.clang.iter().flat_map(|clang| {
            let builtins = clang.builtins.iter().filter_map(|(_, path)| Some(path.parent()?.to_owned()));
            builtins.chain([clang.resources.clone()])
        });
        gcc.chain(clang).chain(self.musl.iter().map(|musl| musl.libraries.clone())).collect()
    }

    /// What each tool says of itself: another version is another text.
    pub(crate) fn versions(&self) -> Vec<String> {
        let rust = self.rust.iter().map(|rust| format!("{} {}", rust.rustc.display(), rust.version));
        let zig = self.zig.iter().map(|zig| format!("{} {}", zig.program.display(), zig.version));
        let gcc = self.gcc.iter().map(|gcc| format!("{} {}", gcc.program.display(), gcc.version));
        let clang = self.clang.iter().map(|clang| format!("{} {}", clang.program.display(), clang.version));
        let musl = self
            .musl
            .iter()
            .map(|musl| format!("{} {}", musl.libraries.display(), musl.version.as_deref().unwrap_or_default()));
        rust.chain(zig).chain(gcc).chain(clang).chain(musl).collect()
    }
}

/// Rust's compiler and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rust {
    /// cargo.
    pub cargo: PathBuf,
    /// rustc.
    pub rustc: PathBuf,
    /// `1.95.0`.
    pub version: String,
    /// The triple of this machine.
    pub host: String,
    /// Its folder.
    pub sysroot: PathBuf,
    /// Triples whose standard library is installed.
    pub targets: Vec<String>,
    /// The standard library's sources are there.
    pub has_source: bool,
    /// It is managed by rustup.
    pub by_rustup: bool,
    /// `rust-lld`, if it came with it.
    pub lld: Option<PathBuf>,
}

impl Rust {
    /// The version of the musl that came with a target's standard library.
    #[must_use]
    pub fn musl_version(&self, spec: &Spec) -> Option<String> {
        let folder = self.sysroot.join("lib/rustlib").join(spec.rust_triple());
        find::musl_version(&folder.join("lib/self-contained/libc.a"))
    }
}

/// zig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zig {
    /// The executable.
    pub program: PathBuf,
    /// `0.15.2`.
    pub version: String,
}

impl Zig {
    /// Whether its musl has musl's malloc. Since 0.16 there is another in its place, written in Zig: it keeps a size before each piece
    /// and gives no memory back (`lib/c/malloc.zig`, `std.heap.SmpAllocator`).
    #[must_use]
    pub fn has_musls_malloc(&self) -> bool {
        let mut numbers = self.version.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
        (numbers.next(), numbers.next()) < (Some(0), Some(16))
    }
}

/// A gcc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gcc {
    /// The executable.
    pub program: PathBuf,
    /// The C++ compiler beside it.
    pub cxx: Option<PathBuf>,
    /// The archiver of the same target.
    pub ar: Option<PathBuf>,
    /// `12.2.0`.
    pub version: String,
    /// For which processor.
    pub processor: Processor,
    /// For which C library.
    pub libc: LibcOf,
    /// The folder with its start files and libgcc.
    pub runtime: Option<PathBuf>,
    /// Its libgcc_eh calls glibc's `_dl_find_object`.
    pub wants_find_object: bool,
}

/// For which C library a gcc is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibcOf {
    /// glibc, its own.
    Glibc,
    /// musl, its own.
    Musl,
    /// A gcc for glibc behind musl's wrapper (`musl-gcc`).
    MuslWrapper,
}

impl LibcOf {
    /// Whether it builds for this C library.
    #[must_use]
    pub fn serves(self, libc: CLibrary) -> bool {
        match libc {
            CLibrary::Musl => self != LibcOf::Glibc,
            CLibrary::Glibc(version) => self == LibcOf::Glibc && version.is_none(),
        }
    }
}

/// clang with lld.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clang {
    /// The executable.
    pub program: PathBuf,
    /// `clang++`.
    pub cxx: Option<PathBuf>,
    /// `llvm-ar` or `ar`.
    pub ar: Option<PathBuf>,
    /// `14.0.6`.
    pub version: String,
    /// The folder with its own headers (`stddef.h`).
    pub resources: PathBuf,
    /// lld is installed.
    pub has_lld: bool,
    /// For each processor, the archive with the functions that compiled code calls: compiler-rt's builtins or libgcc.
    pub builtins: Vec<(Processor, PathBuf)>,
}

/// A musl to link with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Musl {
    /// For which processor.
    pub processor: Processor,
    /// With `libc.a` and the start files.
    pub libraries: PathBuf,
    /// With `stdio.h`.
    pub headers: PathBuf,
    /// `1.2.3`, if its loader shows it.
    pub version: Option<String>,
    /// The kernel's headers of this machine (`linux`, `asm`), if there are none beside musl's: they are of no C library.
    pub kernel: Vec<(String, PathBuf)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Dialect;
    use crate::{Allocator, Goal, Linkage};

    /// clang and a cross gcc with their own idea of a C library, as Debian's packages leave them.
    fn found() -> Toolchains {
        let clang = Clang {
            program: "/usr/bin/clang".into(),
            cxx: Some("/usr/bin/clang++".into()),
            ar: Some("/usr/bin/llvm-ar".into()),
            version: "14.0.6".to_owned(),
            resources: "/usr/lib/clang/14".into(),
            has_lld: true,
            builtins: vec![(Processor::Aarch64, "/usr/lib/gcc-cross/libgcc.a".into())],
        };
        Toolchains { clang: Some(clang), ..Toolchains::default() }
    }

    #[test]
    fn clang_for_musl_takes_headers_libraries_and_builtins_of_the_sysroot_alone() {
        let spec = Spec {
            processor: Processor::Aarch64,
            libc: CLibrary::Musl,
            linkage: Linkage::Static,
            allocator: Allocator::System,
            goal: Goal::Balanced,
            overlay: false,
        };
        let needs = Needs { rust: false, c: true, cxx: false };
        let choose = |toolchains: &Toolchains| {
            toolchains.choose(&spec, Some(CompilerFamily::Clang), needs, std::path::Path::new("/tools"))
        };
        assert!(choose(&found()).is_err(), "this machine has no musl for it");
        let (libraries, headers) = ("/store/root/usr/lib".into(), "/store/root/usr/include".into());
        let sysroot = Sysroot {
            musl: Musl { processor: Processor::Aarch64, libraries, headers, version: None, kernel: Vec::new() },
            builtins: Some("/store/root/usr/lib/builtins.a".into()),
        };
        let toolchains = found().with_sysroot(sysroot);
        let chosen = choose(&toolchains).unwrap();
        assert_eq!((chosen.family, &chosen.cxx), (Some(CompilerFamily::Clang), &None));
        let cc = chosen.cc.unwrap();
        assert_eq!(cc.dialect, Dialect::Foreign);
        assert!(cc.leading.contains(&"--target=aarch64-linux-musl".to_owned()), "{cc:?}");
        let linked = || cc.start.iter().chain(&cc.end).filter(|word| word.contains('/'));
        assert!(linked().all(|word| word.contains("/store/root/usr/lib")), "{cc:?}");
        assert!(linked().any(|word| word.ends_with("builtins.a")), "{cc:?}");
        assert!(toolchains.folders().contains(&"/store/root/usr/lib".into()));
    }
}
