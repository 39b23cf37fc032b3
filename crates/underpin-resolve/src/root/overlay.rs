//! A root with some files' bytes replaced and some links added: what a change would do, before it is made.

use super::path::lexical;
use super::{FileId, FileKind, Meta, Opened, PathError, Root};
use bstr::{BStr, BString, ByteSlice};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;
use underpin_elf::Source;

/// Contents of a file.
pub type SharedSource = Arc<dyn Source + Send + Sync>;

/// Another file's bytes with some of them replaced: a changed file costs no more memory than its changes.
pub struct PatchedSource {
    base: SharedSource,
    /// How many bytes of the base are kept.
    kept: u64,
    /// Offset and bytes, ascending, not overlapping.
    patches: Vec<(u64, Vec<u8>)>,
    /// Follows the kept part.
    tail: Vec<u8>,
}

impl PatchedSource {
    /// The first `kept` bytes of `base`, with patches inside them, followed by `tail`. Patches beyond `kept` are cut.
    #[must_use]
    pub fn new(base: SharedSource, kept: u64, mut patches: Vec<(u64, Vec<u8>)>, tail: Vec<u8>) -> PatchedSource {
        patches.sort_by_key(|(offset, _)| *offset);
        PatchedSource { kept: kept.min(base.len()), base, patches, tail }
    }
}

impl Source for PatchedSource {
    fn len(&self) -> u64 {
        self.kept + self.tail.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64).filter(|end| *end <= self.len());
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let inside = usize::try_from(self.kept.clamp(offset, end) - offset).map_err(io::Error::other)?;
        let (kept, behind) = buf.split_at_mut(inside);
        if !kept.is_empty() {
            self.base.read_exact_at(offset, kept)?;
        }
        if !behind.is_empty() {
            self.tail.as_slice().read_exact_at(offset.max(self.kept) - self.kept, behind)?;
        }
        for (start, bytes) in &self.patches {
            let shared = offset.max(*start)..(offset + kept.len() as u64).min(start + bytes.len() as u64);
            if shared.start < shared.end {
                let (from, to) = (shared.start - start, shared.start - offset);
                let length = (shared.end - shared.start) as usize;
                kept[to as usize..][..length].copy_from_slice(&bytes[from as usize..][..length]);
            }
        }
        Ok(())
    }
}

/// Another root, with differences. Files keep their identity: what changes is only what is read from them.
pub struct OverlayRoot<'r> {
    base: &'r dyn Root,
    changed: HashMap<FileId, SharedSource>,
    /// By directory and name.
    links: BTreeMap<BString, BTreeMap<BString, BString>>,
}

