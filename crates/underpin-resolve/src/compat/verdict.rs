//! The model of a verdict: does a program start on a system, why not, and what the data could not settle.
//!
//! Every reason is kept, not only the first. The rules that fill it are in `evaluate`.

use super::floor::Demand;
use super::platform::Arch;
use super::subject::StaticHazard;
use super::version::{Number, VersionName};
use bstr::BString;
use serde::Serialize;
use underpin_elf::IsaLevel;

/// The verdict for one system.
#[derive(Clone, Debug, Serialize)]
pub struct SystemVerdict {
    /// The system's identifier.
    pub system: String,
    /// Its display name.
    pub name: String,
    /// Its end of life, `YYYY-MM-DD`, if known.
    pub end_of_life: Option<String>,
    /// Whether the program starts.
    pub verdict: Verdict,
    /// What the table could not settle. The verdict holds as far as the data goes.
    pub doubts: Vec<Caveat>,
    /// What else applies on this system, beside whether the program starts.
    pub notes: Vec<SystemNote>,
}

/// Whether a program starts on a system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Verdict {
    /// It starts on the base install.
    Runs,
    /// It starts once these libraries are installed.
    RunsIfInstalled {
        /// What is to be installed, by soname.
        libraries: Vec<Install>,
        /// The command for it.
        command: Option<String>,
    },
    /// It does not start.
    RefusesToStart {
        /// All reasons.
        reasons: Vec<RuledOutBecause>,
    },
    /// The data cannot tell: at least one fact is missing, and no known fact rules the program out.
    Unknown {
        /// What is missing.
        lacks: Vec<UnknownBecause>,
        /// What is to be installed in any case.
        libraries: Vec<Install>,
        /// The command for those.
        command: Option<String>,
    },
}

impl SystemVerdict {
    /// A plain yes: nothing has to be installed, every fact was read from the distribution, and each of its machines
    /// has a sufficient processor.
    #[must_use]
    pub fn is_plain_yes(&self) -> bool {
        let plain =
            |note: &SystemNote| !matches!(note, SystemNote::CpuAboveBaseline { .. } | SystemNote::JemallocPages { .. });
        self.verdict == Verdict::Runs && self.doubts.is_empty() && self.notes.iter().all(plain)
    }
}

impl Verdict {
    /// The program starts, at once or after an installation. What is not known does not count.
    #[must_use]
    pub fn can_run(&self) -> bool {
        matches!(self, Verdict::Runs | Verdict::RunsIfInstalled { .. })
    }
}

/// A library to install.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Install {
    /// The soname.
    pub soname: BString,
    /// The package.
    pub package: String,
    /// The objects that need it.
    pub needed_by: Vec<BString>,
}

/// Why a program does not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum RuledOutBecause {
    /// A version that the system's library does not define.
    VersionMissing {
        /// The version.
        version: VersionName,
        /// The file that should define it.
        file: BString,
        /// The newest version of that family on the system; `None` for a marker.
        newest: Option<VersionName>,
        /// Only weak symbols require it.
        weak_only: bool,
        /// The objects that require it, and for which symbols.
        demands: Vec<Demand>,
    },
    /// PT_INTERP names a file that the system does not have: the kernel answers "No such file or directory".
    InterpreterMissing {
        /// The path.
        interpreter: BString,
        /// Why it is not there.
        cause: InterpreterCause,
    },
    /// Made for a machine that the system does not run on.
    OtherMachine {
        /// The program's architecture, or the number of its machine.
        program: String,
        /// The system's architectures.
        system: Vec<Arch>,
    },
    /// A library that the system is known not to offer.
    LibraryAbsent {
        /// The soname.
        soname: BString,
        /// The soname under which the same library is there.
        instead: Option<String>,
        /// The objects that need it.
        needed_by: Vec<BString>,
    },
    /// The kernel is older than the program accepts.
    KernelTooOld {
        /// The oldest kernel accepted.
        needs: Number,
        /// The system's.
        has: Number,
    },
    /// A function that the system's musl does not have: its loader stops before the program starts.
    SymbolMissing {
        /// The symbol.
        symbol: BString,
        /// The musl that first has it; `None`: no musl that the data knows has it.
        since: Option<Number>,
        /// The objects that import it.
        objects: Vec<BString>,
    },
    /// DT_RELR relocations that this system's loader refuses or does not apply.
    RelrUnsupported {
        /// The objects.
        objects: Vec<BString>,
    },
    /// Further versions and symbols that are missing, beyond those listed one by one.
    MoreMissing {
        /// How many.
        count: usize,
    },
}

/// Why an interpreter is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InterpreterCause {
    /// The program depends on the other C library.
    OtherLibc,
    /// A path of a Nix, Guix or Spack store, or of some other prefix that only the build machine has.
    PrivatePath,
    /// Not the path that the platform's ABI fixes.
    NotStandard,
}

/// A fact missing from the table, without which there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "lack")]
pub enum UnknownBecause {
    /// Symbols of `GLIBC_PRIVATE`: no table says whether this particular build of glibc has them.
    PrivateSymbols {
        /// The objects that use them.
        objects: Vec<BString>,
    },
    /// Whether the system has a 32-bit C library for this program.
    ThirtyTwoBit,
    /// Which package contains a library, or whether any does.
    Libraries {
        /// The sonames: the first [`MOST_NAMED`] of them.
        sonames: Vec<BString>,
        /// How many more there are.
        more: usize,
    },
    /// Whether a library of the system defines the required versions.
    Versions {
        /// The library.
        file: BString,
        /// The versions, newest first: the first [`MOST_NAMED`] of them.
        versions: Vec<VersionName>,
        /// How many more there are.
        more: usize,
    },
    /// The kernel's version.
    Kernel {
        /// The oldest kernel that the program accepts.
        needs: Number,
    },
    /// Imports that musl does not have and that the other libraries must define: musl has no symbol versions, and its
    /// loader stops at the first symbol that nothing defines.
    MuslSymbols,
}

/// The limit on names of one kind for each system: no real program has more, but a crafted one may.
pub const MOST_NAMED: usize = 64;

/// Something that makes a verdict less certain, although no fact that it needs is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "doubt")]
pub enum Caveat {
    /// The version of this system's C library is general knowledge in the data, not read from the distribution.
    LibcNotVerified,
}

/// Something worth knowing that does not decide the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "note")]
pub enum SystemNote {
    /// The program needs a processor that not every machine of this system has. glibc's loader since 2.33 checks it.
    CpuAboveBaseline {
        /// What the program needs.
        needs: IsaLevel,
        /// What the system guarantees.
        guaranteed: IsaLevel,
    },
    /// A version that only VER_FLG_WEAK needs ask for is missing; the loader accepts that.
    OptionalVersionMissing {
        /// The version.
        version: VersionName,
    },
    /// The program is 32-bit x86 and runs on this 64-bit system.
    ThirtyTwoBit,
    /// A static glibc program reaches outside itself.
    StaticGlibc {
        /// How, as far as the file shows.
        hazards: Vec<StaticHazard>,
    },
    /// Its jemalloc aborts at its first call if the kernel's pages are larger than those it was built for, and kernels of
    /// this machine have pages of 4, 16 or 64 kB (RHEL 8: 64).
    JemallocPages {
        /// In bytes, what it was built for.
        built_for: u64,
    },
    /// The library exists under another soname: a symbolic link could supply it, at the user's own risk.
    SameLibraryUnderOtherName {
        /// The name asked for.
        soname: BString,
        /// The name that is there.
        instead: String,
    },
}
