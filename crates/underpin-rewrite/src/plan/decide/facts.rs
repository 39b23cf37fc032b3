//! What a plan needs to know about each file, read once per inode.

use bstr::{BStr, BString, ByteSlice};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use underpin_elf::{DependencyTag, Details, Dynamic, Elf, FileType, LinkFacts, Notes};
use underpin_resolve::root::{SharedSource, lexical};
use underpin_resolve::{FileId, LibcVersion, Root};

/// Functions whose import means that the file's own search path may be used at run time; dlsym(3) may return dlopen.
const RUN_TIME_SEARCH: [&[u8]; 5] = [b"dlopen", b"dlmopen", b"dlsym", b"dlvsym", b"__libc_dlopen_mode"];

/// One file.
pub(in crate::plan) struct Facts {
    pub size: u64,
    pub modified: i64,
    pub build_id: Option<String>,
    pub interpreter: Option<BString>,
    pub dynamic: Dynamic,
    /// `vn_file` of needed versions, each once, in file order.
    pub version_files: Vec<BString>,
    /// Whether it is executed, not loaded.
    pub is_program: bool,
    elf: Elf,
    source: SharedSource,
}

impl Facts {
    fn read(root: &dyn Root, path: &BStr) -> Option<Facts> {
        let opened = root.open(path).ok()?;
        let elf = Elf::read(&*opened.source).ok()?;
        let dynamic = elf.dynamic.clone().unwrap_or_default();
        let link = LinkFacts::read(&*opened.source, &elf, &[], |_| false).unwrap_or_default();
        let mut version_files: Vec<BString> = Vec::new();
        for need in link.version_needs {
            if !version_files.contains(&need.file) {
                version_files.push(need.file);
            }
        }
        let build_id = Notes::read(&*opened.source, &elf).ok().and_then(|notes| notes.build_id);
        // A library may have a PT_INTERP too, so that it can be run (libc.so.6).
        let meant_as_library = dynamic.soname.is_some() && !dynamic.flags.pie() && !dynamic.debug;
        let executable = elf.ident.file_type == FileType::Executable;
        Some(Facts {
            size: opened.meta.size,
            modified: opened.meta.modified,
            build_id: build_id.map(|id| id.to_string()),
            interpreter: elf.interpreter.clone(),
            is_program: elf.interpreter.is_some() && (executable || !meant_as_library),
            version_files,
            dynamic,
            elf,
            source: opened.source,
        })
    }

    /// A program without a loader.
    pub fn is_static_pie(&self) -> bool {
        self.interpreter.is_none() && self.dynamic.flags.pie()
    }

    /// Whether its own search path is relative to the directory by which it was opened.
    pub fn uses_origin(&self) -> bool {
        let paths = [&self.dynamic.rpath, &self.dynamic.runpath].into_iter().flatten();
        let names = self.dynamic.dependencies.iter().map(|(_, name)| name);
        paths.chain(names).any(|text| text.contains_str("ORIGIN"))
    }

    /// Whether it may use its own search path at run time.
    pub fn searches_at_run_time(&self) -> bool {
        self.imports(&RUN_TIME_SEARCH)
    }

    /// Whether it imports a function that opens a library by name.
    pub fn opens_libraries(&self) -> bool {
        self.imports(&[b"dlopen", b"dlmopen", b"__libc_dlopen_mode"])
    }

    /// Whether it may ask for the path by which it was opened (dladdr(3)).
    pub fn asks_where_it_is(&self) -> bool {
        self.imports(&[b"dladdr", b"dladdr1", b"dlinfo"])
    }

    fn imports(&self, names: &[&[u8]]) -> bool {
        let read = LinkFacts::read(&*self.source, &self.elf, names, |_| true);
        read.map_or(true, |link| !link.imports.is_empty())
    }

    pub fn has_filters(&self) -> bool {
        self.dynamic.dependencies.iter().any(|(tag, _)| *tag != DependencyTag::Needed)
    }

    /// The release of the C library inside, and which of the loader's private functions it imports.
    fn libc(&self) -> Libc {
        let details = Details::read(&*self.source, &self.elf).ok();
        let named = |details: &Details| details.identity.libc.as_ref()?.version.clone();
        let version = details.as_ref().and_then(named).and_then(|text| LibcVersion::parse(&text));
        let wants = details.as_ref().map(|details| {
            let private = |import: &&underpin_elf::Import| {
                let need = details.version_of(import);
                need.is_some_and(|need| {
                    need.version == "GLIBC_PRIVATE" && super::exclusions::is_loader_name(need.file.as_ref())
                })
            };
            let strong = |import: &&underpin_elf::Import| import.binding == underpin_elf::SymbolBinding::Global;
            details.imports.iter().filter(private).filter(strong).map(|import| import.name.clone()).collect()
        });
        let has = details.map(|details| details.exports.into_iter().map(|export| export.name).collect());
        Libc { version, wants: wants.unwrap_or_default(), has: has.unwrap_or_default() }
    }
}

