//! What a bundle cannot carry or changes, told with what to do.

use super::plan::{Item, Reason, Wish};
use super::{Form, scan, texts, tree, wrapper};
use bstr::{BString, ByteSlice};
use serde::Serialize;
use std::fmt;
use underpin_elf::{Elf, Machine};
use underpin_resolve::{Closure, FindingKind, LoaderKind, Root};

/// Something that a person should know about a bundle.
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
    /// The program looks at its own file by `/proc/self/exe`.
    OwnFile,
    /// Set-user-ID or set-group-ID: a copy has no rights of its own.
    SetUser,
    /// A directory that looks like the program's data.
    Data {
        /// The directory.
        path: BString,
    },
    /// Plug-ins or data by a path compiled into an object.
    Compiled {
        /// The directory or file.
        path: BString,
        /// Objects with that text.
        by: Vec<BString>,
        /// Bytes of its files.
        size: u64,
        /// How many of them are shared objects.
        objects: u64,
        /// Where it is in the bundle, if it was included.
        place: Option<BString>,
        /// Words in those objects that look like variables which lead to files.
        variables: Vec<BString>,
    },
    /// Certificates of authorities are looked for by paths compiled in.
    Certificates {
        /// The object.
        by: BString,
        /// Where.
        paths: Vec<BString>,
        /// Variables that lead elsewhere, if it reads any.
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
    /// Bytes behind the last segment and section, which the program may look for at the end of its file.
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
    /// Memory that a start of a bundle in one file takes for its libraries.
    Memory {
        /// How many bytes are copied at each start.
        size: u64,
        /// Whether what is only read is given back before the program runs.
        given_back: bool,
    },
}

