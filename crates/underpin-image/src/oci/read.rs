//! An image, in whatever form it is there, as its configuration and its files.

use super::document::{Configuration, DOCKER_LIST, Descriptor, INDEX, Index, Manifest, REFERENCE, Saved};
use super::files::{Bytes, Place, key_of};
use super::spool::{self, Slice};
use super::tape::{Member, Tape};
use super::{FileKind, Files, Node, OciError};
use bstr::{BString, ByteSlice};
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tar::EntryType;
use underpin_elf::Source;
use underpin_resolve::PathError;

/// No document of an image is larger.
const DOCUMENT: u64 = 16 << 20;

/// In which form an image is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A folder in OCI's layout.
    Layout,
    /// The same as one tar.
    OciArchive,
    /// What `docker save` writes.
    DockerArchive,
    /// A tar of a root file system.
    Tar,
    /// A root file system as a folder.
    Folder,
}

impl Form {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Form::Layout => "OCI layout",
            Form::OciArchive => "OCI archive",
            Form::DockerArchive => "Docker archive",
            Form::Tar => "tar of a root file system",
            Form::Folder => "root file system",
        }
    }
}

/// What an image may be at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes that all layers decompress to.
    pub bytes: u64,
    /// How many times its own size a compressed layer may have, beyond 64 MiB.
    pub ratio: u64,
    /// Entries of all layers.
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: 64 << 30, ratio: 200, entries: 5_000_000 }
    }
}

/// How the image is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The processor, in the words of the specification: `amd64`, `arm64`.
    pub architecture: String,
    /// What is always started, with its first arguments.
    pub entrypoint: Vec<String>,
    /// Arguments that a user may replace, or what is started if there is no entrypoint.
    pub command: Vec<String>,
    /// `NAME=VALUE`.
    pub environment: Vec<String>,
    /// `UID` or a name of the image's /etc/passwd, either with `:GROUP`; empty for root.
    pub user: String,
    /// Where it starts; empty for the root.
    pub directory: String,
}

/// An image that was read.
#[derive(Debug)]
pub struct Image {
    /// The file or folder.
    pub path: PathBuf,
    /// In which form it was.
    pub form: Form,
    /// Which of several images it is: tag and processor, if the index has them.
    pub chosen: Option<String>,
    /// How it is started; `None` for a root file system.
    pub config: Option<Config>,
    /// How many layers.
    pub layers: usize,
    /// Its files.
    pub files: Files,
}

/// Reads an image: an OCI layout or archive, a Docker archive, a tar (compressed or not) or a folder of a root file system.
/// Of several images, the one for the processor of this machine is taken, or else the first.
///
/// # Errors
/// If it is none of these, is damaged, or is larger than the limits.
pub fn open(path: &Path, limits: Limits) -> Result<Image, OciError> {
    let kind = fs::metadata(path).map_err(OciError::io(path))?.file_type();
    let mut reader = Reading { path, limits, left: limits.bytes, entries: 0, files: Files::default() };
    if kind.is_dir() {
        if path.join("index.json").is_file() && path.join("blobs").is_dir() {
            return reader.oci(&Parts::Folder(path.to_owned()), Form::Layout);
        }
        reader.folder(path, Path::new(""))?;
        return Ok(reader.done(Form::Folder, None, None, 1));
    }
    if !kind.is_file() {
        let reason = "neither a file nor a folder: name an image's file or folder".to_owned();
        return Err(OciError::NotAnImage { path: path.to_owned(), reason });
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(OciError::io(path))?;
    let slice = Slice::of(file).map_err(OciError::io(path))?;
    let slice = spool::plain(slice.clone(), reader.limit(slice.size), path, "the file")?;
    reader.archive(slice)
}

/// The files of an archive, or of a layout.
enum Parts {
    Folder(PathBuf),
    Tar(HashMap<BString, Slice>),
}

impl Parts {
    fn get(&self, name: &str, path: &Path) -> Result<Slice, OciError> {
        let missing = || OciError::NotAnImage {
            path: path.to_owned(),
            reason: format!("`{name}` is not in it: copy or build the image again"),
        };
        match self {
            Parts::Tar(parts) => parts.get(name.as_bytes().as_bstr()).cloned().ok_or_else(missing),
            Parts::Folder(folder) => {
                let file = folder.join(name);
                let kind = fs::metadata(&file).map_err(|_| missing())?;
                if !kind.is_file() {
                    return Err(missing());
                }
                File::open(&file).and_then(Slice::of).map_err(OciError::io(file))
            }
        }
    }
}

struct Reading<'a> {
    path: &'a Path,
    limits: Limits,
    left: u64,
    entries: usize,
    files: Files,
}

