//! A build that the user starts: no commands, but variables that lead any build system to the plan's tools.

use super::{Context, Planned, autoconf, cargo, shared};
use crate::Processor;
use crate::tool::Tool;
use crate::toolchain::Needs;
use std::path::{Path, PathBuf};

/// A folder to build from.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    folder: PathBuf,
    rust: bool,
}

impl Elsewhere {
    pub(super) fn new(folder: &Path, rust: bool) -> Elsewhere {
        Elsewhere { folder: folder.to_owned(), rust }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) const fn needs(&self) -> Needs {
        Needs { rust: self.rust, c: !self.rust, cxx: false }
    }
}

/// No commands, but variables.
pub(super) fn plan(context: &Context<'_>) -> Planned {
    let mut exported = shared::variables(context);
    if context.toolchain.cxx.is_none() {
        // Our tool reports that there is none, and how to get one; a build system would take this machine's own.
        exported.push(("CXX".to_owned(), context.tool(Tool::Cxx)));
    }
    if Processor::host() != Some(context.spec.processor) {
        // Go asks no compiler for what it makes code, and leaves cgo out if that is another processor.
        exported.push(("GOARCH".to_owned(), go_name(context.spec.processor).to_owned()));
        exported.push(("CGO_ENABLED".to_owned(), "1".to_owned()));
    }
    exported.extend(autoconf::answers(context));
    exported.extend(shared::guessed_by(context, &exported));
    if shared::raw_linker(context.spec, context.toolchain).is_some() {
        exported.push(("LD".to_owned(), context.tool(Tool::RawLd)));
    }
    if let Some(choice) = &context.toolchain.rust {
        exported.push(("CARGO_BUILD_TARGET".to_owned(), context.spec.rust_triple()));
        exported.extend(cargo::environment(context, choice));
        if choice.from_source {
            exported.push(("CARGO_UNSTABLE_BUILD_STD".to_owned(), "std,panic_abort".to_owned()));
        }
    }
    Planned { exported, folders: vec![shared::empty_root(context).into()], ..Planned::default() }
}

/// What Go calls a processor.
const fn go_name(processor: Processor) -> &'static str {
    match processor {
        Processor::X86_64 => "amd64",
        Processor::Aarch64 => "arm64",
        Processor::Riscv64 => "riscv64",
    }
}
