//! The identity of a file: class, byte order, machine, type. It decides which loaders accept the file.

use serde::Serialize;
use std::fmt;

/// Width of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// 32 bit.
    Elf32,
    /// 64 bit.
    Elf64,
}

/// Byte order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// `e_machine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Machine(pub u16);

impl Machine {
    /// Intel 80386.
    pub const I386: Machine = Machine(3);
    /// PowerPC, 32 bit.
    pub const PPC: Machine = Machine(20);
    /// PowerPC, 64 bit.
    pub const PPC64: Machine = Machine(21);
    /// IBM S/390.
    pub const S390: Machine = Machine(22);
    /// ARM, 32 bit.
    pub const ARM: Machine = Machine(40);
    /// AMD x86-64.
    pub const X86_64: Machine = Machine(62);
    /// ARM, 64 bit.
    pub const AARCH64: Machine = Machine(183);
    /// RISC-V.
    pub const RISCV: Machine = Machine(243);
    /// LoongArch.
    pub const LOONGARCH: Machine = Machine(258);

    /// The usual name, or `None` for a machine that is not in this table.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Machine::I386 => "i386",
            Machine::PPC => "ppc",
            Machine::PPC64 => "ppc64",
            Machine::S390 => "s390x",
            Machine::ARM => "arm",
            Machine::X86_64 => "x86-64",
            Machine::AARCH64 => "aarch64",
            Machine::RISCV => "riscv",
            Machine::LOONGARCH => "loongarch",
            _ => return None,
        })
    }

    /// The machine of this build of underpin, if the table has it.
    #[must_use]
    pub const fn host() -> Option<Machine> {
        if cfg!(target_arch = "x86_64") {
            Some(Machine::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Machine::AARCH64)
        } else if cfg!(target_arch = "riscv64") {
            Some(Machine::RISCV)
        } else {
            None
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "machine {}", self.0),
        }
    }
}

impl Serialize for Machine {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// `e_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileType {
    /// `ET_REL`: an object file for the linker.
    Relocatable,
    /// `ET_EXEC`: an executable at fixed addresses.
    Executable,
    /// `ET_DYN`: a shared library or a position-independent executable.
    Dynamic,
    /// `ET_CORE`: a core dump.
    Core,
    /// Anything else.
    Other(u16),
}

impl FileType {
    /// The type of a raw `e_type`.
    #[must_use]
    pub fn from_raw(raw: u16) -> FileType {
        match raw {
            1 => FileType::Relocatable,
            2 => FileType::Executable,
            3 => FileType::Dynamic,
            4 => FileType::Core,
            other => FileType::Other(other),
        }
    }
}

/// The identity part of the ELF header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ident {
    /// Width of addresses.
    pub class: Class,
    /// Byte order.
    pub endian: Endian,
    /// `e_machine`.
    pub machine: Machine,
    /// `e_type`.
    pub file_type: FileType,
    /// `e_ident[EI_OSABI]`.
    pub os_abi: u8,
    /// `e_ident[EI_ABIVERSION]`.
    pub abi_version: u8,
    /// `e_flags` (the ABI variant on ARM, RISC-V, PowerPC).
    pub flags: u32,
}
