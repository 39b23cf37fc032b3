//! The outcome for one name in one file, and each reason for leaving it alone as a sentence.

use bstr::BString;
use serde::Serialize;
use std::fmt;
use underpin_resolve::LibcVersion;

/// The outcome for one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "decision")]
pub enum Decision {
    /// It becomes the path of the object that serves it.
    Becomes {
        /// The path, the only spelling of this file in the plan.
        path: String,
        /// The object's build-id in hexadecimal, if it has one.
        build_id: Option<String>,
        /// Its DT_SONAME.
        soname: Option<BString>,
    },
    /// It is that path already.
    Already {
        /// The path.
        path: String,
    },
    /// It stays unchanged.
    LeftAlone {
        /// Why.
        #[serde(flatten)]
        reason: LeftAlone,
    },
}

/// A list of the policy that covers a library.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "list")]
pub enum Exclusion {
    /// GL, EGL, GLX, Vulkan, GBM.
    GraphicsDriver,
    /// CUDA, OpenCL, ROCm, Level Zero.
    ComputeDriver,
    /// VA-API, VDPAU, NVENC and the like.
    VideoDriver,
    /// A directory named `stubs`.
    Stubs,
    /// MPI.
    Mpi,
    /// A capability subdirectory: another processor loads another file.
    Hwcaps {
        /// The file loaded on the better processor.
        variant: BString,
    },
    /// Only LD_LIBRARY_PATH leads to it.
    LibraryPath,
    /// libc and its companions, if the policy leaves them out.
    Glibc,
    /// A pattern of the user.
    Pattern {
        /// The pattern.
        pattern: String,
    },
    /// There is a list of what may be bound, and the library is not on it.
    NotListed,
}

/// One of several objects that serve a name, and the programs that load it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The object's path; `None` if the name is not found at all.
    pub path: Option<BString>,
    /// Programs in whose closure it serves the name; only the first few.
    pub programs: Vec<BString>,
    /// How many there are in all.
    pub count: usize,
}

/// Why a name stays unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
#[non_exhaustive]
pub enum LeftAlone {
    /// It is the loader: a second path maps it twice.
    Loader,
    /// It is the program itself, which has no name to request it by.
    Program,
    /// A list of the policy covers it.
    Excluded {
        /// Which.
        by: Exclusion,
    },
    /// No object of that name is found.
    Missing,
    /// The loader stops with an error there.
    Fatal {
        /// The file.
        path: BString,
    },
    /// The object came in by `/etc/ld.so.preload` or LD_PRELOAD.
    Preloaded,
    /// Its path depends on the current directory.
    CurrentDirectory {
        /// The path.
        path: BString,
    },
    /// Its path is not UTF-8.
    NotUtf8 {
        /// The path.
        path: BString,
    },
    /// Its path contains `$`, `:` or another byte that the loader would interpret in DT_NEEDED.
    Unwritable {
        /// The path.
        path: BString,
    },
    /// Programs that share this file load different objects by this name.
    ProgramsDisagree {
        /// Which.
        choices: Vec<Choice>,
    },
    /// No program of the scope loads this file, and one of them loads another object of that name.
    PluginConflict {
        /// What the file finds by itself.
        own: BString,
        /// What a program has loaded.
        other: BString,
        /// Which program.
        program: BString,
    },
    /// No program of the scope loads this file, and by itself it does not find that name.
    PluginMissing,
    /// DT_FILTER and DT_AUXILIARY are not touched.
    Filter,
    /// An unbound object requests it by a name that is not its soname: the loader would not recognise it and load it
    /// again.
    OtherName {
        /// Its DT_SONAME.
        soname: Option<BString>,
        /// The requesting object.
        asker: BString,
    },
    /// The C library and the loader are not of the same release.
    LibcMismatch {
        /// The loader's version.
        loader: Option<LibcVersion>,
        /// The library's version.
        libc: Option<LibcVersion>,
    },
    /// With this name bound, the resolver finds a different closure.
    WouldChange {
        /// The difference, as a sentence.
        difference: String,
    },
    /// This shape leaves the names of this file as they are.
    Shape,
}

/// Where the name of an edge is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// DT_NEEDED (and `vn_file` of versions, if they name it).
    Needed,
    /// Only `vn_file` of needed versions.
    VersionFile,
    /// DT_FILTER.
    Filter,
    /// DT_AUXILIARY.
    Auxiliary,
    /// Another object of the closure requests it; the program will request it first.
    Closure,
}

