//! Architectures and the loaders that belong to them: which PT_INTERP a C library has on which machine.
//!
//! Facts of the platform ABI, not of any distribution. A path outside this table is not wrong; it is just not one that
//! any distribution in the table of systems is known to have.

use serde::{Deserialize, Serialize};
use std::fmt;
use underpin_elf::{Class, Endian, Ident, Machine};

/// A machine as distributions name their ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// x86-64 with 64-bit pointers.
    X86_64,
    /// x86-64 with 32-bit pointers.
    X32,
    /// 32-bit x86.
    I386,
    /// 64-bit ARM, little endian.
    Aarch64,
    /// 32-bit ARM with the hard-float ABI.
    Armhf,
    /// 32-bit ARM with the soft-float ABI.
    Armel,
    /// 64-bit RISC-V.
    Riscv64,
    /// 64-bit POWER, little endian.
    Ppc64le,
    /// 64-bit POWER, big endian.
    Ppc64,
    /// IBM Z.
    S390x,
    /// 64-bit LoongArch.
    Loongarch64,
}

/// `EF_ARM_ABI_FLOAT_SOFT`.
const ARM_SOFT_FLOAT: u32 = 0x200;

impl Arch {
    /// The architecture of an ELF header; `None` for one that the table of systems does not know.
    #[must_use]
    pub fn of(ident: &Ident) -> Option<Arch> {
        Some(match (ident.machine, ident.class, ident.endian) {
            (Machine::X86_64, Class::Elf64, Endian::Little) => Arch::X86_64,
            (Machine::X86_64, Class::Elf32, Endian::Little) => Arch::X32,
            (Machine::I386, Class::Elf32, Endian::Little) => Arch::I386,
            (Machine::AARCH64, Class::Elf64, Endian::Little) => Arch::Aarch64,
            (Machine::ARM, Class::Elf32, Endian::Little) if ident.flags & ARM_SOFT_FLOAT != 0 => Arch::Armel,
            (Machine::ARM, Class::Elf32, Endian::Little) => Arch::Armhf,
            (Machine::RISCV, Class::Elf64, Endian::Little) => Arch::Riscv64,
            (Machine::PPC64, Class::Elf64, Endian::Little) => Arch::Ppc64le,
            (Machine::PPC64, Class::Elf64, Endian::Big) => Arch::Ppc64,
            (Machine::S390, Class::Elf64, Endian::Big) => Arch::S390x,
            (Machine::LOONGARCH, Class::Elf64, Endian::Little) => Arch::Loongarch64,
            _ => return None,
        })
    }

    /// The name as used in the data file and in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::X32 => "x32",
            Arch::I386 => "i386",
            Arch::Aarch64 => "aarch64",
            Arch::Armhf => "armhf",
            Arch::Armel => "armel",
            Arch::Riscv64 => "riscv64",
            Arch::Ppc64le => "ppc64le",
            Arch::Ppc64 => "ppc64",
            Arch::S390x => "s390x",
            Arch::Loongarch64 => "loongarch64",
        }
    }

    /// The paths of glibc's loader, as fixed by the platform ABI (glibc `sysdeps/*/ldconfig.h`, `shlib-versions`).
    #[must_use]
    pub fn glibc_interpreters(self) -> &'static [&'static str] {
        match self {
            Arch::X86_64 => &["/lib64/ld-linux-x86-64.so.2"],
            Arch::X32 => &["/libx32/ld-linux-x32.so.2"],
            Arch::I386 => &["/lib/ld-linux.so.2"],
            Arch::Aarch64 => &["/lib/ld-linux-aarch64.so.1"],
            Arch::Armhf => &["/lib/ld-linux-armhf.so.3"],
            Arch::Armel => &["/lib/ld-linux.so.3"],
            Arch::Riscv64 => &["/lib/ld-linux-riscv64-lp64d.so.1"],
            Arch::Ppc64le => &["/lib64/ld64.so.2"],
            Arch::Ppc64 => &["/lib64/ld64.so.1", "/lib64/ld64.so.2"],
            Arch::S390x => &["/lib/ld64.so.1"],
            Arch::Loongarch64 => &["/lib64/ld-linux-loongarch-lp64d.so.1"],
        }
    }

    /// The path of musl's loader (musl `configure`, `arch/*/reloc.h`).
    #[must_use]
    pub fn musl_interpreter(self) -> &'static str {
        match self {
            Arch::X86_64 => "/lib/ld-musl-x86_64.so.1",
            Arch::X32 => "/lib/ld-musl-x32.so.1",
            Arch::I386 => "/lib/ld-musl-i386.so.1",
            Arch::Aarch64 => "/lib/ld-musl-aarch64.so.1",
            Arch::Armhf => "/lib/ld-musl-armhf.so.1",
            Arch::Armel => "/lib/ld-musl-arm.so.1",
            Arch::Riscv64 => "/lib/ld-musl-riscv64.so.1",
            Arch::Ppc64le => "/lib/ld-musl-powerpc64le.so.1",
            Arch::Ppc64 => "/lib/ld-musl-powerpc64.so.1",
            Arch::S390x => "/lib/ld-musl-s390x.so.1",
            Arch::Loongarch64 => "/lib/ld-musl-loongarch64.so.1",
        }
    }

    /// The architecture part of Rust's and Zig's target triples.
    #[must_use]
    pub fn triple_name(self) -> &'static str {
        match self {
            Arch::I386 => "i686",
            Arch::Armhf | Arch::Armel => "arm",
            Arch::Ppc64le => "powerpc64le",
            Arch::Ppc64 => "powerpc64",
            other => other.name(),
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The C libraries that a dynamic program of the table of systems can depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LibcFamily {
    /// The GNU C library.
    Glibc,
    /// musl.
    Musl,
}

impl LibcFamily {
    /// The name in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LibcFamily::Glibc => "glibc",
            LibcFamily::Musl => "musl",
        }
    }

    /// The C library whose loader a PT_INTERP string names, by its file name alone.
    #[must_use]
    pub fn of_interpreter(path: &[u8]) -> Option<LibcFamily> {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        if name.starts_with(b"ld-musl-") {
            return Some(LibcFamily::Musl);
        }
        let glibc = [&b"ld-linux"[..], b"ld64.so.", b"ld.so.", b"ld-2."];
        glibc.iter().any(|prefix| name.starts_with(prefix)).then_some(LibcFamily::Glibc)
    }

    /// The C library that a soname belongs to: `libc.so.6` is glibc's, `libc.so` and `libc.musl-x86_64.so.1` are musl's.
    #[must_use]
    pub fn of_soname(soname: &[u8]) -> Option<LibcFamily> {
        match soname {
            b"libc.so.6" | b"libc.so.6.1" => Some(LibcFamily::Glibc),
            b"libc.so" => Some(LibcFamily::Musl),
            name if name.starts_with(b"libc.musl-") => Some(LibcFamily::Musl),
            _ => None,
        }
    }
}

