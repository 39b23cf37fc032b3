//! The plan of `underpin tree`.

use super::Target;
use crate::cli::TreeArgs;
use anyhow::bail;
use std::ffi::OsString;
use std::path::PathBuf;

/// What to resolve, and what to show of it.
#[derive(Debug)]
pub struct TreePlan {
    /// The programs.
    pub targets: Targets,
    /// Where and how they are resolved.
    pub target: Target,
    /// What to show.
    pub output: Output,
    /// In how much detail.
    pub verbosity: u8,
    /// End the paths of a list with NUL.
    pub null: bool,
    /// Arguments for a real run to compare with; `None` if nothing is run.
    pub check: Option<Vec<OsString>>,
}

/// One program, or many files.
#[derive(Debug)]
pub enum Targets {
    /// One program.
    One(PathBuf),
    /// Several, or whole folders: each of them, in the order given.
    Many(Vec<PathBuf>),
}

/// What to show of a closure.
#[derive(Debug)]
pub enum Output {
    /// Paths only.
    List,
    /// Why one object is loaded.
    Why(String),
    /// The search directories.
    Paths,
    /// The tree.
    Tree,
    /// The whole document.
    Json,
}

impl TreePlan {
    /// # Errors
    /// If a program cannot be examined, or an option does not apply to several of them.
    pub fn new(args: TreeArgs) -> anyhow::Result<TreePlan> {
        let target = Target::new(&args.target)?;
        let output = match args.why {
            _ if args.list => Output::List,
            _ if args.paths => Output::Paths,
            _ if args.display.json => Output::Json,
            Some(name) => Output::Why(name),
            None => Output::Tree,
        };
        let targets = match args.programs.as_slice() {
            [one] if target.sysroot.is_some() || !one.is_dir() => Targets::One(target.program(one, "tree")?),
            _ => Targets::Many(args.programs),
        };
        if matches!(targets, Targets::Many(_)) && (args.check || !matches!(output, Output::Json | Output::Tree)) {
            bail!(
                "--list, --why, --paths and --check look at one program; several or a folder go with --json or alone"
            );
        }
        let (verbosity, null) = (args.display.verbose, args.print0);
        let check = args.check.then_some(args.arguments);
        Ok(TreePlan { targets, target, output, verbosity, null, check })
    }
}
