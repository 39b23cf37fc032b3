//! The subject of a check: a program and the objects shipped with it, as plain facts.
//!
//! Filled from the ELF reader (see `from_elf`), or by hand in a test. Everything the verdict needs is here, so the
//! verdict itself opens no file.

use super::platform::{Arch, LibcFamily};
use super::version::{Number, VersionName};
use bstr::BString;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use underpin_elf::{Allocator, AllocatorKind, IsaLevel, LibcKind, Linkage, Machine};

/// A program and the objects shipped with it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The program, or the library asked about.
    pub program: ObjectFacts,
    /// Objects that are shipped beside it: their needs count too, and their sonames are not required of the target.
    pub companions: Vec<ObjectFacts>,
    /// The objects with a `malloc` that the program's loader would load here, in its order; empty if that was not
    /// examined.
    pub mallocs: Vec<MallocProvider>,
}

/// An object that defines `malloc`, at its place in load order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MallocProvider {
    /// Its soname, or the last part of its path.
    pub soname: BString,
    /// The object that needs it, or the variable that preloads it.
    pub needed_by: BString,
    /// The allocator whose code is in it, if that is known.
    pub kind: Option<AllocatorKind>,
}

impl Subject {
    /// A program shipped alone.
    #[must_use]
    pub fn alone(program: ObjectFacts) -> Subject {
        Subject { program, companions: Vec::new(), mallocs: Vec::new() }
    }

    /// All objects, the program first.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectFacts> {
        std::iter::once(&self.program).chain(&self.companions)
    }

    /// Whether a companion provides this soname.
    #[must_use]
    pub fn carries(&self, soname: &[u8]) -> bool {
        self.companions.iter().any(|object| object.provides(soname))
    }

    /// All sonames that companions provide, for repeated lookups.
    #[must_use]
    pub fn carried(&self) -> Carried<'_> {
        Carried(self.companions.iter().flat_map(ObjectFacts::provided).collect())
    }

    /// Every soname that some object needs and none of the companions provides, once each, in the order first met, with
    /// the objects that need it. The files of a C library itself are left out.
    #[must_use]
    pub fn outside(&self) -> Vec<(&BString, Vec<&BString>)> {
        let carried = self.carried();
        let mut place: HashMap<&BString, usize> = HashMap::new();
        let mut needs: Vec<(&BString, Vec<&BString>)> = Vec::new();
        for object in self.objects() {
            let wanted = |soname: &&BString| !carried.has(soname) && LibcFamily::of_soname(soname).is_none();
            for soname in object.needed.iter().filter(wanted) {
                let at = *place.entry(soname).or_insert_with(|| {
                    needs.push((soname, Vec::new()));
                    needs.len() - 1
                });
                // A file may name one soname many times.
                if needs[at].1.last() != Some(&&object.name) {
                    needs[at].1.push(&object.name);
                }
            }
        }
        needs
    }

    /// The C library that the program depends on, as far as its file shows.
    #[must_use]
    pub fn libc(&self) -> Option<LibcFamily> {
        let program = &self.program;
        let by_interpreter = program.interpreter.as_ref().and_then(|path| LibcFamily::of_interpreter(path));
        by_interpreter.or_else(|| program.needed.iter().find_map(|name| LibcFamily::of_soname(name)))
    }
}

/// The sonames that companions provide.
#[derive(Clone, Debug)]
pub struct Carried<'a>(HashSet<&'a [u8]>);

impl Carried<'_> {
    /// Whether this soname is among them.
    #[must_use]
    pub fn has(&self, soname: &[u8]) -> bool {
        self.0.contains(soname)
    }
}