impl<'r> OverlayRoot<'r> {
    /// The same as `base`.
    #[must_use]
    pub fn new(base: &'r dyn Root) -> OverlayRoot<'r> {
        OverlayRoot { base, changed: HashMap::new(), links: BTreeMap::new() }
    }

    /// Gives a file other bytes, under all of its names.
    pub fn change(&mut self, id: FileId, bytes: SharedSource) {
        self.changed.insert(id, bytes);
    }

    /// The bytes given to a file.
    #[must_use]
    pub fn changed(&self, id: FileId) -> Option<&SharedSource> {
        self.changed.get(&id)
    }

    /// Adds a directory that exists only here, and those above it that do not exist below.
    pub fn directory(&mut self, directory: &BStr) {
        let place = self.place(directory);
        self.add(place);
    }

    fn add(&mut self, place: BString) -> &mut BTreeMap<BString, BString> {
        let mut above = split(place.as_ref()).0;
        while !self.links.contains_key(above) && self.base.stat(above) == Err(PathError::NotFound) {
            self.links.insert(above.into(), BTreeMap::new());
            above = split(above).0;
        }
        self.links.entry(place).or_default()
    }

    /// Adds a symbolic link in such a directory; a relative target counts from the directory.
    pub fn link(&mut self, directory: &BStr, name: &BStr, target: &BStr) {
        let place = self.place(directory);
        self.add(place).insert(name.into(), target.into());
    }

    /// The directory's key in this root: the real path of its parent, and its name.
    fn place(&self, directory: &BStr) -> BString {
        let directory = directory.trim_end_with(|letter| letter == '/').as_bstr();
        let (above, name) = split(directory);
        let real = self.base.real_path(if above.is_empty() { b"/".as_bstr() } else { above });
        match real {
            Ok(real) if !matches!(name.as_bytes(), b"." | b"..") => join(real.as_ref(), name),
            _ => lexical(directory),
        }
    }

    /// What a path means in the base: the target of an added link, or the path itself. `None` is an added directory.
    fn below(&self, path: &BStr) -> Result<Option<BString>, PathError> {
        if self.links.is_empty() {
            return Ok(Some(path.into()));
        }
        if self.links.contains_key(&self.place(path)) {
            return Ok(None);
        }
        let (directory, name) = split(path);
        let place = self.place(directory);
        match self.links.get(&place) {
            None => Ok(Some(path.into())),
            Some(_) if matches!(name.as_bytes(), b"" | b".") => Ok(None),
            Some(names) => {
                let target = names.get(&BString::from(name)).ok_or(PathError::NotFound)?;
                // The place does not exist in the base, so a target that leads out of it is resolved as text.
                Ok(Some(if target.starts_with(b"/") { target.clone() } else { climbed(&place, target.as_ref()) }))
            }
        }
    }

    fn directory_meta(&self, path: &BStr) -> Meta {
        // An inode of its own that no file system uses.
        let index = self.links.keys().position(|known| *known == self.place(path)).unwrap_or(0);
        let id = FileId { device: u64::MAX, inode: index as u64 };
        Meta { id, kind: FileKind::Directory, size: 0, modified: 0, set_user_id: false, secure_execution: false }
    }
}

impl Root for OverlayRoot<'_> {
    fn open(&self, path: &BStr) -> Result<Opened, PathError> {
        let Some(below) = self.below(path)? else {
            return Ok(Opened { meta: self.directory_meta(path), source: Arc::new(Vec::new()) });
        };
        let mut opened = self.base.open(below.as_ref())?;
        if let Some(bytes) = self.changed.get(&opened.meta.id) {
            opened.meta.size = bytes.len();
            opened.source = bytes.clone();
        }
        Ok(opened)
    }

    fn stat(&self, path: &BStr) -> Result<Meta, PathError> {
        let Some(below) = self.below(path)? else { return Ok(self.directory_meta(path)) };
        let mut meta = self.base.stat(below.as_ref())?;
        if let Some(bytes) = self.changed.get(&meta.id) {
            meta.size = bytes.len();
        }
        Ok(meta)
    }

    fn real_path(&self, path: &BStr) -> Result<BString, PathError> {
        match self.below(path)? {
            Some(below) => self.base.real_path(below.as_ref()),
            None => Ok(self.place(path)),
        }
    }

    fn read_link(&self, path: &BStr) -> Option<BString> {
        let (directory, name) = split(path);
        match self.links.get(&self.place(directory)) {
            Some(names) => names.get(&BString::from(name)).cloned(),
            None => self.base.read_link(path),
        }
    }

    fn list(&self, directory: &BStr) -> Result<Vec<BString>, PathError> {
        let place = self.place(directory);
        let mut names: BTreeSet<BString> = match self.links.get(&place) {
            Some(names) => names.keys().cloned().collect(),
            None => self.base.list(directory)?.into_iter().collect(),
        };
        for added in self.links.keys() {
            let (above, name) = split(added.as_ref());
            if self.place(above) == place {
                names.insert(name.into());
            }
        }
        Ok(names.into_iter().collect())
    }

    fn current_directory(&self) -> BString {
        self.base.current_directory()
    }

    fn kernel(&self) -> Option<[u8; 3]> {
        self.base.kernel()
    }
}

/// The directory of a path, without its last slash, and the name in it.
fn split(path: &BStr) -> (&BStr, &BStr) {
    match path.rfind_byte(b'/') {
        Some(0) => (b"/".as_bstr(), path[1..].as_bstr()),
        Some(slash) => (path[..slash].as_bstr(), path[slash + 1..].as_bstr()),
        None => (b".".as_bstr(), path),
    }
}

fn join(directory: &BStr, name: &BStr) -> BString {
    let separator: &[u8] = if directory.ends_with(b"/") { b"" } else { b"/" };
    [directory.as_bytes(), separator, name.as_bytes()].concat().into()
}

