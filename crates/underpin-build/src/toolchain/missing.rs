//! What is missing for a build, and the one command that installs it.

use crate::Spec;

/// Nothing here builds what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {what} for {spec} on {processor}: `{command}`{}", alternative.as_ref().map(|other| format!(" ({other})")).unwrap_or_default())]
pub struct Missing {
    /// What.
    pub what: &'static str,
    /// For which build.
    pub spec: String,
    /// For which processor.
    pub processor: &'static str,
    /// The command that installs it.
    pub command: String,
    /// What to do if the command is refused.
    pub alternative: Option<String>,
}

/// The whole C compiler in Python's package.
pub const ZIG: &str = "python3 -m pip install ziglang";
/// Rust's own way, which every distribution allows.
const RUST: &str = "curl --proto =https --tlsv1.2 -sSf https://sh.rustup.rs | sh";

impl Missing {
    fn new(what: &'static str, spec: &Spec, command: String, alternative: Option<&str>) -> Missing {
        let alternative = alternative.map(str::to_owned);
        Missing { what, spec: spec.to_string(), processor: spec.processor.name(), command, alternative }
    }

    /// No C or C++ compiler.
    pub(super) fn compiler(what: &'static str, spec: &Spec) -> Missing {
        use crate::{CLibrary, Processor};
        let host = Processor::host() == Some(spec.processor);
        let alternative = match spec.libc {
            CLibrary::Musl if host && what == "C compiler" => {
                Some("or musl's wrapper of gcc: apt-get install musl-tools")
            }
            CLibrary::Glibc(None) if host => Some("or gcc: apt-get install build-essential"),
            CLibrary::Glibc(None) if spec.processor == Processor::Aarch64 => {
                Some("or a cross gcc: apt-get install g++-aarch64-linux-gnu")
            }
            CLibrary::Glibc(None) => Some("or a cross gcc: apt-get install g++-riscv64-linux-gnu"),
            _ => Some("or zig from ziglang.org"),
        };
        Missing::new(what, spec, ZIG.to_owned(), alternative)
    }

    /// zig is there, whose C library has another malloc than musl's.
    pub(super) fn musls_malloc(spec: &Spec) -> Missing {
        let what =
            "C compiler with musl's malloc, by which a program takes little memory (zig has its own since 0.16),";
        let zigs = "or take zig's: `--malloc system` without `--goal memory`";
        Missing::new(what, spec, format!("{ZIG}==0.15.2"), Some(zigs))
    }

    /// No Rust.
    pub(super) fn rust(spec: &Spec) -> Missing {
        Missing::new("Rust compiler", spec, RUST.to_owned(), Some("or the distribution's: apt-get install cargo"))
    }

    /// Rust without the target.
    pub(super) fn target(spec: &Spec, by_rustup: bool) -> Missing {
        let command = if by_rustup {
            format!("rustup target add {}", spec.rust_triple())
        } else {
            "apt-get install rustc-web rust-web-src".to_owned()
        };
        let from_source = "or its sources, from which it is then built: rustup component add rust-src";
        Missing::new("standard library of Rust", spec, command, by_rustup.then_some(from_source))
    }

    /// Nothing to link with.
    pub(super) fn linker(spec: &Spec) -> Missing {
        Missing::new("linker", spec, ZIG.to_owned(), Some("or lld: apt-get install lld"))
    }
}