impl Reading<'_> {
    fn done(self, form: Form, config: Option<Config>, chosen: Option<String>, layers: usize) -> Image {
        Image { path: self.path.to_owned(), form, chosen, config, layers, files: self.files }
    }

    fn wrong(&self, reason: impl Into<String>) -> OciError {
        OciError::NotAnImage { path: self.path.to_owned(), reason: reason.into() }
    }

    /// What a blob of some size may decompress to.
    fn limit(&self, size: u64) -> u64 {
        self.left.min((64 << 20) + size.saturating_mul(self.limits.ratio))
    }

    /// A tar: of an image, or of its files. An image has one of two documents at its top.
    fn archive(mut self, slice: Slice) -> Result<Image, OciError> {
        let mut parts = HashMap::new();
        let mut tape = Tape::new(&slice, self.path, "the tar");
        // A layer or configuration may be stored once and named twice (`docker save` did so with links).
        while let Some(member) = tape.member()? {
            let name = clean(member.name.as_bstr());
            let part = match member.kind {
                EntryType::Symlink => {
                    let above = name.rfind_byte(b'/').map_or(&b""[..], |slash| &name[..=slash]);
                    parts.get(&in_archive(above, &member.link)).cloned()
                }
                EntryType::Link => parts.get(&clean(member.link.as_bstr())).cloned(),
                _ => Some(slice.part(member.offset, member.size)),
            };
            if parts.len() >= self.limits.entries {
                return Err(self.wrong(format!("it has more than {} entries", self.limits.entries)));
            }
            parts.extend(part.map(|part| (name, part)));
        }
        let has = |name: &str| parts.contains_key(name.as_bytes().as_bstr());
        if has("oci-layout") {
            return self.oci(&Parts::Tar(parts), Form::OciArchive);
        }
        if has("manifest.json") {
            return self.docker(&Parts::Tar(parts));
        }
        if parts.is_empty() {
            return Err(self.wrong("no tar with files in it: expected an image or a root file system"));
        }
        drop(parts);
        self.layer(&slice, "the tar", 0)?;
        Ok(self.done(Form::Tar, None, None, 1))
    }

    fn oci(mut self, parts: &Parts, form: Form) -> Result<Image, OciError> {
        let index: Index = self.json(&parts.get("index.json", self.path)?, "index.json")?;
        let (manifest, chosen) = self.choose(index, parts, 0)?;
        let manifest: Manifest = self.blob_json(&manifest, parts)?;
        if manifest.layers.is_empty() && manifest.config.digest.is_empty() {
            return Err(self.wrong("its manifest names no configuration"));
        }
        let config: Configuration = self.blob_json(&manifest.config, parts)?;
        for (number, layer) in manifest.layers.iter().enumerate() {
            let (slice, blob) = (self.blob(layer, parts)?, blob_name(&layer.digest));
            let diff_id = config.rootfs.diff_ids.get(number).map(String::as_str);
            self.compressed_layer(slice, &blob, number, diff_id)?;
        }
        let layers = manifest.layers.len();
        Ok(self.done(form, Some(config.into()), chosen, layers))
    }

    /// The manifest of an index that is for this machine, or the first; an index may name others.
    fn choose(&self, index: Index, parts: &Parts, depth: u32) -> Result<(Descriptor, Option<String>), OciError> {
        let images: Vec<Descriptor> =
            index.manifests.into_iter().filter(|one| platform(one) != Some("unknown")).collect();
        let several = images.len() > 1;
        let here = images.iter().position(|one| platform(one) == Some(host_architecture())).unwrap_or(0);
        let Some(one) = images.into_iter().nth(here) else { return Err(self.wrong("its index names no image")) };
        if one.media_type == INDEX || one.media_type == DOCKER_LIST {
            if depth > 3 {
                return Err(self.wrong("its indexes name each other more than three deep"));
            }
            return self.choose(self.blob_json(&one, parts)?, parts, depth + 1);
        }
        let words = [one.annotations.get(REFERENCE).map(String::as_str), platform(&one)];
        let chosen = words.iter().flatten().copied().collect::<Vec<_>>().join(", ");
        Ok((one, (several && !chosen.is_empty()).then_some(chosen)))
    }

    fn docker(mut self, parts: &Parts) -> Result<Image, OciError> {
        let saved: Vec<Saved> = self.json(&parts.get("manifest.json", self.path)?, "manifest.json")?;
        let Some(saved) = saved.into_iter().next() else { return Err(self.wrong("its manifest.json names no image")) };
        let config: Configuration = self.json(&parts.get(&saved.config, self.path)?, &saved.config)?;
        for (number, name) in saved.layers.iter().enumerate() {
            let diff_id = config.rootfs.diff_ids.get(number).map(String::as_str);
            self.compressed_layer(parts.get(name, self.path)?, name, number, diff_id)?;
        }
        let layers = saved.layers.len();
        Ok(self.done(Form::DockerArchive, Some(config.into()), None, layers))
    }

    fn json<D: DeserializeOwned>(&self, slice: &Slice, name: &str) -> Result<D, OciError> {
        let blob = |offset: u64, reason: String| OciError::Blob {
            path: self.path.to_owned(),
            blob: name.to_owned(),
            offset,
            reason,
        };
        if slice.size > DOCUMENT {
            return Err(blob(0, format!("{} bytes: a document of an image has at most 16 MiB", slice.size)));
        }
        let mut bytes = vec![0; usize::try_from(slice.size).unwrap_or(0)];
        slice.read_exact_at(0, &mut bytes).map_err(OciError::io(self.path))?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let before = bytes.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
            let offset = before.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1);
            blob(offset as u64, error.to_string())
        })
    }

    fn blob_json<D: DeserializeOwned>(&self, descriptor: &Descriptor, parts: &Parts) -> Result<D, OciError> {
        let slice = self.blob(descriptor, parts)?;
        self.json(&slice, &blob_name(&descriptor.digest))
    }

    /// A blob whose bytes are those that its name says.
    fn blob(&self, descriptor: &Descriptor, parts: &Parts) -> Result<Slice, OciError> {
        let digest = &descriptor.digest;
        let hex = digest.strip_prefix("sha256:").filter(|hex| hex.len() == 64);
        let hex = hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let hex = hex.ok_or_else(|| self.wrong(format!("`{digest}`: expected a digest of the form sha256:HEX")))?;
        let slice = parts.get(&format!("blobs/sha256/{hex}"), self.path)?;
        let found = slice.digest().map_err(OciError::io(self.path))?;
        if found == *digest {
            return Ok(slice);
        }
        Err(OciError::Digest { path: self.path.to_owned(), blob: digest.clone(), found })
    }

    fn compressed_layer(
        &mut self,
        slice: Slice,
        blob: &str,
        number: usize,
        diff_id: Option<&str>,
    ) -> Result<(), OciError> {
        let slice = spool::plain(slice.clone(), self.limit(slice.size), self.path, blob)?;
        self.left = self.left.saturating_sub(slice.size);
        if let Some(diff_id) = diff_id {
            let found = slice.digest().map_err(OciError::io(self.path))?;
            if found != diff_id {
                let blob = format!("{blob} without compression ({diff_id})");
                return Err(OciError::Digest { path: self.path.to_owned(), blob, found });
            }
        }
        self.layer(&slice, blob, number)
    }

    /// Applies the tar of a layer to the files.
    fn layer(&mut self, slice: &Slice, blob: &str, number: usize) -> Result<(), OciError> {
        let path = self.path;
        let mut tape = Tape::new(slice, path, blob);
        while let Some(member) = tape.member()? {
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(tape.error(member.at, format!("more than {} entries", self.limits.entries)));
            }
            self.apply(&member, slice, number).map_err(|reason| {
                let name = member.name.to_string();
                tape.error(member.at, format!("`{}`: {reason}", name.escape_default()))
            })?;
        }
        Ok(())
    }

    /// One entry of a layer (`layer.md`).
    fn apply(&mut self, member: &Member, slice: &Slice, layer: usize) -> Result<(), String> {
        let name = member.name.as_bstr();
        if name.split(|byte| *byte == b'/').any(|part| part == b"..") {
            return Err("`..` leads out of the image".to_owned());
        }
        if name.contains(&0) {
            return Err("a name with a NUL byte".to_owned());
        }
        let key = clean(name);
        if key.is_empty() {
            return Ok(());
        }
        let failed = |error: PathError| format!("the way to it: {error}");
        let (above, last) = match key.rfind_byte(b'/') {
            Some(slash) => (key[..slash].as_bstr(), key[slash + 1..].as_bstr()),
            None => (b"".as_bstr(), key.as_bstr()),
        };
        if last == ".wh..wh..opq" {
            return absent_is_fine(self.files.opaque(above, layer)).map_err(failed);
        }
        if let Some(hidden) = last.strip_prefix(b".wh.").filter(|_| !last.starts_with(b".wh..wh.")) {
            if hidden.is_empty() || hidden == b"." || hidden == b".." {
                return Err("a whiteout of no name".to_owned());
            }
            let hidden: BString = [above.as_bytes(), b"/", hidden].concat().into();
            return absent_is_fine(self.files.whiteout(hidden.as_bstr(), layer)).map_err(failed);
        }
        if last.starts_with(b".wh..wh.") {
            return Ok(());
        }
        let Some(kind) = self.kind(member, slice)? else { return Ok(()) };
        let (inode, linked) = match member.kind {
            EntryType::Link => self.linked(member)?,
            _ => (self.files.fresh_inode(), None),
        };
        let node = Node { kind, mode: member.mode, uid: member.uid, gid: member.gid, inode, layer };
        let node = linked.map_or(node, |linked: Node| Node { layer, ..linked });
        self.files.put(key.as_bstr(), node).map_err(failed)
    }

    fn kind(&self, member: &Member, slice: &Slice) -> Result<Option<FileKind>, String> {
        Ok(Some(match member.kind {
            EntryType::Regular | EntryType::Continuous => {
                FileKind::Regular(Bytes(Place::Part(slice.part(member.offset, member.size))))
            }
            // What it leads to is looked up by the caller.
            EntryType::Link | EntryType::Directory => FileKind::Directory,
            EntryType::Symlink => FileKind::Symlink(member.link.clone()),
            EntryType::Fifo => FileKind::Fifo,
            EntryType::Char | EntryType::Block => FileKind::Device,
            other => return Err(format!("an entry of type {:?}, which no layer has", other.as_byte() as char)),
        }))
    }

    /// The file that a hard link is another name of.
    fn linked(&self, member: &Member) -> Result<(u64, Option<Node>), String> {
        let target = clean(member.link.as_bstr());
        if member.link.split(|byte| *byte == b'/').any(|part| part == b"..") {
            return Err("a hard link to `..`, out of the image".to_owned());
        }
        let found = self.files.find_unfollowed(target.as_bstr());
        match found.filter(|node| !matches!(node.kind, FileKind::Directory)) {
            Some(node) => Ok((node.inode, Some(node.clone()))),
            None => Err(format!("a hard link to `{target}`, which is not in the image")),
        }
    }

    /// A folder of a root file system. Links are not followed and nothing is opened; other file systems in it are.
    fn folder(&mut self, folder: &Path, below: &Path) -> Result<(), OciError> {
        for entry in fs::read_dir(folder).map_err(OciError::io(folder))? {
            let entry = entry.map_err(OciError::io(folder))?;
            let (path, inside) = (entry.path(), below.join(entry.file_name()));
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(self.wrong(format!("it has more than {} entries", self.limits.entries)));
            }
            let data = fs::symlink_metadata(&path).map_err(OciError::io(&path))?;
            let kind = data.file_type();
            let is_directory = kind.is_dir();
            let found = if kind.is_symlink() {
                FileKind::Symlink(key_of(&fs::read_link(&path).map_err(OciError::io(&path))?))
            } else if is_directory {
                FileKind::Directory
            } else if kind.is_file() {
                FileKind::Regular(Bytes(Place::Host { path: path.clone(), size: data.len() }))
            } else if kind.is_fifo() {
                FileKind::Fifo
            } else {
                FileKind::Device
            };
            let (mode, uid, gid) = (data.permissions().mode() & 0o7777, data.uid().into(), data.gid().into());
            let node = Node { kind: found, mode, uid, gid, inode: data.ino(), layer: 0 };
            self.files.put(key_of(&inside).as_bstr(), node).map_err(|error| self.wrong(error.to_string()))?;
            if is_directory {
                self.folder(&path, &inside)?;
            }
        }
        Ok(())
    }
}

