//! What a build is to be: one choice of processor, C library, linkage, allocator and overlay.
//!
//! Written `musl`, `musl+mimalloc`, `glibc:2.28`, `musl:dynamic`, `musl+mimalloc-overlay`: the C library, after a colon its
//! version or the linkage if it is not the usual one, after a plus the allocator; `-overlay` leaves the overlay out.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use underpin_elf::Machine;

/// For which processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Processor {
    /// Intel and AMD, 64 bits.
    #[serde(rename = "x86_64")]
    X86_64,
    /// ARM, 64 bits.
    Aarch64,
    /// RISC-V, 64 bits.
    Riscv64,
}

impl Processor {
    /// All of them.
    pub const ALL: [Processor; 3] = [Processor::X86_64, Processor::Aarch64, Processor::Riscv64];

    /// As the kernel names it (`uname -m`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Processor::X86_64 => "x86_64",
            Processor::Aarch64 => "aarch64",
            Processor::Riscv64 => "riscv64",
        }
    }

    /// The processor that this program runs on.
    #[must_use]
    pub fn host() -> Option<Processor> {
        std::env::consts::ARCH.parse().ok()
    }

    /// As an ELF header names it.
    #[must_use]
    pub const fn machine(self) -> Machine {
        match self {
            Processor::X86_64 => Machine::X86_64,
            Processor::Aarch64 => Machine::AARCH64,
            Processor::Riscv64 => Machine::RISCV,
        }
    }
}

