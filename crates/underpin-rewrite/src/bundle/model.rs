//! What a bundle is: the request for it, and its plan as data.

use super::notice::Notice;
use super::{BundleError, Launcher};
use crate::plan::Pattern;
use bstr::{BStr, BString, ByteSlice};
use serde::Serialize;
use underpin_elf::Machine;
use underpin_resolve::{Closure, LoaderKind};

/// The form of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A directory with `bin/` and `lib/`.
    Directory,
    /// One file.
    File,
}

/// The request for a bundle.
pub struct Wish<'a> {
    /// The program's path below the root.
    pub program: BString,
    /// The program's name in the bundle.
    pub name: BString,
    /// The form.
    pub form: Form,
    /// Paths (files or directories) and library names to include as well.
    pub include: Vec<BString>,
    /// What to leave out: plugins, charset modules, included files. The closure itself cannot be left out.
    pub exclude: Vec<Pattern>,
    /// Names of locales to include besides `C.UTF-8`.
    pub locales: Vec<BString>,
    /// The launcher for a machine, if there is one.
    pub launcher: &'a dyn Fn(Machine) -> Option<&'static [u8]>,
    /// The library by which programs of a machine find locales in a bundle, if there is one.
    pub locale_library: &'a dyn Fn(Machine) -> Option<&'static [u8]>,
    /// Merges libraries of the closure; `None` keeps each one a file of its own.
    pub merge: Option<&'a Merge<'a>>,
}

/// Merges libraries of a closure into one, which finds itself by their names in a folder (for its DT_RPATH); `None` if that
/// gains nothing.
pub type Merge<'a> = dyn Fn(&Closure, &str) -> Result<Option<Merged>, String> + 'a;

/// Libraries merged into one.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Its soname.
    pub name: BString,
    /// The file.
    pub bytes: Vec<u8>,
    /// The paths of the libraries in it.
    pub members: Vec<BString>,
    /// The names by which it finds itself.
    pub names: Vec<BString>,
    /// What each reference of a member was bound to: its path, the symbol with its version in brackets, and the path of the
    /// object that defines it.
    pub bindings: Vec<(BString, String, BString)>,
}

/// What a bundle was before libraries were merged, and how the two are compared.
#[derive(Clone, Debug)]
pub(super) struct Separate {
    pub plan: Box<BundlePlan>,
    /// The name of the merged library in the bundle, and those of its members.
    pub name: BString,
    pub members: Vec<BString>,
    /// [`Merged::bindings`] by names in the bundle.
    pub bindings: Vec<(BString, String, BString)>,
}

/// Why a file is included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum IncludedBecause {
    /// The program.
    Program,
    /// Its PT_INTERP.
    Loader,
    /// In the closure of the program.
    Needed {
        /// The object that needs it first.
        by: BString,
    },
    /// A name service (nsswitch.conf(5)).
    NameService {
        /// The service's name.
        service: BString,
    },
    /// glibc opens it to unwind a stack ([`underpin_resolve::unwinder`]).
    Unwinder {
        /// The function that an object of the closure calls.
        function: BString,
    },
    /// An object declares that it may open it (`.note.dlopen`).
    Declared {
        /// Which object.
        by: BString,
        /// What for.
        feature: Option<String>,
    },
    /// iconv(3) opens it for a charset that is not built in.
    Charset,
    /// A file of a locale that setlocale(3) finds.
    Locale {
        /// The locale's name.
        name: BString,
    },
    /// Libraries of the closure that were merged into it.
    Merged {
        /// Their paths.
        libraries: Vec<BString>,
    },
    /// Underpin's own library, by which setlocale(3) finds the locales of the bundle.
    LocaleLibrary,
    /// The user asked for it.
    Included {
        /// By which argument.
        by: BString,
    },
    /// Needed by something that is included without being in the program's closure.
    NeededByTaken {
        /// The object that needs it.
        by: BString,
    },
}

