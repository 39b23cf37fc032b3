//! What goes into a bundle, where, and why: a plan as data, before a byte is written.

use super::head::is_dynamic_program;
use super::notice::{self, Notice};
use super::{BundleError, Launcher, locales, plugins, tree};
use crate::plan::Pattern;
use bstr::{BStr, BString, ByteSlice};
use serde::Serialize;
use std::collections::HashMap;
use underpin_elf::{Elf, Machine};
use underpin_resolve::{Closure, Depth, EdgeKind, LoaderKind, ObjectId, Outcome, Resolver, Root};

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A directory with `bin/` and `lib/`.
    Directory,
    /// One file.
    File,
}

/// What is asked for.
pub struct Wish<'a> {
    /// The program's path below the root.
    pub program: BString,
    /// The name that it gets.
    pub name: BString,
    /// The form.
    pub form: Form,
    /// Paths (files or directories) and library names to take along besides.
    pub include: Vec<BString>,
    /// What is not taken: plugins, charset modules, included files. The closure itself cannot be left out.
    pub exclude: Vec<Pattern>,
    /// Names of locales to include besides `C.UTF-8`.
    pub locales: Vec<BString>,
    /// The launcher for a machine, where there is one.
    pub launcher: &'a dyn Fn(Machine) -> Option<&'static [u8]>,
    /// The library by which programs of a machine find locales in a bundle, if there is one.
    pub locale_library: &'a dyn Fn(Machine) -> Option<&'static [u8]>,
}

