//! Names of compilers and linkers, under which the caller's own executable turns arguments into another command.
//!
//! A build calls these hundreds of times, so nothing is looked for here: everything that depends on the machine is in
//! the [`ToolPlan`], a file beside the names. [`invoke`] is pure.

mod cc;
mod fixed;
mod ld;
mod options;
mod portable;
mod response;
mod rustc;
mod searched;
mod strict;

pub use fixed::is_fixed;
pub use portable::{HERE, Portable};
pub use response::response_file;
pub(crate) use searched::VARIABLES as SEARCHED;
pub use strict::{Leak, Strict};

use crate::{Linkage, Spec};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The file that describes the tools behind the names in its folder.
pub const PLAN_FILE: &str = "underpin-tools.json";
/// Where the folder is, for a tool that was found by its bare name.
pub const FOLDER_VARIABLE: &str = "UNDERPIN_BUILD_TOOLS";
/// The linker that the user chose, from `rustc` to the linker that it starts.
pub const LINKER_VARIABLE: &str = "UNDERPIN_BUILD_LINKER";

/// A name that underpin answers to in such a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The C compiler, which links too.
    Cc,
    /// The C++ compiler, which links too.
    Cxx,
    /// The archiver.
    Ar,
    /// The indexer of archives.
    Ranlib,
    /// What rustc links with, if that is a C compiler.
    Linker,
    /// What rustc links with, if that is a linker itself.
    Ld,
    /// A linker for build systems that call one directly (`LD`).
    RawLd,
    /// What cargo calls instead of rustc (`RUSTC_WRAPPER`): the first argument is the real one.
    Rustc,
    /// What starts a program of the target here: an emulator, or the target's loader. Only an SDK has it.
    Run,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 9] =
        [Tool::Cc, Tool::Cxx, Tool::Ar, Tool::Ranlib, Tool::Linker, Tool::Ld, Tool::RawLd, Tool::Rustc, Tool::Run];

    /// Its name in the folder. rustc recognises `ld.lld` and calls it as a linker; it does not know `linker`, and calls
    /// it as a C compiler.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Cc => "cc",
            Tool::Cxx => "c++",
            Tool::Ar => "ar",
            Tool::Ranlib => "ranlib",
            Tool::Linker => "linker",
            Tool::Ld => "ld.lld",
            Tool::RawLd => "ld",
            Tool::Rustc => "rustc",
            Tool::Run => "run",
        }
    }

    /// The tool of a name, which in an SDK begins with the target ([`Spec::prefix`]).
    #[must_use]
    pub fn of_name(name: &OsStr) -> Option<Tool> {
        let text = name.to_str()?;
        let own = text.split_once("-underpin-linux-").and_then(|(_, rest)| rest.split_once('-')).map(|(_, own)| own);
        Tool::ALL.into_iter().find(|tool| own.unwrap_or(text) == tool.name())
    }
}

/// Which arguments a compiler understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// gcc or clang for the C library that they belong to: they know `-static-pie` and find their own start files.
    Own,
    /// gcc or clang made to use another C library: start files and libraries are named one by one ([`Compiler::start`]).
    Foreign,
    /// `zig cc`.
    Zig,
}

/// A compiler and what it takes besides its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiler {
    /// The executable.
    pub program: PathBuf,
    /// Its first arguments, always.
    pub leading: Vec<String>,
    /// Which arguments it understands.
    pub dialect: Dialect,
    /// Of [`Dialect::Foreign`]: what a link begins with (start files).
    pub start: Vec<String>,
    /// Of [`Dialect::Foreign`]: what a link ends with (libraries and end files).
    pub end: Vec<String>,
}

/// What rustc links with if the user chose nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RustLinker {
    /// A compiler; `cc` is rustc's own default.
    Compiler(Compiler),
    /// A linker such as `rust-lld`, with the arguments that come first.
    Ld(PathBuf, Vec<String>),
}

