//! The files of a closure as bytes: what they import, and which texts are in them, with offsets.

use bstr::{BStr, BString, ByteSlice};
use memchr::memmem;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use underpin_elf::{Details, Elf, LibcKind, LibcPlacement};
use underpin_resolve::Root;
use underpin_sys::zeros;

/// A larger file is not searched for texts.
const LIMIT: u64 = 1 << 30;

/// Libraries that belong to the C library or a compiler: that they can do something is no sign that a program does.
const RUNTIME: &[&[u8]] = &[
    b"libc.so",
    b"libm.so",
    b"libpthread.so",
    b"libdl.so",
    b"librt.so",
    b"libresolv.so",
    b"libutil.so",
    b"libnss_",
    b"libanl.so",
    b"libnsl.so",
    b"ld-linux",
    b"ld-musl-",
    b"ld64.so",
    b"ld.so",
    b"libc.musl-",
    b"libstdc++.so",
    b"libgcc_s.so",
    b"libc++.so",
    b"libasan.so",
];

/// One ELF file.
#[derive(Debug)]
pub struct Object {
    /// Where it is in the image.
    pub path: BString,
    /// All of it.
    pub bytes: Vec<u8>,
    /// What a loader reads.
    pub elf: Elf,
    details: Option<Details>,
    /// Where each text was found that was looked for: the same are looked for again where what is missing is told.
    found: RefCell<HashMap<(Pattern, String), Option<u64>>>,
}

/// What around a text makes it the one that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pattern {
    /// Anything.
    Text,
    /// A whole string of C: NUL before it, or the begin of the file, and NUL behind it.
    Whole,
    /// The begin of a string of C: NUL before it.
    Begin,
}

impl Object {
    /// Reads a file; `None` if it is not an ELF file or too large.
    #[must_use]
    pub fn read(root: &dyn Root, path: &BStr) -> Option<Object> {
        let bytes = root.read_to(path, LIMIT, zeros).ok()?;
        let elf = Elf::read(&bytes).ok()?;
        let details = Details::read(&bytes, &elf).ok();
        Some(Object { path: path.into(), bytes, elf, details, found: RefCell::default() })
    }

    fn name(&self) -> &[u8] {
        let soname = self.elf.dynamic.as_ref().and_then(|dynamic| dynamic.soname.as_ref());
        let file = self.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        soname.map_or(file, |soname| soname.as_slice())
    }

    /// Whether its own name begins so.
    pub(super) fn is_named(&self, start: &str) -> bool {
        self.name().starts_with(start.as_bytes())
    }

    /// Whether it is of the C library or the compiler.
    pub(super) fn is_runtime(&self) -> bool {
        RUNTIME.iter().any(|start| self.name().starts_with(start))
    }

    pub(super) fn is_static(&self) -> bool {
        self.details.as_ref().is_some_and(|details| details.identity.linkage.is_static())
    }

    pub(crate) fn is_static_glibc(&self) -> bool {
        let libc = self.details.as_ref().and_then(|details| details.identity.libc.as_ref());
        self.is_static()
            && libc.is_some_and(|libc| libc.kind == LibcKind::Glibc && libc.placement == LibcPlacement::Inside)
    }

    pub(super) fn is_go(&self) -> bool {
        self.text("Go build ID: ").is_some() || self.text("Go buildinf:").is_some()
    }

    /// The first of these functions that it calls in another object, or, in a static program with symbols, that is linked in:
    /// its name, and where the name is in the file.
    pub(super) fn calls(&self, names: &[&'static str]) -> Option<(&'static str, u64)> {
        let details = self.details.as_ref()?;
        let is_static = self.is_static();
        let known = |name: &&&'static str| {
            let name = name.as_bytes();
            details.imports.iter().any(|import| import.name == name)
                || is_static && details.exports.iter().any(|export| export.name == name)
        };
        let name = names.iter().find(known)?;
        Some((name, self.whole(name).unwrap_or(0)))
    }

    /// Where a text is.
    pub(super) fn text(&self, text: &str) -> Option<u64> {
        self.find(Pattern::Text, text)
    }

    /// Where a text is that ends with NUL and begins after one: a whole string of C.
    pub(super) fn whole(&self, text: &str) -> Option<u64> {
        self.find(Pattern::Whole, text)
    }

    /// A whole string of C that begins so.
    pub(super) fn begins(&self, start: &str) -> Option<(u64, &BStr)> {
        let at = self.find(Pattern::Begin, start)?;
        Some((at, self.string_at(usize::try_from(at).ok()?)))
    }

    fn find(&self, pattern: Pattern, text: &str) -> Option<u64> {
        let mut found = self.found.borrow_mut();
        *found.entry((pattern, text.to_owned())).or_insert_with(|| self.search(pattern, text.as_bytes()))
    }

    fn search(&self, pattern: Pattern, text: &[u8]) -> Option<u64> {
        let at = match pattern {
            Pattern::Text => memmem::find(&self.bytes, text),
            Pattern::Whole => {
                let begins = |at: &usize| *at == 0 || self.bytes.get(at - 1) == Some(&0);
                memmem::find_iter(&self.bytes, &[text, &[0]].concat()).find(begins)
            }
            Pattern::Begin => memmem::find(&self.bytes, &[&[0], text].concat()).map(|at| at + 1),
        };
        at.map(|at| at as u64)
    }

    /// Whole strings that end so.
    pub(super) fn ending(&self, end: &str) -> Vec<(u64, &BStr)> {
        let ended = [end.as_bytes(), &[0]].concat();
        let begin = |at: usize| self.bytes[..at].rfind_byte(0).map_or(0, |nul| nul + 1);
        let found = memmem::find_iter(&self.bytes, &ended).map(begin);
        found.map(|at| (at as u64, self.string_at(at))).filter(|(_, text)| text.starts_with(b"/")).collect()
    }

    fn string_at(&self, at: usize) -> &BStr {
        let rest = &self.bytes[at..];
        rest[..rest.find_byte(0).unwrap_or(rest.len())].as_bstr()
    }
}

/// Files that were read and searched, by where they are in the image: a plan reads them, and need not have them read again.
#[derive(Clone, Debug, Default)]
pub struct Known(RefCell<HashMap<BString, Option<Rc<Object>>>>);

impl Known {
    /// All of them, so that nothing keeps their memory but who asks.
    #[must_use]
    pub fn take(&self) -> Known {
        Known(RefCell::new(self.0.take()))
    }
}

/// The files that were read: a library is read once for all programs.
pub(crate) struct Objects<'a> {
    root: &'a dyn Root,
    known: Known,
}

impl<'a> Objects<'a> {
    /// With files that are known to be in this root.
    pub(crate) fn new(root: &'a dyn Root, known: Known) -> Objects<'a> {
        Objects { root, known }
    }

    pub(crate) fn get(&self, path: &BStr) -> Option<Rc<Object>> {
        let mut known = self.known.0.borrow_mut();
        known.entry(path.into()).or_insert_with(|| Object::read(self.root, path).map(Rc::new)).clone()
    }

    /// Gives the memory of a program back: nothing else maps it.
    pub(crate) fn forget(&self, path: &BStr) {
        self.known.0.borrow_mut().remove(path.as_bstr());
    }

    /// What was read. What was not there may be by now.
    pub(crate) fn known(self) -> Known {
        self.known.0.borrow_mut().retain(|_, object| object.is_some());
        self.known
    }
}