/// What shows whether a C library and a loader belong together.
#[derive(Default)]
pub(in crate::plan) struct Libc {
    pub version: Option<LibcVersion>,
    /// Functions of the loader that it imports under GLIBC_PRIVATE.
    pub wants: Vec<BString>,
    /// What it exports.
    pub has: Vec<BString>,
}

/// Facts of files, by inode.
pub(in crate::plan) struct Catalogue<'r> {
    root: &'r dyn Root,
    known: Mutex<HashMap<FileId, Option<Arc<Facts>>>>,
    libcs: Mutex<HashMap<FileId, Arc<Libc>>>,
    identities: Mutex<HashMap<BString, Option<FileId>>>,
}

impl<'r> Catalogue<'r> {
    pub fn new(root: &'r dyn Root) -> Catalogue<'r> {
        Catalogue { root, known: Mutex::default(), libcs: Mutex::default(), identities: Mutex::default() }
    }

    /// The file with this identity, which is at this path.
    pub fn of(&self, id: FileId, path: &BStr) -> Option<Arc<Facts>> {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return known.clone();
        }
        let facts = Facts::read(self.root, path).map(Arc::new);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(id, facts.clone());
        facts
    }

    pub fn libc(&self, id: FileId, path: &BStr) -> Arc<Libc> {
        if let Some(known) = self.libcs.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return known.clone();
        }
        let libc = Arc::new(self.of(id, path).map(|facts| facts.libc()).unwrap_or_default());
        self.libcs.lock().unwrap_or_else(PoisonError::into_inner).insert(id, libc.clone());
        libc
    }

    /// Device and inode of what is at a path, cached.
    pub fn identity(&self, path: &BStr) -> Option<FileId> {
        if let Some(known) = self.identities.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return *known;
        }
        let id = self.root.stat(path).ok().map(|meta| meta.id);
        self.identities.lock().unwrap_or_else(PoisonError::into_inner).insert(path.into(), id);
        id
    }

    /// The path without `.`, `..` and double slashes, if that leads to the same file in the same directory.
    pub fn normal(&self, path: &BStr, id: FileId) -> BString {
        let normal = lexical(path);
        let same_directory = || self.identity(directory_of(path)) == self.identity(directory_of(normal.as_ref()));
        if self.identity(normal.as_ref()) == Some(id) && same_directory() { normal } else { path.into() }
    }
}

/// Whether a file has its own search path, and whether that is inherited (DT_RPATH without a DT_RUNPATH).
pub(in crate::plan) fn is_searched_by(dynamic: &Dynamic) -> Option<bool> {
    (dynamic.rpath.is_some() || dynamic.runpath.is_some()).then_some(dynamic.runpath.is_none())
}

/// The directory of a path, without its last slash.
pub(in crate::plan) fn directory_of(path: &BStr) -> &BStr {
    match path.rfind_byte(b'/') {
        Some(0) => b"/".as_bstr(),
        Some(slash) => path[..slash].as_bstr(),
        None => b".".as_bstr(),
    }
}

/// The file name of a path.
pub(in crate::plan) fn file_name(path: &BStr) -> &BStr {
    path.rfind_byte(b'/').map_or(path, |slash| path[slash + 1..].as_bstr())
}

/// Whether a path is below a directory, as text.
pub(in crate::plan) fn is_below(path: &BStr, directory: &BStr) -> bool {
    let directory = directory.trim_end_with(|letter| letter == '/');
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Whether glibc before 2.37 looks into a directory of this name before its parent: AT_PLATFORM, the bits of AT_HWCAP
/// that have names, and `tls` (sysdeps of each machine, `dl-procinfo.c`).
pub(in crate::plan) fn is_legacy_capability(name: &BStr) -> bool {
    const NAMES: [&str; 26] = [
        "tls", "x86_64", "haswell", "xeon_phi", "avx512_1", "sse2", "i386", "i486", "i586", "i686", "aarch64",
        "atomics", "v6l", "v7l", "v8l", "neon", "vfp", "vfpv3", "ppc970", "esan3", "zarch", "stfle", "msa", "ldisp",
        "eimm", "dfp",
    ];
    let starts = |start: &str| {
        name.strip_prefix(start.as_bytes()).is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
    };
    NAMES.iter().any(|known| name == *known) || ["power", "z", "ultra", "v9v", "mips"].iter().any(|start| starts(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_by_whole_names() {
        assert!(is_below("/a/b".into(), "/a".into()) && is_below("/a".into(), "/a/".into()));
        assert!(is_below("/a".into(), "/".into()) && !is_below("/ab".into(), "/a".into()));
    }
}