/// One file of a bundle.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    /// Where it is now, below the root.
    pub source: BString,
    /// Where it goes, below the top of the bundle.
    pub place: BString,
    /// Why.
    #[serde(flatten)]
    pub reason: IncludedBecause,
    /// Its size in bytes.
    pub size: u64,
    /// The name that objects use for it, if it is an object.
    #[serde(skip)]
    pub(super) name: Option<BString>,
    /// Whether that name is its soname, by which loaders recognise it among the loaded objects.
    #[serde(skip)]
    pub(super) is_soname: bool,
    /// Further names that objects use for it.
    #[serde(skip)]
    pub(super) aliases: Vec<BString>,
    /// Names that it uses, and their replacements.
    #[serde(skip)]
    pub(super) renames: Vec<(BString, BString)>,
    /// Its bytes, if they are not those of the source.
    #[serde(skip)]
    pub(super) content: Option<Vec<u8>>,
}

/// What goes into a bundle.
#[derive(Clone, Debug, Serialize)]
pub struct BundlePlan {
    /// The program as the user named it.
    pub program: BString,
    /// The program's name in the bundle.
    pub name: BString,
    /// The form.
    pub form: Form,
    /// Which C library's rules the loader follows.
    pub loader: LoaderKind,
    /// Every file: the program, its loader, the closure in load order, then what is opened later.
    pub items: Vec<Item>,
    /// Symbolic links: the path below the top, and the target.
    pub links: Vec<(BString, BString)>,
    /// What the user should know.
    pub notices: Vec<Notice>,
    /// Texts that go along: licence files, a list of what is inside. In a directory they are files; to a file they are
    /// appended as a zip archive, which unzip(1) finds there.
    #[serde(skip)]
    pub documents: Vec<(BString, Vec<u8>)>,
    /// The launcher.
    #[serde(skip)]
    pub(super) launcher: Launcher,
    /// Entries of the program's search path that are relative to its own place.
    #[serde(skip)]
    pub(super) search: BString,
    /// File form: whether the loader maps libraries from the file ([`super::hooks`]).
    #[serde(skip)]
    pub(super) mapped: bool,
    /// The same with each library a file of its own, if libraries were merged.
    #[serde(skip)]
    pub(super) separate: Option<Separate>,
}

impl Item {
    /// A file that is copied unchanged.
    pub(super) fn file(source: BString, place: BString, reason: IncludedBecause, size: u64) -> Item {
        let (aliases, renames) = (Vec::new(), Vec::new());
        Item { source, place, reason, size, name: None, is_soname: false, aliases, renames, content: None }
    }
}

impl Item {
    /// Whether the loader maps it at start, the program and the loader itself left out.
    fn is_at_start(&self) -> bool {
        use IncludedBecause::{LocaleLibrary, Merged, Needed};
        matches!(self.reason, Needed { .. } | LocaleLibrary | Merged { .. })
    }

    /// Whether it is a library that is opened later.
    fn is_opened_later(&self) -> bool {
        let is_first = matches!(self.reason, IncludedBecause::Program | IncludedBecause::Loader);
        self.name.is_some() && !is_first && !self.is_at_start()
    }
}

impl BundlePlan {
    /// The sum of all sizes, in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.items.iter().map(|item| item.size).sum()
    }

    /// Objects that the loader maps at start, in its order, the program and the loader itself left out.
    pub fn closure(&self) -> impl Iterator<Item = &Item> {
        // In memory there is no folder in which what is opened later would be found.
        let all = self.form == Form::File && !self.mapped;
        self.items.iter().filter(move |item| item.is_at_start() || all && item.is_opened_later())
    }

    /// Libraries that are opened later.
    pub(super) fn opened_later(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.is_opened_later())
    }

    /// Whether charset modules are included.
    #[must_use]
    pub fn has_charsets(&self) -> bool {
        self.items.iter().any(|item| item.reason == IncludedBecause::Charset)
    }
}

/// The last component of a path.
pub(super) fn file_name(path: &BStr) -> &BStr {
    path.rsplit_str("/").next().unwrap_or(path).as_bstr()
}

pub(super) fn read_error(path: &BStr, error: impl ToString) -> BundleError {
    BundleError::Read { path: path.into(), error: error.to_string() }
}
