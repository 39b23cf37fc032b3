//! The loader that PT_INTERP names: which kind it is, which version, and what is compiled into it.
//!
//! All of it is read from the loader's own bytes; nothing is run. `ld.so --list-diagnostics` prints the same facts; the
//! tests compare with it.

pub(crate) mod glibc;
mod musl;
mod strings;

use crate::environment::Environment;
use crate::libc_version::LibcVersion;
use bstr::{BStr, BString, ByteSlice};
use serde::Serialize;
use underpin_elf::{Class, Endian, Ident, Machine};

/// Whose rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoaderKind {
    /// GNU C library, ld.so.
    Glibc,
    /// musl: the loader is libc.
    Musl,
    /// No loader: the file is static.
    None,
}

/// The loader and what is compiled into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loader {
    /// Whose rules apply.
    pub kind: LoaderKind,
    /// The path in PT_INTERP; for a library without one, the host's usual loader for its machine.
    pub path: BString,
    /// Its version, if its bytes show it.
    pub version: Option<LibcVersion>,
    /// Whether the path was guessed from the machine because the file has no PT_INTERP.
    pub assumed: bool,
    /// Directories compiled in, each with a trailing slash (glibc), or as written (musl).
    pub system_directories: Vec<BString>,
    /// The value of `$LIB`.
    pub lib_token: BString,
    /// The value of `$PLATFORM`.
    pub platform: Option<BString>,
    /// Hardware-capability subdirectories in search order, each with a trailing slash; the plain directory, empty,
    /// last.
    pub subdirectories: Vec<BString>,
    /// Path of the cache (glibc) or of the path file (musl).
    pub configuration: Option<BString>,
    /// Active glibc-hwcaps names, best first: they rank the entries of the cache.
    pub(crate) active_hwcaps: Vec<BString>,
}

impl Loader {
    /// A file that needs no loader.
    #[must_use]
    pub fn none() -> Loader {
        Loader {
            kind: LoaderKind::None,
            path: BString::default(),
            version: None,
            assumed: false,
            system_directories: Vec::new(),
            lib_token: BString::default(),
            platform: None,
            subdirectories: Vec::new(),
            configuration: None,
            active_hwcaps: Vec::new(),
        }
    }

    /// Reads what is compiled into a loader. The version may be visible only in the name of the real file (ld-2.31.so).
    #[must_use]
    pub fn identify(path: &BStr, real: &BStr, bytes: &[u8], ident: &Ident, environment: &Environment) -> Loader {
        if musl::is_musl(path, bytes) {
            musl::identify(path, bytes)
        } else {
            Loader { path: path.into(), ..glibc::identify(real, bytes, ident, environment) }
        }
    }

    /// A loader whose file is not there: its usual values, from its name and the machine.
    #[must_use]
    pub(crate) fn absent(path: &BStr, ident: &Ident, environment: &Environment) -> Loader {
        Loader::identify(path, path, b"", ident, environment)
    }

    /// Whether it is glibc of at least this version; an unknown version counts as new.
    pub(crate) fn at_least(&self, minor: u32) -> bool {
        self.version.is_none_or(|version| (version.major, version.minor) >= (2, minor))
    }
}

/// Cache entries that a loader accepts (`_DL_CACHE_DEFAULT_ID`, `_dl_cache_check_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheRules {
    pub default_id: i32,
    /// A second value that is accepted.
    pub also: Option<i32>,
    /// Bits of the `hwcap` field that name a platform.
    pub platform_bits: u64,
}

impl CacheRules {
    pub fn accepts(&self, flags: i32) -> bool {
        flags == self.default_id || Some(flags) == self.also
    }

    /// The rules for a machine (glibc sysdeps/unix/sysv/linux/*/dl-cache.h and sysdeps/generic/ldconfig.h).
    pub fn of(ident: &Ident) -> CacheRules {
        const LIBC6: i32 = 3;
        let x86_platforms = 0b1111 << 48;
        let (variant, also, platform_bits) = match (ident.machine, ident.class) {
            (Machine::X86_64, Class::Elf64) => (0x0300, Some(1), x86_platforms),
            (Machine::X86_64, Class::Elf32) => (0x0800, Some(1), x86_platforms),
            (Machine::I386, _) => (0, Some(1), x86_platforms),
            (Machine::AARCH64, Class::Elf64) => (0x0a00, None, 0),
            (Machine::ARM, _) if ident.flags & 0x400 != 0 => (0x0900, None, 0),
            (Machine::ARM, _) => (0x0b00, Some(LIBC6), 0),
            (Machine::PPC64, _) => (0x0500, Some(1), 0),
            (Machine::S390, Class::Elf64) => (0x0400, Some(1), 0),
            (Machine::RISCV, Class::Elf64) => match ident.flags & 6 {
                4 => (0x1000, None, 0),
                _ => (0x0f00, None, 0),
            },
            (Machine::LOONGARCH, Class::Elf64) => match ident.flags & 7 {
                3 => (0x1100, None, 0),
                _ => (0x1200, None, 0),
            },
            _ => (0, Some(1), 0),
        };
        CacheRules { default_id: variant | LIBC6, also, platform_bits }
    }
}

/// The usual glibc loader of a machine, for libraries that name none (the ABI supplements of the architectures).
pub(crate) fn usual_loader(ident: &Ident) -> Option<&'static BStr> {
    let path: &str = match (ident.machine, ident.class, ident.endian) {
        (Machine::X86_64, Class::Elf64, _) => "/lib64/ld-linux-x86-64.so.2",
        (Machine::X86_64, Class::Elf32, _) => "/libx32/ld-linux-x32.so.2",
        (Machine::I386, ..) => "/lib/ld-linux.so.2",
        (Machine::AARCH64, _, Endian::Little) => "/lib/ld-linux-aarch64.so.1",
        (Machine::AARCH64, _, Endian::Big) => "/lib/ld-linux-aarch64_be.so.1",
        (Machine::ARM, ..) if ident.flags & 0x400 != 0 => "/lib/ld-linux-armhf.so.3",
        (Machine::ARM, ..) => "/lib/ld-linux.so.3",
        (Machine::RISCV, Class::Elf64, _) => "/lib/ld-linux-riscv64-lp64d.so.1",
        (Machine::PPC64, _, Endian::Little) => "/lib64/ld64.so.2",
        (Machine::PPC64, _, Endian::Big) => "/lib64/ld64.so.1",
        (Machine::S390, Class::Elf64, _) => "/lib/ld64.so.1",
        (Machine::LOONGARCH, Class::Elf64, _) => "/lib64/ld-linux-loongarch-lp64d.so.1",
        _ => return None,
    };
    Some(path.as_bytes().as_bstr())
}
