//! Notes: what a compiler, linker or packager left in a file about itself.
//!
//! Read from PT_NOTE and from SHT_NOTE sections (`.note.stapsdt` is never loaded). A malformed note ends its own list
//! and is reported as a defect; it does not make the file unreadable.

use crate::{Elf, ElfError, Source, Vaddr};
use bstr::BString;
use serde::{Serialize, Serializer};
use std::fmt;

/// All notes of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notes {
    /// `GNU` NT_GNU_BUILD_ID.
    pub build_id: Option<BuildId>,
    /// `GNU` NT_GNU_ABI_TAG: operating system and the oldest kernel that the C library promises to run on.
    pub abi: Option<AbiTag>,
    /// `GNU` NT_GNU_PROPERTY_TYPE_0.
    pub properties: Properties,
    /// `.note.dlopen` (owner `FDO`, type 0x407c0c0a): libraries opened at run time.
    pub dlopen: Vec<DlopenNote>,
    /// `.note.package` (owner `FDO`, type 0xcafe1a7e): the package that the file came from.
    pub package: Option<PackageNote>,
    /// `.note.stapsdt`: static probes; ld.so marks the phases of start-up with them.
    pub probes: Vec<Probe>,
    /// Owner `Go`, type 4.
    pub go_build_id: Option<BString>,
    /// PT_NOTE type 0x63a86cb6 (`.note.nixos.ldcache`): library paths that a patched loader looks up first.
    pub resolution_cache: Option<ResolutionCache>,
    /// `.note.underpin` (owner `underpin`, type 1): what `underpin build` states about a file that it built.
    pub build: Option<BuildNote>,
    /// Owner and type of every note, known or not, in file order.
    pub all: Vec<NoteHead>,
}

impl Notes {
    /// Reads the notes alone, in a few reads: what a tracer needs for ld.so's probes. Malformed notes are left out.
    ///
    /// # Errors
    /// [`ElfError`] if the file can no longer be read as ELF.
    pub fn read<S: Source + ?Sized>(source: &S, elf: &Elf) -> Result<Notes, ElfError> {
        crate::deep::read_notes(source, elf).map(|(notes, _)| notes)
    }
}

/// The section of the note that `underpin build` puts into every file.
pub const BUILD_NOTE_SECTION: &str = ".note.underpin";
/// Its owner.
pub const BUILD_NOTE_OWNER: &str = "underpin";
/// Its type.
pub const BUILD_NOTE_TYPE: u32 = 1;

/// What `underpin build` states about a file: claims, which the file's code may contradict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BuildNote {
    /// Key and value, in the order of the note: `allocator`, `libc`, `toolchain` and others.
    pub claims: Vec<(BString, BString)>,
}

impl BuildNote {
    /// The first claim of a key.
    #[must_use]
    pub fn claim(&self, key: &str) -> Option<&BString> {
        self.claims.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

/// Owner and type of a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoteHead {
    /// Owner, without its NUL.
    pub owner: BString,
    /// Type; its meaning depends on the owner.
    pub kind: u32,
    /// Size of the content in bytes.
    pub size: u64,
}

/// The unique identification of a link result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BuildId(pub Vec<u8>);

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for BuildId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// NT_GNU_ABI_TAG.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AbiTag {
    /// The operating system.
    pub os: AbiOs,
    /// Oldest kernel: major, minor, patch.
    pub kernel: (u32, u32, u32),
}

/// First word of NT_GNU_ABI_TAG.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AbiOs {
    /// 0.
    Linux,
    /// 1.
    Hurd,
    /// 2.
    Solaris,
    /// 3.
    FreeBsd,
    /// Any other.
    Other(u32),
}

/// NT_GNU_PROPERTY_TYPE_0, decoded for x86 and AArch64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Properties {
    /// GNU_PROPERTY_X86_ISA_1_NEEDED: the loader refuses a lesser CPU.
    pub x86_isa_needed: Option<IsaLevels>,
    /// GNU_PROPERTY_X86_ISA_1_USED: for information, nothing is refused.
    pub x86_isa_used: Option<IsaLevels>,
    /// GNU_PROPERTY_X86_FEATURE_1_IBT: indirect branch tracking.
    pub ibt: bool,
    /// GNU_PROPERTY_X86_FEATURE_1_SHSTK: shadow stack.
    pub shadow_stack: bool,
    /// GNU_PROPERTY_AARCH64_FEATURE_1_BTI: branch target identification.
    pub bti: bool,
    /// GNU_PROPERTY_AARCH64_FEATURE_1_PAC: return address signing.
    pub pac: bool,
}