impl fmt::Display for LibcFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a soname is installed as part of glibc itself, whatever the distribution.
///
/// `libnsl.so.1` and `libcrypt.so.1` are left out: since about glibc 2.26 distributions take them from elsewhere or not
/// at all, which is what the table of systems records.
#[must_use]
pub fn is_glibc_file(soname: &[u8]) -> bool {
    const NAMES: [&[u8]; 11] = [
        b"libc.so.6",
        b"libm.so.6",
        b"libpthread.so.0",
        b"libdl.so.2",
        b"librt.so.1",
        b"libutil.so.1",
        b"libresolv.so.2",
        b"libanl.so.1",
        b"libmvec.so.1",
        b"libthread_db.so.1",
        b"libBrokenLocale.so.1",
    ];
    NAMES.contains(&soname)
        || soname.starts_with(b"ld-linux")
        || soname.starts_with(b"ld64.so.")
        || soname.starts_with(b"libnss_files.so.")
        || soname.starts_with(b"libnss_dns.so.")
}

/// Whether musl satisfies a needed name itself, without opening a file (musl `ldso/dynlink.c`, `load_library`).
#[must_use]
pub fn is_musl_builtin(soname: &[u8]) -> bool {
    const RESERVED: [&[u8]; 7] = [b"c.", b"pthread.", b"rt.", b"m.", b"dl.", b"util.", b"xnet."];
    soname.strip_prefix(b"lib").is_some_and(|rest| RESERVED.iter().any(|name| rest.starts_with(name)))
        || soname.starts_with(b"ld-musl-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_path_tells_the_libc_wherever_it_lies() {
        for (path, kind) in [
            ("/lib64/ld-linux-x86-64.so.2", Some(LibcFamily::Glibc)),
            ("/nix/store/abc-glibc-2.40/lib/ld-linux-x86-64.so.2", Some(LibcFamily::Glibc)),
            ("/lib/ld64.so.1", Some(LibcFamily::Glibc)),
            ("/lib/ld-musl-x86_64.so.1", Some(LibcFamily::Musl)),
            ("/system/bin/linker64", None),
        ] {
            assert_eq!(LibcFamily::of_interpreter(path.as_bytes()), kind, "{path}");
        }
    }

    #[test]
    fn musl_answers_for_its_reserved_names_only() {
        for name in ["libc.so", "libpthread.so.0", "libm.so.6", "libc.musl-x86_64.so.1", "libxnet.so"] {
            assert!(is_musl_builtin(name.as_bytes()), "{name}");
        }
        for name in ["libcrypt.so.1", "libmount.so.1", "libz.so.1", "c.so"] {
            assert!(!is_musl_builtin(name.as_bytes()), "{name}");
        }
    }
}