impl From<Configuration> for Config {
    fn from(from: Configuration) -> Config {
        Config {
            architecture: from.architecture,
            entrypoint: from.config.entrypoint,
            command: from.config.cmd,
            environment: from.config.env,
            user: from.config.user,
            directory: from.config.working_dir,
        }
    }
}

fn absent_is_fine(result: Result<(), PathError>) -> Result<(), PathError> {
    match result {
        Err(PathError::NotFound | PathError::NotDirectory) => Ok(()),
        other => other,
    }
}

/// A name of a tar without `.` and slashes that mean nothing.
pub(super) fn clean(name: &bstr::BStr) -> BString {
    let parts: Vec<&[u8]> = name.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    parts.join(&b'/').into()
}

/// What a link in an archive leads to.
fn in_archive(above: &[u8], link: &BString) -> BString {
    let path: BString = [above, link.as_slice()].concat().into();
    let absolute = underpin_resolve::root::lexical(path.as_bstr());
    absolute[1..].into()
}

fn blob_name(digest: &str) -> String {
    digest.chars().take("sha256:".len() + 12).collect()
}

fn platform(descriptor: &Descriptor) -> Option<&str> {
    descriptor.platform.as_ref().map(|platform| platform.architecture.as_str()).filter(|name| !name.is_empty())
}

/// This machine's processor in the words of the specification.
fn host_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        other => other,
    }
}