impl FromStr for Processor {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Processor, SpecError> {
        match text {
            "x86_64" | "x86-64" | "amd64" => Ok(Processor::X86_64),
            "aarch64" | "arm64" => Ok(Processor::Aarch64),
            "riscv64" | "riscv64gc" => Ok(Processor::Riscv64),
            other => Err(SpecError::Processor(other.to_owned())),
        }
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A release of glibc: `2.28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GlibcVersion {
    /// The number after the first dot.
    pub minor: u16,
}

impl fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "2.{}", self.minor)
    }
}

/// For which C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CLibrary {
    /// musl.
    Musl,
    /// glibc: this machine's, or with no symbol newer than a version.
    Glibc(Option<GlibcVersion>),
}

impl CLibrary {
    /// The linkage if none is asked for.
    #[must_use]
    pub const fn usual_linkage(self) -> Linkage {
        match self {
            CLibrary::Musl => Linkage::StaticPie,
            CLibrary::Glibc(_) => Linkage::Dynamic,
        }
    }

    /// As Rust and other compilers name it in a target.
    #[must_use]
    pub const fn of_triple(self) -> &'static str {
        match self {
            CLibrary::Musl => "musl",
            CLibrary::Glibc(_) => "gnu",
        }
    }
}

impl FromStr for CLibrary {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<CLibrary, SpecError> {
        match text.split_once(':') {
            None if text == "musl" => Ok(CLibrary::Musl),
            None if text == "glibc" => Ok(CLibrary::Glibc(None)),
            Some(("glibc", version)) => {
                let minor = version.strip_prefix("2.").and_then(|minor| minor.parse().ok());
                let minor = minor.ok_or_else(|| SpecError::Version(version.to_owned()))?;
                Ok(CLibrary::Glibc(Some(GlibcVersion { minor })))
            }
            _ => Err(SpecError::Library(text.to_owned())),
        }
    }
}

impl fmt::Display for CLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CLibrary::Musl => f.write_str("musl"),
            CLibrary::Glibc(None) => f.write_str("glibc"),
            CLibrary::Glibc(Some(version)) => write!(f, "glibc:{version}"),
        }
    }
}

/// How it is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linkage {
    /// No loader, at fixed addresses.
    Static,
    /// No loader, at any address.
    StaticPie,
    /// With the C library's loader.
    Dynamic,
}

impl Linkage {
    /// As an option names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Linkage::Static => "static",
            Linkage::StaticPie => "static-pie",
            Linkage::Dynamic => "dynamic",
        }
    }

    /// Whether the C library is linked in.
    #[must_use]
    pub const fn is_static(self) -> bool {
        matches!(self, Linkage::Static | Linkage::StaticPie)
    }
}

impl FromStr for Linkage {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Linkage, SpecError> {
        let all = [Linkage::Static, Linkage::StaticPie, Linkage::Dynamic];
        all.into_iter().find(|linkage| linkage.name() == text).ok_or_else(|| SpecError::Linkage(text.to_owned()))
    }
}

/// What allocates memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allocator {
    /// The C library's own.
    System,
    /// jemalloc.
    Jemalloc,
    /// mimalloc.
    Mimalloc,
    /// snmalloc.
    Snmalloc,
}

impl Allocator {
    /// All of them.
    pub const ALL: [Allocator; 4] = [Allocator::System, Allocator::Jemalloc, Allocator::Mimalloc, Allocator::Snmalloc];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Allocator::System => "system",
            Allocator::Jemalloc => "jemalloc",
            Allocator::Mimalloc => "mimalloc",
            Allocator::Snmalloc => "snmalloc",
        }
    }
}

impl FromStr for Allocator {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Allocator, SpecError> {
        let found = Allocator::ALL.into_iter().find(|allocator| allocator.name() == text);
        found.ok_or_else(|| SpecError::Allocator(text.to_owned()))
    }
}

/// What the allocator is chosen and tuned for: none is best at both speed and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Large caches.
    Speed,
    /// The C library's own, under the overlay.
    Memory,
    /// Small caches.
    #[default]
    Balanced,
}

impl Goal {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Goal::Speed => "speed",
            Goal::Memory => "memory",
            Goal::Balanced => "balanced",
        }
    }
}

/// What a build is to be, every choice made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spec {
    /// For which processor.
    pub processor: Processor,
    /// For which C library.
    pub libc: CLibrary,
    /// How linked.
    pub linkage: Linkage,
    /// What allocates memory.
    pub allocator: Allocator,
    /// What the allocator is tuned for.
    pub goal: Goal,
    /// Whether the overlay's string functions replace the C library's.
    pub overlay: bool,
}

/// The parts of a [`Spec`] that a text names; the rest is left to the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecText {
    /// The C library.
    pub libc: CLibrary,
    /// The linkage.
    pub linkage: Option<Linkage>,
    /// The allocator.
    pub allocator: Option<Allocator>,
    /// The overlay.
    pub overlay: Option<bool>,
}

/// Why such a build is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No such processor.
    #[error("unknown processor `{0}`: expected x86_64, aarch64 or riscv64")]
    Processor(String),
    /// No such C library.
    #[error("unknown C library `{0}`: expected musl, glibc or glibc:VERSION, such as glibc:2.28")]
    Library(String),
    /// Not a version of glibc.
    #[error("invalid version of glibc `{0}`: expected a number such as 2.28")]
    Version(String),
    /// No such linkage.
    #[error("unknown linkage `{0}`: expected static, static-pie or dynamic")]
    Linkage(String),
    /// No such allocator.
    #[error("unknown allocator `{0}`: expected system, jemalloc, mimalloc or snmalloc")]
    Allocator(String),
    /// Given twice.
    #[error("`{0}` says its {1} twice")]
    Twice(String, &'static str),
    /// The overlay is for static musl alone.
    #[error("the overlay replaces functions of a musl that is linked in; a {0} {1} build has none")]
    Overlay(&'static str, &'static str),
    /// A lower floor needs a loader that checks it.
    #[error(
        "glibc:{0} limits what a dynamic program asks of its loader; a {1} program asks nothing (leave the version out)"
    )]
    StaticFloor(GlibcVersion, &'static str),
}

impl SpecText {
    /// Every choice made. `usual`: the allocator that a goal means for a static musl build if none is named.
    ///
    /// # Errors
    /// If the choices contradict each other.
    pub fn complete(
        self,
        processor: Processor,
        goal: Goal,
        usual: impl FnOnce(Goal) -> Allocator,
    ) -> Result<Spec, SpecError> {
        let linkage = self.linkage.unwrap_or(self.libc.usual_linkage());
        let replaceable = self.libc == CLibrary::Musl && linkage.is_static();
        if self.overlay == Some(true) && !replaceable {
            return Err(SpecError::Overlay(linkage.name(), if self.libc == CLibrary::Musl { "musl" } else { "glibc" }));
        }
        if let (CLibrary::Glibc(Some(version)), true) = (self.libc, linkage.is_static()) {
            return Err(SpecError::StaticFloor(version, linkage.name()));
        }
        let usual = if replaceable { usual(goal) } else { Allocator::System };
        Ok(Spec {
            processor,
            libc: self.libc,
            linkage,
            allocator: self.allocator.unwrap_or(usual),
            goal,
            overlay: self.overlay.unwrap_or(replaceable),
        })
    }
}

impl FromStr for SpecText {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<SpecText, SpecError> {
        let (rest, overlay) = match text.strip_suffix("-overlay").map(|rest| (rest, false)) {
            Some((rest, off)) => (rest, Some(off)),
            None => match text.strip_suffix("+overlay") {
                Some(rest) => (rest, Some(true)),
                None => (text, None),
            },
        };
        let (base, allocator) = match rest.split_once('+') {
            Some((base, allocator)) => (base, Some(allocator.parse()?)),
            None => (rest, None),
        };
        let mut words = base.split(':');
        let name = words.next().unwrap_or_default();
        let mut parsed = SpecText { libc: name.parse()?, linkage: None, allocator, overlay };
        for word in words {
            if let Ok(linkage) = word.parse() {
                if parsed.linkage.replace(linkage).is_some() {
                    return Err(SpecError::Twice(text.to_owned(), "linkage"));
                }
            } else if parsed.libc == CLibrary::Glibc(None) {
                parsed.libc = format!("glibc:{word}").parse()?;
            } else {
                return Err(SpecError::Linkage(word.to_owned()));
            }
        }
        Ok(parsed)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.libc.fmt(f)?;
        if self.linkage != self.libc.usual_linkage() {
            write!(f, ":{}", self.linkage.name())?;
        }
        let replaceable = self.libc == CLibrary::Musl && self.linkage.is_static();
        if replaceable || self.allocator != Allocator::System {
            write!(f, "+{}", self.allocator.name())?;
        }
        if replaceable && !self.overlay {
            f.write_str("-overlay")?;
        }
        Ok(())
    }
}

impl Spec {
    /// Rust's name of the target.
    #[must_use]
    pub fn rust_triple(&self) -> String {
        let processor = match self.processor {
            Processor::Riscv64 => "riscv64gc",
            other => other.name(),
        };
        format!("{processor}-unknown-linux-{}", self.libc.of_triple())
    }

    /// Whether libraries of this machine may be linked: they are for its own C library and processor.
    #[must_use]
    pub fn uses_machines_libraries(&self) -> bool {
        self.libc == CLibrary::Glibc(None)
            && self.linkage == Linkage::Dynamic
            && Processor::host() == Some(self.processor)
    }

    /// What the names of an SDK's tools begin with: no distribution's begin so.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("{}-underpin-linux-{}", self.processor, self.libc.of_triple())
    }

    /// The loader that a dynamic program names.
    #[must_use]
    pub fn loader(&self) -> String {
        match (self.libc, self.processor) {
            (CLibrary::Musl, processor) => format!("/lib/ld-musl-{processor}.so.1"),
            (CLibrary::Glibc(_), Processor::X86_64) => "/lib64/ld-linux-x86-64.so.2".to_owned(),
            (CLibrary::Glibc(_), Processor::Aarch64) => "/lib/ld-linux-aarch64.so.1".to_owned(),
            (CLibrary::Glibc(_), Processor::Riscv64) => "/lib/ld-linux-riscv64-lp64d.so.1".to_owned(),
        }
    }

    /// The name that GNU's cross compilers begin with (`aarch64-linux-gnu-gcc`).
    #[must_use]
    pub fn gnu_triple(&self) -> String {
        format!("{}-linux-{}", self.processor, self.libc.of_triple())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(goal: Goal) -> Allocator {
        if goal == Goal::Memory { Allocator::System } else { Allocator::Mimalloc }
    }

    fn spec(text: &str) -> Result<String, SpecError> {
        let parsed: SpecText = text.parse()?;
        parsed.complete(Processor::X86_64, Goal::Balanced, usual).map(|spec| spec.to_string())
    }

    #[test]
    fn a_build_is_written_as_it_is_read() {
        for text in [
            "musl+mimalloc",
            "musl+system",
            "musl:static+jemalloc",
            "musl:dynamic",
            "musl:dynamic+snmalloc",
            "glibc",
            "glibc:2.28",
            "glibc:2.17+mimalloc",
            "glibc:static-pie",
            "musl+mimalloc-overlay",
        ] {
            assert_eq!(spec(text).as_deref(), Ok(text));
        }
        assert_eq!(spec("musl").as_deref(), Ok("musl+mimalloc"));
        assert_eq!(spec("musl:static-pie+mimalloc+overlay").as_deref(), Ok("musl+mimalloc"));
        assert_eq!(spec("glibc:dynamic").as_deref(), Ok("glibc"));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert_eq!(spec("musl:2.28"), Err(SpecError::Linkage("2.28".into())));
        assert_eq!(spec("bionic"), Err(SpecError::Library("bionic".into())));
        assert_eq!(spec("glibc:3.1"), Err(SpecError::Version("3.1".into())));
        assert_eq!(spec("musl+hoard"), Err(SpecError::Allocator("hoard".into())));
        assert_eq!(spec("glibc+overlay"), Err(SpecError::Overlay("dynamic", "glibc")));
        assert_eq!(spec("musl:static:dynamic"), Err(SpecError::Twice("musl:static:dynamic".into(), "linkage")));
        assert_eq!(spec("glibc:2.28:static"), Err(SpecError::StaticFloor(GlibcVersion { minor: 28 }, "static")));
    }

    #[test]
    fn the_goal_chooses_the_allocator_of_a_static_musl_build_only() {
        let of = |text: &str, goal| text.parse::<SpecText>().unwrap().complete(Processor::X86_64, goal, usual).unwrap();
        assert_eq!(of("musl", Goal::Memory).allocator, Allocator::System);
        assert_eq!(of("musl+jemalloc", Goal::Memory).allocator, Allocator::Jemalloc);
        assert_eq!(of("glibc", Goal::Speed).allocator, Allocator::System);
    }
}
