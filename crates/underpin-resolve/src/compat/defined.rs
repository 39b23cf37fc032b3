//! Whether a system's copy of a library defines a version.

use super::platform::{Arch, is_glibc_file};
use super::systems::{LibraryState, System};
use super::version::VersionName;

/// Whether a system's copy of a file defines a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defined {
    /// It does, or the loader asks that file for no versions.
    Yes,
    /// It does not. Carries the newest version of that family that it does define.
    No(Option<VersionName>),
    /// The data cannot tell.
    Unknown,
}

/// Names of glibc's and GCC's versions that x86-64 never had, from the `Versions` files of glibc and the map files of
/// libgcc: they belong to older ports for other processors.
const OF_OTHER_MACHINES: [&str; 15] = [
    "GLIBC_2.0",
    "GLIBC_2.1",
    "GLIBC_2.1.1",
    "GLIBC_2.1.2",
    "GLIBC_2.1.3",
    "GLIBC_2.2",
    "GLIBC_2.2.1",
    "GLIBC_2.2.2",
    "GLIBC_2.2.3",
    "GLIBC_2.2.4",
    "GLIBC_2.2.6",
    "GLIBC_2.3.1",
    "GCC_3.5",
    "GCC_4.1.0",
    "GCC_4.4.0",
];

impl System {
    /// Whether the system's copy of a file defines a version, for a program of that machine.
    #[must_use]
    pub fn defines(&self, file: &[u8], version: &VersionName, arch: Option<Arch>) -> Defined {
        let Ok(name) = std::str::from_utf8(file) else { return Defined::Unknown };
        // GNU ld gives every library with versions its own soname as the base definition; glibc's loader asks a file
        // without definitions for none (elf/dl-version.c, match_symbol).
        let is_own_name = version.as_str() == name;
        if let Some(definitions) = self.definitions.library(name) {
            return match &definitions.versions {
                None => Defined::Yes,
                Some(all) if is_own_name || all.contains(version) => Defined::Yes,
                Some(_) if definitions.open.contains(version) => self.by_family(name, version, arch),
                // The packages were read for x86-64. There, what is not listed is not there.
                Some(_) if arch == Some(Arch::X86_64) => Defined::No(definitions.newest(version.family()).cloned()),
                Some(_) => self.by_family(name, version, arch),
            };
        }
        if is_own_name && matches!(self.library(file), LibraryState::Base { .. }) {
            return Defined::Yes;
        }
        self.by_family(name, version, arch)
    }

    /// From the newest version of each family that the base install defines: that one is defined and newer ones are
    /// not; an older one is defined if any release is known to have had it.
    fn by_family(&self, file: &str, version: &VersionName, arch: Option<Arch>) -> Defined {
        if !matches!(self.library(file.as_bytes()), LibraryState::Base { .. }) || !has_family(file, version.family()) {
            return Defined::Unknown;
        }
        let Some(number) = version.number() else { return self.by_marker(version) };
        let newest = match version.family() {
            "GLIBC" => Some(VersionName::parse(&format!("GLIBC_{}", self.libc.version))),
            family => self.versions.get(family).cloned(),
        };
        match newest {
            Some(newest) if newest.number() < Some(number) => Defined::No(Some(newest)),
            Some(newest) if newest == *version && (version.family() != "GLIBC" || file == "libc.so.6") => Defined::Yes,
            Some(_) if self.names.has(file, version.as_str()) => Defined::Yes,
            Some(_) if arch != Some(Arch::X86_64) && OF_OTHER_MACHINES.contains(&version.as_str()) => Defined::Yes,
            _ => Defined::Unknown,
        }
    }

    /// Names without a number: the table lists those of the base install.
    fn by_marker(&self, version: &VersionName) -> Defined {
        let glibc = super::floor::marker_glibc(version.as_str());
        if self.markers.contains(version.as_str()) {
            return Defined::Yes;
        }
        match glibc {
            Some(since) if self.libc.version < since => Defined::No(None),
            // A system whose markers were read has no others.
            Some(_) if self.markers.is_empty() => Defined::Unknown,
            None if self.markers.is_empty() && self.versions.is_empty() => Defined::Unknown,
            _ => Defined::No(None),
        }
    }
}

/// Whether the versions of a family belong to that file.
fn has_family(file: &str, family: &str) -> bool {
    match family {
        // Both were once part of glibc and keep its versions where other packages now provide them.
        "GLIBC" => is_glibc_file(file.as_bytes()) || file == "libcrypt.so.1" || file == "libnsl.so.1",
        "GLIBCXX" | "CXXABI" | "CXXABI_TM" => file == "libstdc++.so.6",
        "GCC" => file == "libgcc_s.so.1",
        "LIBATOMIC" => file == "libatomic.so.1",
        "ZLIB" => file == "libz.so.1",
        "OPENSSL" => file.starts_with("libssl.so.") || file.starts_with("libcrypto.so."),
        _ => false,
    }
}
