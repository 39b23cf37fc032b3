//! From what the ELF reader found to what the verdict needs.
//!
//! The only rules here are classifications: which traits of a file's identity indicate which toolchain, and which
//! functions in a static glibc program reach outside it.

use super::platform::Arch;
use super::subject::{BuiltWith, NeededSymbol, NeededVersion, ObjectFacts, StaticHazard};
use super::version::{Number, VersionName};
use bstr::{BString, ByteSlice};
use underpin_elf::{
    AbiOs, Details, Elf, Identity, Import, IsaLevels, Language, LibcKind, LibcPlacement, Linkage, SymbolBinding,
    SymbolKind,
};

/// A file that is not meant to run or to be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: a file of the kind \"{linkage}\", which nothing runs or loads; name a program or a shared library")]
pub struct NotAProgram {
    /// The file.
    pub name: BString,
    /// What it is.
    pub linkage: Linkage,
}

impl ObjectFacts {
    /// The facts of one file. `name` is how it will be called in output.
    ///
    /// # Errors
    /// [`NotAProgram`] for object files, core dumps and detached debug files.
    pub fn from_elf(name: &[u8], elf: &Elf, details: &Details) -> Result<ObjectFacts, NotAProgram> {
        let identity = &details.identity;
        let linkage = identity.linkage;
        if matches!(linkage, Linkage::Relocatable | Linkage::CoreDump | Linkage::DebugFile | Linkage::Other) {
            return Err(NotAProgram { name: name.into(), linkage });
        }
        let dynamic = elf.dynamic.as_ref();
        let inside = identity.libc.as_ref().filter(|libc| libc.placement == LibcPlacement::Inside);
        Ok(ObjectFacts {
            name: name.into(),
            machine: elf.ident.machine,
            arch: Arch::of(&elf.ident),
            interpreter: elf.interpreter.clone(),
            linkage,
            soname: dynamic.and_then(|dynamic| dynamic.soname.clone()),
            needed: dynamic.map(|dynamic| dynamic.needed.clone()).unwrap_or_default(),
            version_needs: details.version_needs.iter().map(version_need).collect(),
            plain_imports: details.imports.iter().filter(is_plain).map(|import| import.name.clone()).collect(),
            relr: dynamic.is_some_and(|dynamic| dynamic.relr),
            kernel: kernel(details),
            x86_level: details.notes.properties.x86_isa_needed.and_then(IsaLevels::highest),
            libc_inside: inside.map(|libc| libc.kind),
            allocators: identity.allocators.clone(),
            defines_malloc: identity.exports_malloc
                || (linkage.is_static() && identity.allocation_defined.iter().any(|name| name == "malloc")),
            imports_malloc: imported(identity),
            static_hazards: static_hazards(details, inside.map(|libc| libc.kind)),
            toolchain: toolchain(identity),
        })
    }
}

/// `malloc` itself if it is imported, or else the first of its family.
fn imported(identity: &Identity) -> Option<BString> {
    let imported = &identity.allocation_imported;
    imported.iter().find(|name| *name == "malloc").or_else(|| imported.first()).cloned()
}

fn version_need(need: &underpin_elf::VersionNeed) -> NeededVersion {
    let symbols = need
        .symbols
        .iter()
        .map(|symbol| NeededSymbol { name: symbol.name.clone(), weak: symbol.binding == SymbolBinding::Weak });
    NeededVersion {
        file: need.file.clone(),
        version: VersionName::parse(&need.version.to_str_lossy()),
        weak: need.weak_flag,
        symbols: symbols.collect(),
    }
}

fn is_plain(import: &&Import) -> bool {
    import.version.is_none() && import.binding != SymbolBinding::Weak
}

fn kernel(details: &Details) -> Option<Number> {
    let abi = details.notes.abi.filter(|abi| abi.os == AbiOs::Linux)?;
    let (major, minor, patch) = abi.kernel;
    Some(if patch == 0 { Number::new(&[major, minor]) } else { Number::new(&[major, minor, patch]) })
}

/// The strongest trace decides: Rust and Go programs often contain C, C++ programs always do.
fn toolchain(identity: &Identity) -> BuiltWith {
    let has = |language| identity.languages.iter().any(|trace| trace.language == language);
    if has(Language::Go) {
        BuiltWith::Go
    } else if has(Language::Rust) {
        BuiltWith::Rust
    } else if has(Language::Cpp) {
        BuiltWith::Cxx
    } else if identity.compilers.is_empty() {
        BuiltWith::Unknown
    } else {
        BuiltWith::C
    }
}

/// Functions of glibc that open further files of the same glibc at run time (glibc manual, "Name Service Switch";
/// the static linker warns about most of them).
/// `getaddrinfo` itself is hidden in libc.a; what it pulls in is not.
const HAZARDS: [(&str, StaticHazard); 15] = [
    ("gethostbyname2_r", StaticHazard::NameService),
    ("getservbyname_r", StaticHazard::NameService),
    ("gethostbyname", StaticHazard::NameService),
    ("gethostbyname_r", StaticHazard::NameService),
    ("gethostbyaddr", StaticHazard::NameService),
    ("getservbyname", StaticHazard::NameService),
    ("getpwnam", StaticHazard::NameService),
    ("getpwnam_r", StaticHazard::NameService),
    ("getpwuid", StaticHazard::NameService),
    ("getpwuid_r", StaticHazard::NameService),
    ("getgrnam", StaticHazard::NameService),
    ("getgrgid", StaticHazard::NameService),
    ("getgrgid_r", StaticHazard::NameService),
    ("initgroups", StaticHazard::NameService),
    ("iconv_open", StaticHazard::Iconv),
];

fn static_hazards(details: &Details, inside: Option<LibcKind>) -> Vec<StaticHazard> {
    if inside != Some(LibcKind::Glibc) || !details.identity.linkage.is_static() {
        return Vec::new();
    }
    let functions = details.exports.iter().filter(|export| export.kind == SymbolKind::Function);
    let mut found: Vec<_> = functions
        .filter_map(|export| HAZARDS.iter().find(|(name, _)| export.name == *name).map(|(_, hazard)| *hazard))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}