/// Bits of GNU_PROPERTY_X86_ISA_1 (x86-64 psABI): each names a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct IsaLevels(pub u32);

/// A micro-architecture level of x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum IsaLevel {
    /// SSE2.
    #[serde(rename = "x86-64")]
    Baseline,
    /// SSE4.2, POPCNT.
    #[serde(rename = "x86-64-v2")]
    V2,
    /// AVX2, BMI2, FMA.
    #[serde(rename = "x86-64-v3")]
    V3,
    /// AVX-512 F, BW, CD, DQ, VL.
    #[serde(rename = "x86-64-v4")]
    V4,
}

impl IsaLevels {
    /// The highest level named, `None` if no known bit is set.
    #[must_use]
    pub fn highest(self) -> Option<IsaLevel> {
        [(8, IsaLevel::V4), (4, IsaLevel::V3), (2, IsaLevel::V2), (1, IsaLevel::Baseline)]
            .into_iter()
            .find_map(|(bit, level)| (self.0 & bit != 0).then_some(level))
    }
}

impl std::str::FromStr for IsaLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<IsaLevel, String> {
        match text {
            "x86-64" | "x86-64-v1" | "baseline" => Ok(IsaLevel::Baseline),
            "x86-64-v2" | "v2" => Ok(IsaLevel::V2),
            "x86-64-v3" | "v3" => Ok(IsaLevel::V3),
            "x86-64-v4" | "v4" => Ok(IsaLevel::V4),
            other => Err(format!("unknown x86-64 level `{other}`: expected x86-64, x86-64-v2, x86-64-v3 or x86-64-v4")),
        }
    }
}

impl fmt::Display for IsaLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IsaLevel::Baseline => "x86-64",
            IsaLevel::V2 => "x86-64-v2",
            IsaLevel::V3 => "x86-64-v3",
            IsaLevel::V4 => "x86-64-v4",
        })
    }
}

/// One entry of a `.note.dlopen` array (systemd's ELF dlopen metadata specification).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DlopenNote {
    /// Names tried, best first.
    pub sonames: Vec<String>,
    /// What it is for, in one word.
    pub feature: Option<String>,
    /// What it is for, in a sentence.
    pub description: Option<String>,
    /// How much is lost without it.
    pub priority: DlopenPriority,
}

/// How much is lost if the library is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DlopenPriority {
    /// The program does not work without it.
    Required,
    /// An important function is lost; the default if none is stated.
    #[default]
    Recommended,
    /// A secondary function is lost.
    Suggested,
}

/// `.note.package` (systemd's ELF package metadata specification); fields that are absent are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PackageNote {
    /// `type`: rpm, deb, ...
    pub kind: Option<String>,
    /// `name`.
    pub name: Option<String>,
    /// `version`.
    pub version: Option<String>,
    /// `architecture`.
    pub architecture: Option<String>,
    /// `os`.
    pub os: Option<String>,
    /// `osCpe`.
    pub os_cpe: Option<String>,
}

/// A static probe of `.note.stapsdt`. Addresses are as linked; if `base` differs from the address of section
/// `.stapsdt.base`, the difference must be added to `pc` and `semaphore` (prelinked files).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Probe {
    /// e.g. `rtld`.
    pub provider: BString,
    /// e.g. `init_complete`.
    pub name: BString,
    /// Where its arguments are, in assembler syntax.
    pub arguments: BString,
    /// Address of the probe's instruction.
    pub pc: Vaddr,
    /// Address of `.stapsdt.base` when the note was written.
    pub base: Vaddr,
    /// Address of its semaphore, 0 for none.
    pub semaphore: Vaddr,
}

/// A resolution cache note (owner `NixOS`, written by patchelf 0.19): for each needed name where a patched loader
/// looks, after LD_LIBRARY_PATH and before DT_RUNPATH.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResolutionCache {
    /// In the order of the note.
    pub entries: Vec<CachedName>,
}

/// One needed name of a resolution cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CachedName {
    /// The DT_NEEDED string.
    pub needed: BString,
    /// Where to look, in order.
    pub places: Vec<CachedPlace>,
}

/// Where a patched loader looks for a needed name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CachedPlace {
    /// `=<path>`: the file itself.
    File(BString),
    /// `?<dir>`: a directory that is to be searched at run time.
    Directory(BString),
    /// Anything else, unchanged.
    Unknown(BString),
}