/// Why a bundle has no locale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
#[non_exhaustive]
pub enum NoLocale {
    /// One file has no directory to hold it.
    OneFile,
    /// The user left it out.
    Excluded,
    /// glibc before 2.34.
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
                "{} can open more libraries while running (dlopen); `underpin trace` shows which, --include takes them along",
                list(by)
            ),
            Notice::OwnFile => f.write_str(
                "it asks /proc/self/exe where it is: it will see the bundle, and look for its files relative to that",
            ),
            Notice::SetUser => f.write_str("it is set-user-ID or set-group-ID; the copy in the bundle is not"),
            Notice::Data { path } => write!(f, "{path} may be its data, by a path compiled in; --include takes it along"),
            Notice::Compiled { .. } | Notice::Certificates { .. } | Notice::Wrapper { .. } => self.compiled(f),
            Notice::Payload { size } => {
                write!(f, "{size} bytes stand behind its ELF image; the bundle keeps them, but not at the end of the file")
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
    /// What is looked for by a path compiled in, or set by a script.
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

/// Beginnings of sonames whose libraries hand over to drivers.
const DRIVERS: &[&str] = &[
    "libGL.so",
    "libGLX.so",
    "libEGL.so",
    "libOpenGL.so",
    "libGLESv",
    "libGLdispatch.so",
    "libvulkan.so",
    "libcuda.so",
    "libnvidia-",
    "libOpenCL.so",
    "libva.so",
    "libvdpau.so",
    "libze_loader.so",
    "libamdhip64.so",
    "libgbm.so",
];

/// Looks for all of it.
pub(super) fn collect(root: &dyn Root, closure: &Closure, elf: &Elf, items: &[Item], wish: &Wish<'_>) -> Vec<Notice> {
    let mut notices = Vec::new();
    let names = || items.iter().filter_map(|item| item.name.clone());
    let drivers: Vec<_> = names().filter(|name| DRIVERS.iter().any(|start| name.starts_with_str(start))).collect();
    if !drivers.is_empty() {
        notices.push(Notice::Drivers { names: drivers });
    }
    let by = openers(closure);
    if !by.is_empty() {
        notices.push(Notice::OpensMore { by });
    }
    if let Ok(opened) = root.open(wish.program.as_ref()) {
        if scan::mentions(&*opened.source, elf, b"/proc/self/exe") {
            notices.push(Notice::OwnFile);
        }
        if opened.meta.secure_execution || opened.meta.set_user_id {
            notices.push(Notice::SetUser);
        }
        notices.extend(payload(&*opened.source, elf));
    }
    let named = named(root, closure, items, wish);
    let known =
        |path: &BString| named.iter().any(|notice| matches!(notice, Notice::Compiled { path: one, .. } if one == path));
    notices.extend(
        data(root, items, wish).into_iter().filter(|notice| !matches!(notice, Notice::Data { path } if known(path))),
    );
    notices.extend(named);
    if wish.form == Form::File {
        notices.extend(of_one_file(root, closure, elf.ident.machine, items));
    }
    notices
}

fn openers(closure: &Closure) -> Vec<BString> {
    let declared = |object| {
        let note = |kind: &FindingKind| matches!(kind, FindingKind::DlopenNote { .. });
        closure.findings.iter().any(|finding| finding.object == object && note(&finding.kind))
    };
    let imports = closure.findings.iter().filter(|finding| finding.kind == FindingKind::ImportsDlopen);
    let objects = imports.filter(|finding| !declared(finding.object)).filter_map(|finding| finding.object);
    let paths = objects.filter_map(|id| closure.objects.get(id.0)).map(|object| object.path.as_ref());
    paths.map(|path| super::plan::file_name(path).into()).collect()
}

/// Bytes behind everything that the ELF headers speak of.
fn payload(source: &(dyn underpin_elf::Source + Send + Sync), elf: &Elf) -> Option<Notice> {
    let segments = elf.loads().map(|load| load.offset.0.saturating_add(load.file_size)).max().unwrap_or(0);
    let details = underpin_elf::Details::read(source, elf).ok()?;
    let mut header = [0; 64];
    source.read_exact_at(0, &mut header).ok()?;
    let table = u64::from_le_bytes(*header[40..].first_chunk()?);
    let table_end = table + u64::from(u16::from_le_bytes(*header[60..].first_chunk()?)) * 64;
    let in_file = |section: &&underpin_elf::Section| section.kind != underpin_elf::SectionKind::NoBits;
    let sections = details.sections.iter().filter(in_file).map(|section| section.offset.0.saturating_add(section.size));
    let end = sections.max().unwrap_or(0).max(segments).max(table_end);
    let size = source.len().saturating_sub(end);
    (size > 0).then_some(Notice::Payload { size })
}

/// Directories named after the program below its prefix that are not taken.
fn data(root: &dyn Root, items: &[Item], wish: &Wish<'_>) -> Vec<Notice> {
    let program = root.real_path(wish.program.as_ref()).unwrap_or_else(|_| wish.program.clone());
    let mut parts = program.rsplitn_str(3, "/");
    let (Some(name), Some(_), Some(prefix)) = (parts.next(), parts.next(), parts.next()) else { return Vec::new() };
    let mut names: Vec<&[u8]> = vec![name, wish.name.as_slice()];
    // A name with a version or variant behind it: emacs-gtk, python3.11.
    names.extend(name.find_byteset(b"-.").map(|end| &name[..end]));
    names.sort_unstable();
    names.dedup();
    let mut notices = Vec::new();
    for below in ["share", "lib", "libexec"] {
        for name in &names {
            let path = BString::from([prefix, b"/", below.as_bytes(), b"/", name].concat());
            let is_directory =
                root.stat(path.as_ref()).is_ok_and(|meta| meta.kind == underpin_resolve::root::FileKind::Directory);
            let taken = items.iter().any(|item| item.source.strip_prefix(path.as_slice()).is_some());
            if is_directory && !taken {
                notices.push(Notice::Data { path });
            }
        }
    }
    notices
}

/// What objects name by paths compiled in, and what a script sets.
fn named(root: &dyn Root, closure: &Closure, items: &[Item], wish: &Wish<'_>) -> Vec<Notice> {
    let place_of = |path: &BString| {
        let real = root.real_path(path.as_ref()).unwrap_or_else(|_| path.clone());
        items.iter().find_map(|item| {
            let rest = [path, &real].into_iter().find_map(|path| item.source.strip_prefix(path.as_slice()))?;
            let whole = rest.is_empty() || rest.starts_with(b"/");
            item.place.strip_suffix(rest).filter(|_| whole).map(BString::from)
        })
    };
    let texts = texts::of_items(root, closure, items);
    let mut notices: Vec<Notice> = Vec::new();
    for one in texts::compiled(root, closure, items, &texts) {
        let texts::Compiled { path, by, variables, found } = one;
        let place = place_of(&path);
        notices.push(Notice::Compiled { place, path, by, variables, size: found.size, objects: found.objects });
    }
    for (by, texts) in texts {
        let mut paths = texts.paths;
        paths.retain(|path| texts::is_certificates(path.as_ref()));
        // What is there stands first: it can be included.
        paths.sort_by_key(|path| root.stat(path.as_ref()).is_err());
        if !paths.is_empty() {
            let place = paths.iter().find_map(place_of);
            let of_certificates = |name: &BString| name.contains_str("CERT") || name.contains_str("CA_");
            let variables = texts.variables.into_iter().filter(of_certificates).collect();
            notices.push(Notice::Certificates { by, paths, variables, place });
        }
    }
    if let Some(wrapper::Wrapper { script, variables }) = wrapper::find(root, wish.program.as_ref()) {
        let program = root.real_path(wish.program.as_ref()).unwrap_or_else(|_| wish.program.clone());
        let place = |(_, value): &(BString, BString)| tree::place(value.as_ref(), program.as_ref());
        notices.push(Notice::Wrapper { places: variables.iter().map(place).collect(), script, variables });
    }
    notices
}

fn of_one_file(root: &dyn Root, closure: &Closure, machine: Machine, items: &[Item]) -> Vec<Notice> {
    let libraries = items.iter().filter(|item| !matches!(item.reason, Reason::Program | Reason::Loader));
    let mut notices =
        vec![Notice::Memory { size: libraries.map(|item| item.size).sum(), given_back: machine == Machine::X86_64 }];
    let converts = |object: &underpin_resolve::Object| {
        let libc = object.soname.as_ref().is_some_and(|soname| soname.starts_with(b"libc.so"));
        !libc && !scan::imports(root, object.path.as_ref(), &[b"iconv_open"]).is_empty()
    };
    if closure.loader.kind == LoaderKind::Glibc && closure.objects.iter().any(converts) {
        notices.push(Notice::NoCharsets);
    }
    notices
}
