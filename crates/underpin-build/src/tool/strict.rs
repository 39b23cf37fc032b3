//! Libraries and headers of this machine, which a program for another C library or for an image must not get.
//!
//! A path on the command line is seen before the compiler starts; what the linker found by itself it tells
//! (`--dependency-file`, which GNU ld has from 2.35 on and lld from 13 on). zig looks in no folder that it is not told.

use super::options::{Purpose, of_folder, purpose};
use super::{Dialect, Tool, ToolPlan};
use crate::CLibrary;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Folders of distributions with libraries and headers.
const SYSTEM: [&str; 5] = ["/usr", "/lib", "/lib32", "/lib64", "/libx32"];
/// glibc's own files and those of gcc that are made for it: of a build for glibc they are not foreign.
const OF_GLIBC: [&str; 24] = [
    "libc.",
    "libc_nonshared.a",
    "libm.",
    "libm-",
    "libmvec",
    "libpthread",
    "libdl.",
    "librt.",
    "libutil.",
    "libresolv.",
    "libanl.",
    "libnsl.",
    "libBrokenLocale",
    "libg.a",
    "libmcheck",
    "ld-linux",
    "ld64.so",
    "crt",
    "Scrt1.o",
    "rcrt1.o",
    "gcrt1.o",
    "libgcc_s",
    "libstdc++",
    "libatomic",
];

/// What may be linked of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strict {
    /// Folders of the compilers, and of the C library.
    pub own: Vec<PathBuf>,
}

/// A file or folder of this machine that would get into a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Leak {
    /// The linker took it.
    #[error(
        "{} is of this machine, and no recipe's: it is not linked in (name a recipe that has it in `needs`, or configure the package without it)",
        .0.display()
    )]
    Linked(PathBuf),
    /// The command line names it.
    #[error("`{0}` looks into this machine's own folders: a recipe sees what its `needs` installed, by {{sysroot}}")]
    Named(String),
}

impl Strict {
    /// Refuses folders and files of this machine that a command line names.
    pub(super) fn arguments(&self, arguments: &[OsString]) -> Result<(), Leak> {
        let mut option = None;
        for word in arguments {
            let bytes = word.as_bytes();
            let (named, of) = if let Some(option) = option.take() {
                (Some(bytes), option)
            } else if let Some((name, joined)) = of_folder(word) {
                if joined.is_empty() {
                    option = Some(name);
                }
                ((!joined.is_empty()).then_some(joined), name)
            } else {
                let is_library = bytes.ends_with(b".a") || bytes.windows(3).any(|three| three == b".so");
                (is_library.then_some(bytes), "")
            };
            let Some(named) = named.filter(|named| named.starts_with(b"/")) else { continue };
            if self.is_foreign(Path::new(OsStr::from_bytes(named))) {
                return Err(Leak::Named(format!("{of}{}", String::from_utf8_lossy(named))));
            }
        }
        Ok(())
    }

    /// Whether a path is below a folder of the distribution's that is not the compiler's.
    fn is_foreign(&self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let below = |path: &Path, folder: &Path| {
            path.starts_with(folder) || folder.canonicalize().is_ok_and(|folder| path.starts_with(folder))
        };
        SYSTEM.iter().any(|folder| below(&real, Path::new(folder))) && !self.own.iter().any(|own| below(&real, own))
    }

    /// Refuses what a linker took of this machine, as its dependency file lists it. `named`: files that the plan itself
    /// links.
    ///
    /// # Errors
    /// The first such file.
    pub fn linked(&self, list: &[u8], libc: CLibrary, named: &dyn Fn(&Path) -> bool) -> Result<(), Leak> {
        for path in dependencies(list) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let of_glibc = matches!(libc, CLibrary::Glibc(_)) && OF_GLIBC.iter().any(|own| name.starts_with(own));
            if path.is_absolute() && !of_glibc && !named(&path) && self.is_foreign(&path) {
                return Err(Leak::Linked(path.canonicalize().unwrap_or(path)));
            }
        }
        Ok(())
    }
}

impl ToolPlan {
    /// Whether the files of this link are to be looked at afterwards ([`Strict::linked`]).
    pub(super) fn watches(&self, tool: Tool, arguments: &[OsString]) -> bool {
        self.strict.is_some()
            && self.compiler(tool).is_some_and(|compiler| compiler.dialect != Dialect::Zig)
            && matches!(purpose(arguments), Purpose::Program | Purpose::Library)
    }

    /// Whether the plan itself links a file.
    #[must_use]
    pub fn names(&self, path: &Path) -> bool {
        let compilers = [&self.cc, &self.cxx].into_iter().flatten();
        let mut words = compilers.flat_map(|one| one.start.iter().chain(&one.end));
        words.any(|word| Path::new(word) == path)
            || self.objects.iter().chain(&self.archive).any(|object| object == path)
    }
}

/// The files behind the colon of a rule of make; a backslash is before what make would split at.
fn dependencies(list: &[u8]) -> Vec<PathBuf> {
    let text = String::from_utf8_lossy(list);
    let first = text.split("\n\n").next().unwrap_or_default().replace("\\\n", " ");
    let Some((_, rest)) = first.split_once(':') else { return Vec::new() };
    let rest: Cow<'_, str> = if rest.contains("\\ ") { rest.replace("\\ ", "\0").into() } else { rest.into() };
    rest.split_whitespace().map(|word| PathBuf::from(word.replace('\0', " ").replace("$$", "$"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict() -> Strict {
        Strict { own: vec!["/usr/lib/gcc/x86_64-linux-gnu/12".into()] }
    }

    #[test]
    fn a_folder_of_this_machine_on_the_command_line_is_refused() {
        let words = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
        for refused in
            [&["-I/usr/include"][..], &["-L", "/usr/lib"], &["a.c", "/usr/lib/libz.a"], &["-isystem", "/usr/include"]]
        {
            assert!(strict().arguments(&words(refused)).is_err(), "{refused:?}");
        }
        let kept = ["-I.", "-L/work/root/usr/lib", "-o", "/usr/bin/x", "-L/usr/lib/gcc/x86_64-linux-gnu/12", "-lz"];
        assert_eq!(strict().arguments(&words(&kept)), Ok(()));
    }

    #[test]
    fn a_library_that_the_linker_found_here_is_refused_and_glibc_only_by_builds_for_musl() {
        let list = b"a.out: \\\n  /usr/lib/x86_64-linux-gnu/crt1.o \\\n  a.o \\\n  /usr/lib/x86_64-linux-gnu/libc.so\n\n\na.o:\n\n";
        let none = |_: &Path| false;
        let glibc = CLibrary::Glibc(None);
        assert_eq!(strict().linked(list, glibc, &none), Ok(()));
        assert!(matches!(strict().linked(list, CLibrary::Musl, &none), Err(Leak::Linked(_))));
        let list =
            b"a.out: \\\n  /usr/lib/x86_64-linux-gnu/libnone.so \\\n  /usr/lib/gcc/x86_64-linux-gnu/12/libgcc.a\n";
        let found = strict().linked(list, glibc, &none);
        assert_eq!(found, Err(Leak::Linked("/usr/lib/x86_64-linux-gnu/libnone.so".into())));
        assert_eq!(strict().linked(list, glibc, &|path| path.ends_with("libnone.so")), Ok(()));
    }
}
