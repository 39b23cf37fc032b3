//! The plan of `underpin image compare`.

use crate::cli::{CompilerName, ImageCompareArgs, LibcName};
use crate::plan::bench::Form;
use crate::plan::suite::{chosen, parsed_builds};
use anyhow::bail;
use std::path::PathBuf;
use std::time::Duration;
use underpin_bench::{LEVEL, Machine, RowRule, Store, least_blocks_at};
use underpin_build::{CLibrary, Linkage, SpecText};
use underpin_image::Target;
use underpin_image::store::Access;
use underpin_suite::{Row, Suite};

/// How long a row works in one run, by the guest's clock: in the short form, and else.
const MILLISECONDS: (u32, u32) = (10, 50);
/// So few rows that each is given as many blocks as it needs to be claimed if no other differs.
const FEW_ROWS: usize = 16;

/// Twins to compare.
#[derive(Debug)]
pub struct ImageComparePlan {
    /// Recipes, or an image's list of them.
    pub names: Vec<PathBuf>,
    /// The machine.
    pub target: Target,
    /// The builds as the user wrote them, each name once; the first is the reference.
    pub builds: Vec<(String, SpecText)>,
    /// The rows, by suite.
    pub rows: Vec<&'static Row>,
    /// How long the program of a row works in one run.
    pub milliseconds: u32,
    /// The short form.
    pub is_quick: bool,
    /// How often each image is started.
    pub boots: u32,
    /// The longest that a row may take, by the guest's clock.
    pub row_time: Duration,
    /// Folders of the user's layers.
    pub layers: Vec<PathBuf>,
    /// The compiler, if one was named.
    pub toolchain: Option<CompilerName>,
    /// Where the twins are kept; `None`: nowhere.
    pub output: Option<PathBuf>,
    /// Whether something may be fetched.
    pub access: Access,
    /// Limits of rows.
    pub gate: Option<Vec<RowRule>>,
    /// The name under which the records are kept.
    pub save: Option<String>,
    /// Where records are kept.
    pub store: Store,
    /// Files to write.
    pub exports: Vec<(Form, PathBuf)>,
    /// JSON instead of a screen.
    pub json: bool,
    /// How detailed the screen is.
    pub verbosity: u8,
    /// This machine.
    pub machine: Machine,
    /// What it was asked for, in words.
    pub asked: String,
}

impl ImageComparePlan {
    /// # Errors
    /// If a build cannot be read or has no recipes, no row matches, or two documents would be mixed.
    pub fn new(args: ImageCompareArgs) -> anyhow::Result<ImageComparePlan> {
        let target = super::target(args.target.as_deref())?;
        let builds = parsed_builds("--libc", &args.libc)?;
        if builds.len() < 2 {
            bail!("--libc {}: expected two builds or more, as in glibc,musl", args.libc);
        }
        builds.iter().try_for_each(|(text, spec)| libc_of(text, spec).map(drop))?;
        let suites = args.suites();
        let rows = chosen(&suites, &[], &args.filter)?;
        if let Some(name) = &args.save {
            Store::check_name(name)?;
        }
        let gate = match args.gate {
            Some(gate) if !gate.rules.is_empty() => {
                bail!("--gate with image compare: name rows, as in `row:strlen<+3%` or `row:*<+10%`")
            }
            gate => gate.map(|gate| gate.rows),
        };
        let exports =
            [(Form::Json, args.export_json), (Form::Markdown, args.export_markdown), (Form::Html, args.export_html)];
        let exports: Vec<(Form, PathBuf)> =
            exports.into_iter().filter_map(|(form, path)| Some((form, path?))).collect();
        let to_stdout = exports.iter().filter(|(_, path)| path.as_os_str() == "-").count();
        if to_stdout + usize::from(args.display.json) > 1 {
            bail!("only one document can go to standard output: give the others a file");
        }
        let alone = if rows.len() <= FEW_ROWS { rows.len() } else { 2 };
        let blocks = least_blocks_at((builds.len() - 1) * alone, LEVEL);
        let names: Vec<&str> = suites.iter().map(|suite| suite.name()).collect();
        Ok(ImageComparePlan {
            asked: format!("image compare {:?} on {target}: {} of {}", args.names, names.join(","), args.libc),
            names: args.names,
            target,
            builds,
            rows,
            milliseconds: if args.quick { MILLISECONDS.0 } else { MILLISECONDS.1 },
            is_quick: args.quick,
            boots: args.boots.unwrap_or(u32::try_from(blocks).unwrap_or(u32::MAX)),
            row_time: Duration::from_secs(args.timeout.into()),
            layers: args.layer,
            toolchain: args.toolchain,
            output: args.output,
            access: if args.offline { Access::Offline } else { Access::Online },
            gate,
            save: args.save,
            store: Store::new(args.store),
            exports,
            json: args.display.json,
            verbosity: args.display.verbose,
            // Counted instructions do not depend on what else runs here.
            machine: Machine { load_hundredths: None, ..Machine::here() },
        })
    }

    /// The suites that have a row.
    pub fn suites(&self) -> Vec<Suite> {
        Suite::ALL.into_iter().filter(|suite| self.rows.iter().any(|row| row.suite == *suite)).collect()
    }
}

/// The C library that the packages of a build's image are built for.
///
/// # Errors
/// If recipes cannot be built that way.
pub fn libc_of(text: &str, spec: &SpecText) -> anyhow::Result<LibcName> {
    match (spec.libc, spec.linkage) {
        (CLibrary::Musl, Some(Linkage::Dynamic)) => {
            bail!("--libc {text}: images with musl have static programs: name musl, or musl+ALLOCATOR")
        }
        (CLibrary::Musl, _) => Ok(LibcName::Musl),
        (CLibrary::Glibc(None), _) => Ok(LibcName::Glibc),
        (CLibrary::Glibc(Some(_)), _) => {
            bail!("--libc {text}: an image has the glibc of the recipe `glibc`: name glibc, or glibc+ALLOCATOR")
        }
    }
}