/// The facts of one object.
#[derive(Clone, Debug)]
pub struct ObjectFacts {
    /// How it is named in output: a path or file name.
    pub name: BString,
    /// `e_machine`, for output if the architecture is unknown.
    pub machine: Machine,
    /// The architecture, if the table of systems knows it.
    pub arch: Option<Arch>,
    /// PT_INTERP.
    pub interpreter: Option<BString>,
    /// How it was linked.
    pub linkage: Linkage,
    /// DT_SONAME.
    pub soname: Option<BString>,
    /// DT_NEEDED, in file order.
    pub needed: Vec<BString>,
    /// The version needs, in file order.
    pub version_needs: Vec<NeededVersion>,
    /// Strong imports that are bound to no version: all of them in an object for musl.
    pub plain_imports: Vec<BString>,
    /// DT_RELR is present.
    pub relr: bool,
    /// The oldest kernel, from NT_GNU_ABI_TAG.
    pub kernel: Option<Number>,
    /// The x86-64 level from the property note's `x86 ISA needed`.
    pub x86_level: Option<IsaLevel>,
    /// The C library whose code is in the file.
    pub libc_inside: Option<LibcKind>,
    /// The allocators whose code is in the file, the C library's own included.
    pub allocators: Vec<Allocator>,
    /// It defines `malloc` for other objects, or as a static file for itself.
    pub defines_malloc: bool,
    /// The first function of malloc's family that it imports.
    pub imports_malloc: Option<BString>,
    /// Calls of libc that a static glibc cannot serve without files of the same glibc.
    pub static_hazards: Vec<StaticHazard>,
    /// What the file was compiled from, if it shows that; chooses the advice.
    pub toolchain: BuiltWith,
}

impl ObjectFacts {
    /// An object without any needs, to be filled in.
    #[must_use]
    pub fn new(name: &str, arch: Arch) -> ObjectFacts {
        ObjectFacts {
            name: name.into(),
            machine: machine_of(arch),
            arch: Some(arch),
            interpreter: None,
            linkage: Linkage::StaticExecutable,
            soname: None,
            needed: Vec::new(),
            version_needs: Vec::new(),
            plain_imports: Vec::new(),
            relr: false,
            kernel: None,
            x86_level: None,
            libc_inside: None,
            allocators: Vec::new(),
            defines_malloc: false,
            imports_malloc: None,
            static_hazards: Vec::new(),
            toolchain: BuiltWith::Unknown,
        }
    }

    /// Whether this object is found under that soname: by DT_SONAME, else by the last part of its path.
    #[must_use]
    pub fn provides(&self, soname: &[u8]) -> bool {
        self.provided().any(|own| own == soname)
    }

    fn provided(&self) -> impl Iterator<Item = &[u8]> {
        let soname = self.soname.iter().map(|own| own.as_slice());
        soname.chain(self.name.rsplit(|&byte| byte == b'/').next())
    }
}

fn machine_of(arch: Arch) -> Machine {
    match arch {
        Arch::X86_64 | Arch::X32 => Machine::X86_64,
        Arch::I386 => Machine::I386,
        Arch::Aarch64 => Machine::AARCH64,
        Arch::Armhf | Arch::Armel => Machine::ARM,
        Arch::Riscv64 => Machine::RISCV,
        Arch::Ppc64le | Arch::Ppc64 => Machine::PPC64,
        Arch::S390x => Machine::S390,
        Arch::Loongarch64 => Machine::LOONGARCH,
    }
}

/// One version need: a version that a file must define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededVersion {
    /// The file that must define it, as the need names it (`vn_file`).
    pub file: BString,
    /// The version (`vna_name`).
    pub version: VersionName,
    /// VER_FLG_WEAK: only then does glibc's loader accept its absence (glibc `elf/dl-version.c`, `match_symbol`).
    pub weak: bool,
    /// The imports bound to it. Empty for a marker such as `GLIBC_ABI_DT_RELR`.
    pub symbols: Vec<NeededSymbol>,
}

impl NeededVersion {
    /// Every symbol behind this need is weak: the program can do without them, but its version need stays strong.
    #[must_use]
    pub fn weak_only(&self) -> bool {
        !self.symbols.is_empty() && self.symbols.iter().all(|symbol| symbol.weak)
    }
}

/// An undefined symbol with a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct NeededSymbol {
    /// The name, as in the symbol table.
    pub name: BString,
    /// Bound STB_WEAK.
    pub weak: bool,
}

/// What a static glibc program does that reaches outside itself. `dlopen` is not among them: every static glibc program
/// contains it, whether it calls it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StaticHazard {
    /// Users, groups, hosts: glibc opens `libnss_*.so` of the very same glibc version.
    NameService,
    /// `iconv`: gconv modules are opened from the target's file system.
    Iconv,
}

/// What a file was built with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BuiltWith {
    /// rustc.
    Rust,
    /// Go.
    Go,
    /// C++.
    Cxx,
    /// C, or no sign of another language.
    C,
    /// The file does not show it.
    #[default]
    Unknown,
}