/// A relative target, its leading `..` taken off the directory that it counts from.
fn climbed(directory: &BString, target: &BStr) -> BString {
    let (mut directory, mut rest) = (directory.as_bstr(), target);
    while let Some(next) = rest.strip_prefix(b"../") {
        (directory, rest) = (split(directory).0, next.as_bstr());
    }
    join(directory, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::MemoryRoot;

    fn base() -> MemoryRoot {
        let mut base = MemoryRoot::new();
        base.file("/a/x", "old").file("/b/y", "other").link("/l", "/a/x");
        base
    }

    #[test]
    fn a_changed_file_has_its_new_bytes_under_every_name_and_keeps_its_identity() {
        let base = base();
        let id = base.stat("/a/x".into()).unwrap().id;
        let mut overlay = OverlayRoot::new(&base);
        overlay.change(id, Arc::new(b"newer".to_vec()));
        for path in ["/a/x", "/l", "/b/../a/x"] {
            assert_eq!(overlay.read(path.into(), 99).unwrap(), b"newer", "{path}");
            let meta = overlay.stat(path.into()).unwrap();
            assert_eq!((meta.size, meta.id), (5, id), "{path}");
        }
        assert_eq!(overlay.read("/b/y".into(), 99).unwrap(), b"other");
    }

    #[test]
    fn a_patched_source_reads_as_the_patched_file_at_every_offset() {
        let base: SharedSource = Arc::new(b"0123456789".to_vec());
        let patched = PatchedSource::new(base, 8, vec![(6, b"XYZ".to_vec()), (1, b"ab".to_vec())], b"tail".to_vec());
        let whole = b"0ab345XYtail";
        assert_eq!(patched.len(), whole.len() as u64);
        for start in 0..whole.len() {
            for end in start..=whole.len() {
                let mut buffer = vec![0; end - start];
                patched.read_exact_at(start as u64, &mut buffer).unwrap();
                assert_eq!(buffer, &whole[start..end], "{start}..{end}");
            }
        }
        assert!(patched.read_exact_at(11, &mut [0; 2]).is_err());
        assert!(patched.read_exact_at(u64::MAX, &mut [0; 2]).is_err());
    }

    #[test]
    fn an_added_directory_holds_its_links_and_nothing_else() {
        let base = base();
        let mut overlay = OverlayRoot::new(&base);
        overlay.link("/a/farm".into(), "abs".into(), "/b/y".into());
        overlay.link("/a/farm/".into(), "rel".into(), "../x".into());
        for path in ["/a/farm/abs", "/b/../a/farm/abs"] {
            assert_eq!(overlay.read(path.into(), 99).unwrap(), b"other", "{path}");
        }
        assert_eq!(overlay.read("/a/farm/rel".into(), 99).unwrap(), b"old");
        assert_eq!(overlay.stat("/a/farm/gone".into()).unwrap_err(), PathError::NotFound);
        assert_eq!(overlay.stat("/a/farm".into()).unwrap().kind, FileKind::Directory);
        assert_eq!(overlay.list("/a/farm".into()).unwrap(), ["abs", "rel"]);
        assert_eq!(overlay.list("/a".into()).unwrap(), ["farm", "x"]);
        assert_eq!(overlay.real_path("/a/farm/rel".into()).unwrap(), "/a/x");
        assert_eq!(overlay.read_link("/a/farm/rel".into()).unwrap(), "../x");
        assert!(base.stat("/a/farm".into()).is_err());
    }

    #[test]
    fn the_directories_above_an_added_one_exist_too() {
        let base = base();
        let mut overlay = OverlayRoot::new(&base);
        overlay.link("/a/.new/deep/farm".into(), "abs".into(), "/b/y".into());
        for path in ["/a/.new", "/a/.new/deep", "/a/.new/deep/farm"] {
            assert_eq!(overlay.stat(path.into()).unwrap().kind, FileKind::Directory, "{path}");
            assert_eq!(overlay.read_link(path.into()), None, "{path}");
        }
        assert_eq!(overlay.read("/a/.new/deep/farm/abs".into(), 99).unwrap(), b"other");
        assert_eq!(overlay.list("/a/.new".into()).unwrap(), ["deep"]);
        assert_eq!(overlay.list("/a".into()).unwrap(), [".new", "x"]);
        assert_eq!(overlay.stat("/a/.new/gone".into()).unwrap_err(), PathError::NotFound);
    }
}