/// What the names in a folder stand for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPlan {
    /// What is built.
    pub spec: Spec,
    /// The C compiler, if there is one.
    pub cc: Option<Compiler>,
    /// The C++ compiler, if there is one.
    pub cxx: Option<Compiler>,
    /// The archiver with its first arguments.
    pub ar: Vec<String>,
    /// The indexer with its first arguments.
    pub ranlib: Vec<String>,
    /// The linker with its first arguments.
    #[serde(default)]
    pub ld: Vec<String>,
    /// Objects that are linked first into every program.
    pub objects: Vec<PathBuf>,
    /// The archive of those that a program of C has only if it calls them.
    #[serde(default)]
    pub archive: Option<PathBuf>,
    /// A folder of headers for C that come before the C library's own, and after the project's.
    #[serde(default)]
    pub headers: Option<PathBuf>,
    /// A folder of headers that come before the C library's own in C and C++, and after the project's.
    #[serde(default)]
    pub before: Option<PathBuf>,
    /// A folder of headers that come behind all others.
    #[serde(default)]
    pub behind: Option<PathBuf>,
    /// A script for the linker beside its own.
    #[serde(default)]
    pub layout: Option<PathBuf>,
    /// What is added to rustc's arguments, if it takes part.
    pub rust: Option<RustPlan>,
    /// Of an SDK, whose folder may be moved.
    #[serde(default)]
    pub portable: Option<Portable>,
    /// Why there is no C++ compiler, if there is none.
    #[serde(default)]
    pub without_cxx: Option<String>,
    /// Refuses libraries and headers of this machine.
    #[serde(default)]
    pub strict: Option<Strict>,
}

impl ToolPlan {
    /// The compiler behind `cc` or `c++`, if there is one for the target.
    fn compiler(&self, tool: Tool) -> Option<&Compiler> {
        match tool {
            Tool::Cc => self.cc.as_ref(),
            Tool::Cxx => self.cxx.as_ref(),
            _ => None,
        }
    }
}

/// What rustc gets beside cargo's arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RustPlan {
    /// The target; other calls of rustc (build scripts, macros) are left alone.
    pub triple: String,
    /// What it links with if the user chose nothing.
    pub linker: RustLinker,
    /// Arguments for the target, such as `-Ctarget-feature=-crt-static`.
    pub flags: Vec<String>,
    /// The user's own `RUSTC_WRAPPER`.
    pub wrapper: Option<PathBuf>,
    /// Objects that are linked first into what it links, as [`ToolPlan::archive`] is into programs of C. A linker that is called by
    /// rustc drops what is not used, and where it meets the C library an archive would come too late.
    #[serde(default)]
    pub objects: Vec<PathBuf>,
}

/// The command that a tool becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables that are set for it.
    pub environment: Vec<(&'static str, OsString)>,
    /// How many of the first arguments are not options: `cc` of zig, `-flavor gnu` of lld.
    pub first: usize,
    /// Some of the others came from response files (`@FILE`), and may be too many for a command line.
    pub from_file: bool,
    /// A link whose files are to be looked at afterwards ([`Strict::linked`]).
    pub watched: bool,
    /// What a person should know of it.
    pub remark: Option<String>,
}

impl Invocation {
    fn new(program: impl Into<PathBuf>, arguments: Vec<OsString>) -> Invocation {
        Invocation {
            program: program.into(),
            arguments,
            environment: Vec::new(),
            first: 0,
            from_file: false,
            watched: false,
            remark: None,
        }
    }
}

/// What a tool depends on besides its plan and arguments.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The folder of the tools.
    pub folder: &'a Path,
    /// The linker that the user chose ([`LINKER_VARIABLE`]).
    pub linker: Option<&'a OsStr>,
    /// A variable of the caller's environment.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The text of a response file (`@FILE`).
    pub response: &'a dyn Fn(&OsStr) -> Option<Vec<u8>>,
    /// Whether a file is an object that only runs at a fixed address ([`is_fixed`]).
    pub is_fixed: &'a dyn Fn(&OsStr) -> bool,
    /// The archives of a compiler's library for C++, in the order of a link line; empty if it does not report them.
    pub cxx_library: &'a dyn Fn(&Compiler) -> Vec<OsString>,
}

