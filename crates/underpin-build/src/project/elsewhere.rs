//! A build that the user starts: no commands, but variables that lead any build system to the plan's tools.

use super::{Context, Planned, cargo, shared};
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