/// Why something is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Reason {
    /// The program.
    Program,
    /// Its PT_INTERP.
    Loader,
    /// In the closure of the program; asked for by this object first.
    Needed {
        /// By which name.
        by: BString,
    },
    /// A name service (nsswitch.conf(5)).
    NameService {
        /// The service's name.
        service: BString,
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
    /// Underpin's own library, by which setlocale(3) finds the locales of the bundle.
    LocaleLibrary,
    /// The user asked for it.
    Included {
        /// By which argument.
        by: BString,
    },
    /// Needed by something that is not in the closure of the program, but taken along.
    NeededByTaken {
        /// By what.
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
    pub reason: Reason,
    /// Its size in bytes.
    pub size: u64,
    /// The name by which it is asked for, where it is an object.
    #[serde(skip)]
    pub(super) name: Option<BString>,
    /// Whether that name is its soname, by which loaders recognise it among the loaded objects.
    #[serde(skip)]
    pub(super) is_soname: bool,
    /// Names that it uses and what they become.
    #[serde(skip)]
    pub(super) renames: Vec<(BString, BString)>,
    /// Its bytes, if they are not those of the source.
    #[serde(skip)]
    pub(super) content: Option<Vec<u8>>,
}

/// What goes into a bundle.
#[derive(Clone, Debug, Serialize)]
pub struct BundlePlan {
    /// The program as it was named.
    pub program: BString,
    /// The name that it gets.
    pub name: BString,
    /// The form.
    pub form: Form,
    /// Whose rules the loader follows.
    pub loader: LoaderKind,
    /// Every file: the program, its loader, the closure in load order, then what is opened later.
    pub items: Vec<Item>,
    /// Symbolic links: where below the top, and what they hold.
    pub links: Vec<(BString, BString)>,
    /// What a person should know.
    pub notices: Vec<Notice>,
    /// The launcher.
    #[serde(skip)]
    pub(super) launcher: Launcher,
    /// Entries of the program's search path that count from its own place.
    #[serde(skip)]
    pub(super) search: BString,
}

impl Item {
    /// A file that is copied as it is.
    pub(super) fn file(source: BString, place: BString, reason: Reason, size: u64) -> Item {
        Item { source, place, reason, size, name: None, is_soname: false, renames: Vec::new(), content: None }
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
        let at_start = |reason: &Reason| matches!(reason, Reason::Needed { .. } | Reason::LocaleLibrary);
        self.items.iter().filter(move |item| at_start(&item.reason) || self.form == Form::File && self.preloads(item))
    }

    /// Whether the file form maps something at start that a directory opens later: there is no directory to find it in.
    pub(super) fn preloads(&self, item: &Item) -> bool {
        item.name.is_some()
            && !matches!(item.reason, Reason::Program | Reason::Loader | Reason::Needed { .. } | Reason::LocaleLibrary)
    }

    /// Whether charset modules are taken along.
    #[must_use]
    pub fn has_charsets(&self) -> bool {
        self.items.iter().any(|item| item.reason == Reason::Charset)
    }
}

/// Finds out what goes into a bundle.
///
/// # Errors
/// [`BundleError`]: the program cannot be bundled, and why.
pub fn plan(resolver: &Resolver<'_>, root: &dyn Root, wish: &Wish<'_>) -> Result<BundlePlan, BundleError> {
    let closure = resolver.resolve(wish.program.as_ref(), Depth::Findings)?;
    let opened = root.open(wish.program.as_ref()).map_err(|error| read_error(wish.program.as_ref(), error))?;
    let elf = Elf::read(&*opened.source).map_err(|error| BundleError::Program(error.to_string()))?;
    if !is_dynamic_program(&elf) {
        return Err(BundleError::Static(wish.program.clone()));
    }
    let machine = elf.ident.machine;
    let image = (wish.launcher)(machine).filter(|_| elf.ident.class == underpin_elf::Class::Elf64);
    let image = image.ok_or_else(|| BundleError::Machine { path: wish.program.clone(), machine: shown(&elf) })?;
    complete(&closure)?;
    let mut taken = Taken::default();
    taken.closure(&closure, wish)?;
    plugins::take(&mut taken, resolver, root, &closure, wish)?;
    tree::take(&mut taken, resolver, root, &closure, wish)?;
    let lacks_locale = locales::take(&mut taken, root, &closure, (machine, wish))?;
    let mut notices = notice::collect(root, &closure, &elf, &taken.items, wish);
    notices.extend(lacks_locale);
    Ok(BundlePlan {
        program: wish.program.clone(),
        name: wish.name.clone(),
        form: wish.form,
        loader: closure.loader.kind,
        items: taken.items,
        links: taken.links,
        notices,
        launcher: Launcher::new(image)?,
        search: own_search(&elf),
    })
}

fn shown(elf: &Elf) -> String {
    elf.ident.machine.name().map_or_else(|| format!("machine {}", elf.ident.machine.0), str::to_owned)
}

pub(super) fn read_error(path: &BStr, error: impl ToString) -> BundleError {
    BundleError::Read { path: path.into(), error: error.to_string() }
}

/// What counts from the program's own place stays true in a bundle; absolute directories are those of this machine.
fn own_search(elf: &Elf) -> BString {
    let dynamic = elf.dynamic.as_ref();
    let path = dynamic.and_then(|dynamic| dynamic.runpath.as_ref().or(dynamic.rpath.as_ref()));
    let entries = path.iter().flat_map(|path| path.split_str(":"));
    let own = entries.filter(|entry| entry.starts_with(b"$ORIGIN") || entry.starts_with(b"${ORIGIN}"));
    own.fold(BString::default(), |all, entry| [all.as_slice(), b":", entry].concat().into())
}

fn complete(closure: &Closure) -> Result<(), BundleError> {
    let fails = |outcome: &Outcome| matches!(outcome, Outcome::Missing | Outcome::Fatal { .. });
    let Some(edge) = closure.edges.iter().find(|edge| fails(&edge.outcome)) else { return Ok(()) };
    let by = closure.objects.get(edge.from.0).map_or_else(BString::default, |object| object.path.clone());
    Err(BundleError::Missing { program: closure.program.clone(), name: edge.name.clone(), by })
}

/// The last component of a path.
pub(super) fn file_name(path: &BStr) -> &BStr {
    path.rsplit_str("/").next().unwrap_or(path).as_bstr()
}

/// What is taken so far.
#[derive(Default)]
pub(super) struct Taken {
    pub items: Vec<Item>,
    /// Links to make: where, and what they hold.
    pub links: Vec<(BString, BString)>,
    /// Directories that the libraries of the closure come from.
    pub homes: Vec<BString>,
    /// Sources by the name under which they stand in `lib/`.
    by_name: HashMap<BString, BString>,
}

impl Taken {
    /// Whether an object of this name is there already.
    pub fn has(&self, name: &BStr) -> bool {
        self.by_name.contains_key(name)
    }

    fn closure(&mut self, closure: &Closure, wish: &Wish<'_>) -> Result<(), BundleError> {
        let preloaded = |id: ObjectId| {
            let preload = |kind| matches!(kind, EdgeKind::LdPreload | EdgeKind::EtcPreload);
            closure.edges.iter().any(|edge| preload(edge.kind) && loaded(&edge.outcome) == Some(id))
        };
        for (index, object) in closure.objects.iter().enumerate() {
            let id = ObjectId(index);
            let by = object.requested_by.and_then(|by| closure.objects.get(by.0));
            let reason = match object.found {
                underpin_resolve::Found::Program => Reason::Program,
                underpin_resolve::Found::Interpreter => Reason::Loader,
                _ if preloaded(id) => continue,
                _ => Reason::Needed { by: by.map_or_else(BString::default, |by| file_name(by.path.as_ref()).into()) },
            };
            let name = name_of(object, &closure.loader.path, &reason);
            if let Some(pattern) =
                wish.exclude.iter().find(|pattern| pattern.covers(name.as_ref(), None, name.as_ref()))
                && reason != Reason::Program
            {
                return Err(BundleError::Excluded { pattern: pattern.0.clone(), name });
            }
            self.object(closure, id, name, reason, wish)?;
        }
        Ok(())
    }

    /// Takes one object of a closure.
    fn object(
        &mut self,
        closure: &Closure,
        id: ObjectId,
        name: BString,
        reason: Reason,
        wish: &Wish<'_>,
    ) -> Result<(), BundleError> {
        let Some(object) = closure.objects.get(id.0) else { return Ok(()) };
        let is_program = reason == Reason::Program;
        let place =
            if is_program { [b"bin/", wish.name.as_slice()].concat() } else { [b"lib/", name.as_slice()].concat() };
        if !is_program && let Some(other) = self.by_name.insert(name.clone(), object.path.clone()) {
            let (one, other) = (object.path.clone(), other);
            return Err(BundleError::SameName { name, one, other });
        }
        self.items.push(Item {
            source: object.path.clone(),
            place: place.into(),
            reason,
            size: object.size,
            renames: renames(closure, id),
            is_soname: object.soname.as_ref() == Some(&name),
            name: Some(name),
            content: None,
        });
        Ok(())
    }

    /// Takes a library that is opened later, and what it needs besides. Its own closure decides.
    pub fn library(
        &mut self,
        resolver: &Resolver<'_>,
        path: &BStr,
        reason: &Reason,
        wish: &Wish<'_>,
    ) -> Result<(), BundleError> {
        let closure = resolver.resolve(path, Depth::Load)?;
        for (index, object) in closure.objects.iter().enumerate() {
            let own = index == 0;
            let name = name_of(object, &closure.loader.path, reason);
            let is_loader = object.found == underpin_resolve::Found::Interpreter;
            if is_loader
                || self.has(name.as_ref())
                || wish.exclude.iter().any(|pattern| pattern.covers(name.as_ref(), None, name.as_ref()))
            {
                continue;
            }
            let by = file_name(path).into();
            let reason = if own { reason.clone() } else { Reason::NeededByTaken { by } };
            self.object(&closure, ObjectId(index), name, reason, wish)?;
        }
        Ok(())
    }

    /// Takes what a library needs, not itself: it is copied to a place of its own.
    pub fn needs_of(&mut self, resolver: &Resolver<'_>, path: &BStr, wish: &Wish<'_>) -> Result<(), BundleError> {
        let closure = resolver.resolve(path, Depth::Load)?;
        for (index, object) in closure.objects.iter().enumerate().skip(1) {
            let name = name_of(object, &closure.loader.path, &Reason::Program);
            let is_loader = object.found == underpin_resolve::Found::Interpreter;
            if !is_loader && !self.has(name.as_ref()) {
                let reason = Reason::NeededByTaken { by: file_name(path).into() };
                self.object(&closure, ObjectId(index), name, reason, wish)?;
            }
        }
        Ok(())
    }
}

fn loaded(outcome: &Outcome) -> Option<ObjectId> {
    match outcome {
        Outcome::Loaded { object, .. } => Some(*object),
        _ => None,
    }
}

/// The one name under which everything in the bundle asks for an object: its soname, or its file's name.
fn name_of(object: &underpin_resolve::Object, loader: &BString, reason: &Reason) -> BString {
    match (&object.soname, reason) {
        (_, Reason::Loader) => file_name(loader.as_ref()).into(),
        (Some(soname), _) if !soname.contains(&b'/') && !soname.is_empty() => soname.clone(),
        _ => file_name(object.names.first().unwrap_or(&object.path).as_ref()).into(),
    }
}

/// Names in an object that differ from those of the objects that they led to: absolute ones, and links.
fn renames(closure: &Closure, id: ObjectId) -> Vec<(BString, BString)> {
    let of = closure.edges.iter().filter(|edge| edge.from == id && !matches!(edge.kind, EdgeKind::Interpreter));
    let pairs = of.filter_map(|edge| {
        let object = closure.objects.get(loaded(&edge.outcome)?.0)?;
        let is_loader = object.found == underpin_resolve::Found::Interpreter;
        // The loader answers to its soname and to the text of PT_INTERP; other names of it stay as they are.
        let name = if is_loader { edge.name.clone() } else { name_of(object, &closure.loader.path, &Reason::Program) };
        (name != edge.name).then(|| (edge.name.clone(), name))
    });
    pairs.collect()
}