impl Exclusion {
    /// Why such a library is left out, in words.
    #[must_use]
    pub fn reason(&self) -> String {
        const DRIVER: &str = "which belongs to the driver of the machine it runs on";
        match self {
            Exclusion::GraphicsDriver => format!("a graphics library, {DRIVER}"),
            Exclusion::ComputeDriver => format!("a compute library, {DRIVER}"),
            Exclusion::VideoDriver => format!("a video library, {DRIVER}"),
            Exclusion::Stubs => "a stub to link against: another file takes its place where it runs".to_owned(),
            Exclusion::Mpi => "an MPI library, which a site swaps for its own".to_owned(),
            Exclusion::Hwcaps { variant } => {
                format!("the processor decides: a better one takes {variant}, and a fixed path would take that away")
            }
            Exclusion::LibraryPath => "only LD_LIBRARY_PATH leads to it, as it was set just now".to_owned(),
            Exclusion::Glibc => "part of glibc, which the policy leaves out".to_owned(),
            Exclusion::Pattern { pattern } => format!("the policy excludes {pattern}"),
            Exclusion::NotListed => "not among the names that the policy lists".to_owned(),
        }
    }
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason())?;
        let key = match self {
            Exclusion::GraphicsDriver | Exclusion::ComputeDriver | Exclusion::VideoDriver => "drivers",
            Exclusion::Mpi => "mpi",
            _ => return Ok(()),
        };
        write!(f, " (bound all the same with [built_in] {key} = false in a --policy)")
    }
}

impl fmt::Display for LeftAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftAlone::Loader => f.write_str("the loader itself: a second path to it maps it twice"),
            LeftAlone::Program => f.write_str("the program itself, which has no name to ask for"),
            LeftAlone::Excluded { by } => by.fmt(f),
            LeftAlone::Missing => f.write_str("not found"),
            LeftAlone::Fatal { path } => write!(f, "the loader stops with an error at {path}"),
            LeftAlone::Preloaded => f.write_str("it was preloaded, and does not belong to the program"),
            LeftAlone::CurrentDirectory { path } => write!(f, "{path} depends on the current directory"),
            LeftAlone::NotUtf8 { path } => write!(f, "the path {path} is not UTF-8"),
            LeftAlone::Unwritable { path } => write!(f, "the loader would expand the $ in {path}"),
            LeftAlone::ProgramsDisagree { choices } => {
                f.write_str("programs that share this file load different objects by this name:")?;
                for (index, choice) in choices.iter().enumerate() {
                    let first = choice.programs.first().map(|program| program.to_string()).unwrap_or_default();
                    let more = choice.count.saturating_sub(1);
                    let separator = if index == 0 { "" } else { ";" };
                    match &choice.path {
                        Some(path) => write!(f, "{separator} {path} for {first}")?,
                        None => write!(f, "{separator} none for {first}")?,
                    }
                    if more > 0 {
                        write!(f, " and {more} more")?;
                    }
                }
                f.write_str(" (--flatten or --farm bind each program by itself)")
            }
            LeftAlone::PluginConflict { own, other, program } => {
                write!(f, "no program here loads this file; by itself it finds {own}, but {program} has {other} loaded")
            }
            LeftAlone::PluginMissing => {
                f.write_str("no program here loads this file, and by itself it does not find that name")
            }
            LeftAlone::Filter => f.write_str("a filter: its symbols come from another file"),
            LeftAlone::OtherName { soname: Some(soname), asker } => {
                write!(f, "its soname is {soname}, so the request of {asker}, which is not bound, would load it again")
            }
            LeftAlone::OtherName { soname: None, asker } => {
                write!(f, "it has no soname, so the request of {asker}, which is not bound, would load it again")
            }
            LeftAlone::LibcMismatch { loader, libc } => write!(
                f,
                "the C library ({}) and the loader ({}) are not of one release",
                version(libc),
                version(loader)
            ),
            LeftAlone::WouldChange { difference } => write!(f, "bound, {difference}"),
            LeftAlone::Shape => f.write_str("this shape of binding leaves it as it is"),
        }
    }
}

fn version(version: &Option<LibcVersion>) -> String {
    version.map_or_else(|| "version unknown".to_owned(), |version| version.to_string())
}