/// Of a test: tools in a folder `/t`, and nothing else is there.
#[cfg(test)]
fn nothing() -> Surroundings<'static> {
    let (folder, linker) = (Path::new("/t"), None);
    let (variable, response) = (&|_: &str| None, &|_: &OsStr| None);
    Surroundings { folder, linker, variable, response, is_fixed: &|_| false, cxx_library: &|_| Vec::new() }
}

/// Of a test: no tool at all.
#[cfg(test)]
const fn no_tools(spec: Spec) -> ToolPlan {
    ToolPlan {
        spec,
        cc: None,
        cxx: None,
        ar: Vec::new(),
        ranlib: Vec::new(),
        ld: Vec::new(),
        objects: Vec::new(),
        archive: None,
        headers: None,
        before: None,
        behind: None,
        layout: None,
        rust: None,
        portable: None,
        without_cxx: None,
        strict: None,
    }
}

/// Why a tool cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The toolchain has none.
    #[error("this build has no {what} for {target}; `underpin build --toolchains` shows what would give one")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// For what.
        target: String,
    },
    /// The plan says why there is none.
    #[error("{0}")]
    Refused(String),
    /// A library or header of this machine would get into the program.
    #[error(transparent)]
    Leak(#[from] Leak),
    /// `rustc` without the real one.
    #[error("started as `rustc` without the path of the real one (cargo's RUSTC_WRAPPER passes it first)")]
    NoRustc,
}

/// The command that a tool becomes with these arguments (its own name left out).
///
/// # Errors
/// If the plan has no such tool.
pub fn invoke(
    plan: &ToolPlan,
    tool: Tool,
    arguments: &[OsString],
    around: Surroundings<'_>,
) -> Result<Invocation, ToolError> {
    if matches!(tool, Tool::Ar | Tool::Ranlib | Tool::Rustc | Tool::Run) {
        return expanded(plan, tool, arguments, around);
    }
    // Arguments that are filtered or looked for may be in a file as well.
    let words = response::expand(arguments, around.response);
    if let (Some(strict), Tool::Cc | Tool::Cxx) = (&plan.strict, tool) {
        strict.arguments(&words)?;
    }
    let from_file = matches!(words, Cow::Owned(_));
    let words = match plan.compiler(tool) {
        Some(compiler) => searched::without_own_folders(plan, compiler, words),
        None => words,
    };
    let watched = plan.watches(tool, &words);
    let (plan, remark) = match fixed::plan(plan, tool, &words, around.is_fixed) {
        Some((fixed, remark)) => (Cow::Owned(fixed), remark),
        None => (Cow::Borrowed(plan), None),
    };
    let mut invocation = Invocation { from_file, watched, remark, ..expanded(&plan, tool, &words, around)? };
    invocation.environment.extend(searched::changed(&plan, around.variable));
    Ok(invocation)
}

/// The arguments of several calls that one call of a tool becomes, one after the other ([`invoke`] each); `None` if it stays one,
/// as nearly all do.
#[must_use]
pub fn apart(
    plan: &ToolPlan,
    tool: Tool,
    arguments: &[OsString],
    response: &dyn Fn(&OsStr) -> Option<Vec<u8>>,
) -> Option<Vec<Vec<OsString>>> {
    cc::apart(plan.compiler(tool)?, arguments, response)
}

/// The command of a tool without response files.
fn expanded(
    plan: &ToolPlan,
    tool: Tool,
    arguments: &[OsString],
    around: Surroundings<'_>,
) -> Result<Invocation, ToolError> {
    let missing = |what| ToolError::Missing { what, target: plan.spec.to_string() };
    match tool {
        Tool::Cc => {
            Ok(cc::invoke(plan, tool, plan.cc.as_ref().ok_or_else(|| missing("C compiler"))?, arguments, around))
        }
        Tool::Cxx => {
            let missing = || plan.without_cxx.clone().map_or_else(|| missing("C++ compiler"), ToolError::Refused);
            Ok(cc::invoke(plan, tool, plan.cxx.as_ref().ok_or_else(missing)?, arguments, around))
        }
        Tool::Run => {
            let run = plan.portable.as_ref().map_or(&[][..], |portable| portable.run.as_slice());
            started(run, arguments).ok_or_else(|| missing("emulator"))
        }
        Tool::Ar => {
            let by_zig = [&plan.cc, &plan.cxx].into_iter().flatten().any(|compiler| compiler.dialect == Dialect::Zig);
            let arguments = with_operation(arguments);
            let arguments = if by_zig { whole(&arguments) } else { Cow::Borrowed(&*arguments) };
            plain(&plan.ar, &arguments).ok_or_else(|| missing("archiver"))
        }
        Tool::Ranlib => plain(&plan.ranlib, arguments).ok_or_else(|| missing("ranlib")),
        Tool::RawLd => ld::raw(plan, arguments).ok_or_else(|| missing("linker")),
        Tool::Linker | Tool::Ld => {
            let rust = plan.rust.as_ref().ok_or_else(|| missing("linker"))?;
            Ok(ld::invoke(plan, rust, tool, arguments, around))
        }
        Tool::Rustc => {
            let rust = plan.rust.as_ref().ok_or_else(|| missing("rustc"))?;
            rustc::invoke(rust, arguments, around)
        }
    }
}

