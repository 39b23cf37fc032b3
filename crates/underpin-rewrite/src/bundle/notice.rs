//! What a bundle cannot carry or changes, with advice on what to do.

use bstr::BString;
use serde::Serialize;
use std::fmt;

/// Something that the user should know about a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum Notice {
    /// Libraries whose work is done by drivers of the machine: GL, Vulkan, CUDA and the like.
    Drivers {
        /// Their names.
        names: Vec<BString>,
    },
    /// Objects that import dlopen(3) without declaring what they open.
    OpensMore {
        /// Their names.
        by: Vec<BString>,
    },
    /// The program refers to its own file as `/proc/self/exe`.
    OwnFile,
    /// Set-user-ID or set-group-ID: a copy does not have those rights.
    SetUser,
    /// A directory that looks like the program's data.
    Data {
        /// The directory.
        path: BString,
    },
    /// Plug-ins or data at a path compiled into an object.
    Compiled {
        /// The directory or file.
        path: BString,
        /// Objects that contain that path.
        by: Vec<BString>,
        /// The size of its files, in bytes.
        size: u64,
        /// How many of them are shared objects.
        objects: u64,
        /// Where it is in the bundle, if it was included.
        place: Option<BString>,
        /// Words in those objects that look like variables for paths.
        variables: Vec<BString>,
    },
    /// CA certificates are looked for at compiled-in paths.
    Certificates {
        /// The object.
        by: BString,
        /// The paths.
        paths: Vec<BString>,
        /// Variables that override the paths, if it reads any.
        variables: Vec<BString>,
        /// Where in the bundle they are, if they were included.
        place: Option<BString>,
    },
    /// A script starts the program and sets variables for it.
    Wrapper {
        /// The script.
        script: BString,
        /// Variables and their values.
        variables: Vec<(BString, BString)>,
        /// Where in the bundle the values are, or would be if they were included.
        places: Vec<BString>,
    },
    /// Bytes after the last segment and section, which the program may look for at the end of its file.
    Payload {
        /// How many bytes.
        size: u64,
    },
    /// iconv(3) is used, and a bundle in one file has no charset modules.
    NoCharsets,
    /// A locale is set, and the bundle has no `C.UTF-8`.
    NoLocales {
        /// Why not.
        #[serde(flatten)]
        reason: NoLocale,
    },
    /// Memory that each start of a bundle in one file uses for its libraries.
    Memory {
        /// How many bytes are copied at each start.
        size: u64,
        /// Whether memory that is only read is released before the program runs.
        given_back: bool,
    },
}

/// Why a bundle has no locale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
#[non_exhaustive]
pub enum NoLocale {
    /// A bundle in one file has no directory for it.
    OneFile,
    /// The user left it out.
    Excluded,
    /// The C library is a glibc before 2.34.
    OldLibrary,
    /// This machine has none either.
    NotHere {
        /// Where it was looked for.
        directory: BString,
    },
}

impl fmt::Display for NoLocale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoLocale::OneFile => f.write_str("one file has none; make it a directory to include C.UTF-8"),
            NoLocale::Excluded => f.write_str("--exclude leaves them out"),
            NoLocale::OldLibrary => f.write_str("glibc before 2.34 cannot be led to those of a bundle"),
            NoLocale::NotHere { directory } => write!(f, "there is no C.UTF-8 in {directory} here"),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &[BString]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Notice::Drivers { names } => {
                write!(f, "{} open drivers of the machine they run on; those are never bundled", list(names))
            }
            Notice::OpensMore { by } => write!(
                f,
                "{} can open more libraries while running (dlopen); `underpin trace` shows which, --include adds them",
                list(by)
            ),
            Notice::OwnFile => f.write_str(
                "it asks /proc/self/exe where it is: it will see the bundle, and look for its files relative to that",
            ),
            Notice::SetUser => f.write_str("it is set-user-ID or set-group-ID; the copy in the bundle is not"),
            Notice::Data { path } => write!(f, "{path} may be its data, by a path compiled in; --include adds it"),
            Notice::Compiled { .. } | Notice::Certificates { .. } | Notice::Wrapper { .. } => self.compiled(f),
            Notice::Payload { size } => {
                write!(f, "{size} bytes follow its ELF image; the bundle keeps them, but not at the end of the file")
            }
            Notice::NoCharsets => f.write_str(
                "it converts charsets (iconv); in one file only the built-in ones work (UTF-8, UCS-4, ASCII), or make it a \
                 directory",
            ),
            Notice::NoLocales { reason } => write!(
                f,
                "it sets a locale (setlocale) and finds only those of the machine that it runs on, or the plain \"C\": {reason}"
            ),
            Notice::Memory { size, given_back } => {
                let kilobytes = size.div_ceil(1024);
                let rest = if *given_back { ", and gives back what is only read" } else { ", per process" };
                write!(f, "each start copies up to {kilobytes} kB of libraries into memory{rest}; a directory needs no copy")
            }
        }
    }
}

impl Notice {
    /// What is looked for at a compiled-in path, or set by a script.
    fn compiled(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &[BString]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Notice::Compiled { path, by, size, objects, place, variables } => {
                let what = if *objects > 0 { "plug-ins" } else { "data" };
                let first = by.first().map_or_else(|| "the program".to_owned(), ToString::to_string);
                let more = if by.len() > 1 { format!(" and {} more", by.len() - 1) } else { String::new() };
                let size = size.div_ceil(1024);
                match place {
                    Some(place) => {
                        write!(f, "{path} ({what}) is at {place} in the bundle; {first}{more} names the old path")?
                    }
                    None => write!(f, "{path} ({what}, {size} kB) is named by {first}{more}: --include {path}")?,
                }
                match variables.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; it may follow {}", list(variables)),
                }
            }
            Notice::Certificates { by, paths, variables, place } => {
                write!(f, "{by} looks for certificates in {}", list(paths))?;
                let first = paths.first().map_or_else(String::new, ToString::to_string);
                match (place, variables.first()) {
                    (Some(place), Some(name)) => write!(f, "; the bundle has them: set {name} to its {place}"),
                    (Some(place), None) => write!(f, "; the bundle has them at {place}, and no variable leads there"),
                    (None, Some(_)) => {
                        write!(f, ": not included; --include {first}, and set {}", list(variables))
                    }
                    (None, None) => f.write_str(": not included, and no variable leads elsewhere"),
                }
            }
            Notice::Wrapper { script, variables, places } => {
                write!(
                    f,
                    "{script} starts it and sets variables that the bundle does not; include what they name, and set"
                )?;
                for ((name, value), place) in variables.iter().zip(places) {
                    write!(f, " {name}=BUNDLE/{place} (--include {value})")?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