/// `AR = ar rcu` is in many makefiles (Lua's), and `AR=` of make's command line takes the operation away with the name. An archive's
/// name where ar expects the operation (ar(1)) says that this is so: no operation has a dot.
fn with_operation(arguments: &[OsString]) -> Cow<'_, [OsString]> {
    let lacks = arguments.first().is_some_and(|first| first.as_encoded_bytes().ends_with(b".a"));
    if lacks { [&["rcs".into()], arguments].concat().into() } else { arguments.into() }
}

/// An archive of its members rather than of their names (`T`, `--thin`), as meson asks for whatever it does not install: zig (to
/// 0.17) takes such a one for a linker script.
fn whole(arguments: &[OsString]) -> Cow<'_, [OsString]> {
    const THIN: &str = "--thin";
    let operation = arguments.first().and_then(|first| first.to_str()).filter(|first| !first.starts_with("--"));
    let is_thin = |operation: &str| operation.contains('T') && !operation.contains('.');
    let shorter = operation.filter(|operation| is_thin(operation)).map(|operation| operation.replace('T', ""));
    if shorter.is_none() && !arguments.iter().any(|word| word == THIN) {
        return arguments.into();
    }
    let skip = usize::from(shorter.is_some());
    let rest = arguments.iter().skip(skip).filter(|word| *word != THIN).cloned();
    shorter.map(OsString::from).into_iter().chain(rest).collect()
}

/// A program with its first arguments, then those given.
fn plain(command: &[String], arguments: &[OsString]) -> Option<Invocation> {
    let (program, leading) = command.split_first()?;
    let arguments = leading.iter().map(OsString::from).chain(arguments.iter().cloned()).collect();
    Some(Invocation::new(program, arguments))
}

/// A program of the target, behind what starts it there; by itself if nothing has to.
fn started(run: &[String], arguments: &[OsString]) -> Option<Invocation> {
    if run.is_empty() {
        let (program, rest) = arguments.split_first()?;
        return Some(Invocation::new(program, rest.to_vec()));
    }
    plain(run, arguments)
}

/// The option that gives the build's own folder another name in what a compiler writes into its output: it hides the
/// user's home and the cache's name, and the same sources give the same bytes wherever they are built.
fn mapped(option: &str, tools: &Path) -> Option<OsString> {
    let own = tools.parent().filter(|own| own.parent().is_some())?;
    let mut word = OsString::from(option);
    word.push(own);
    word.push("=/build");
    Some(word)
}

/// The linkage option for a compiler that knows its own start files.
fn linkage_option(linkage: Linkage) -> &'static [&'static str] {
    match linkage {
        Linkage::StaticPie => &["-static-pie"],
        // It makes no PIE by itself (GCC's LINK_PIE_SPEC), and clang warns of `-no-pie` beside it.
        Linkage::Static => &["-static"],
        Linkage::Dynamic => &[],
    }
}

/// A static PIE as linker options: GNU ld and lld alike take `-static` first, for the search of libraries, and `-pie`
/// for the kind of file. `-z text` refuses what would have to be patched in code at start.
const STATIC_PIE: [&str; 5] = ["-static", "-pie", "--no-dynamic-linker", "-z", "text"];
