//! Trees to an image: a folder in OCI's layout, or the same as one file.
//!
//! The same trees and settings give the same bytes, whoever writes them and where to. Everything is written beside the target
//! and renamed, so a run that was killed leaves no half image under its name.

use super::document::{CONFIG, Configuration, Descriptor, History, INDEX, Index, LAYER, MANIFEST};
use super::document::{Manifest, Platform, REFERENCE, RootFs, Runtime};
use super::gzip::Gzip;
use super::{Ahead, Config, OciError, layer, times};
use crate::tree::{Content, Tree};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempDir};

/// What an image says besides its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How it is started.
    pub config: Config,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// By which tools find it in the layout.
    pub tag: String,
    /// When it was made, in seconds since 1970; the same for all that is in it.
    pub time: u32,
}

/// Into what an image is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A folder in OCI's layout.
    Folder,
    /// The same as one tar.
    Archive,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The image's name by its bytes.
    pub manifest: String,
    /// Of the layers' tars: by these images are compared, since encoders of gzip differ.
    pub diff_ids: Vec<String>,
    /// Bytes of all blobs.
    pub size: u64,
}

/// Writes an image of layers, the lowest first, each with what made it. `ahead`: what was begun with.
///
/// # Errors
/// If something is at `target` and `replace` is false, or a file cannot be read or written.
pub fn write(
    layers: &[(String, Tree)],
    settings: &Settings,
    target: &Path,
    output: Output,
    replace: bool,
    ahead: Ahead,
) -> Result<Written, OciError> {
    if !replace && fs::symlink_metadata(target).is_ok() {
        return Err(OciError::Exists(target.to_owned()));
    }
    let folder = beside(target)?;
    let written = layout(layers, settings, folder.path(), ahead)?;
    match output {
        Output::Folder => install_folder(folder, target)?,
        Output::Archive => archive(folder.path(), target)?,
    }
    Ok(written)
}

fn parent(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn beside(target: &Path) -> Result<TempDir, OciError> {
    let parent = parent(target);
    Builder::new().prefix(".underpin-oci-").tempdir_in(parent).map_err(OciError::io(parent))
}

/// Puts the finished folder in place; what was there is moved aside first and removed last.
fn install_folder(folder: TempDir, target: &Path) -> Result<(), OciError> {
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).map_err(OciError::io(folder.path()))?;
    let old = fs::symlink_metadata(target).is_ok().then(|| beside(target)).transpose()?;
    if let Some(old) = &old {
        fs::rename(target, old.path().join("old")).map_err(OciError::io(target))?;
    }
    fs::rename(folder.path(), target).map_err(OciError::io(target))?;
    // Nothing is left under its own name.
    let _ = folder.keep();
    Ok(())
}

/// The layout as one tar: the small documents first, then the blobs by name.
fn archive(folder: &Path, target: &Path) -> Result<(), OciError> {
    let mut names = vec!["oci-layout".to_owned(), "index.json".to_owned()];
    let blobs = folder.join("blobs/sha256");
    let mut found: Vec<String> = fs::read_dir(&blobs)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect())
        .map_err(OciError::io(&blobs))?;
    found.sort();
    names.extend(found.into_iter().map(|name| format!("blobs/sha256/{name}")));
    let file = tempfile::NamedTempFile::new_in(parent(target)).map_err(OciError::io(target))?;
    let mut tar = BufWriter::new(file);
    for name in names {
        layer::file(&name, &Content::host(folder.join(&name))?, &mut tar, target)?;
    }
    tar.write_all(&[0; 1024]).map_err(OciError::io(target))?;
    let file = tar.into_inner().map_err(|error| OciError::io(target)(error.into_error()))?;
    file.as_file().set_permissions(Permissions::from_mode(0o644)).map_err(OciError::io(target))?;
    file.persist(target).map_err(|error| OciError::io(target)(error.error))?;
    Ok(())
}

fn layout(layers: &[(String, Tree)], settings: &Settings, folder: &Path, ahead: Ahead) -> Result<Written, OciError> {
    let blobs = folder.join("blobs/sha256");
    for made in [folder.join("blobs"), blobs.clone()] {
        fs::create_dir(&made).map_err(OciError::io(&made))?;
        fs::set_permissions(&made, Permissions::from_mode(0o755)).map_err(OciError::io(&made))?;
    }
    let created = times::rfc3339(settings.time);
    let (mut descriptors, mut diff_ids, mut history) = (Vec::new(), Vec::new(), Vec::new());
    let mut gzip = layer::gzip(layers.iter().map(|(_, tree)| tree), ahead);
    for (made_by, tree) in layers {
        let (layer, descriptor) = blob_of_layer(tree, &mut gzip, &blobs)?;
        descriptors.push(descriptor);
        diff_ids.push(layer.diff_id);
        history.push(History { created: Some(created.clone()), created_by: Some(made_by.clone()) });
    }
    gzip.close();
    let mut size = descriptors.iter().map(|layer| layer.size).sum();
    let config = configuration(settings, created, history, &diff_ids);
    let config = blob_of_document(&config, CONFIG, &blobs)?;
    size += config.size;
    let manifest = Manifest { config, layers: descriptors, media_type: MANIFEST.to_owned(), schema_version: 2 };
    let mut manifest = blob_of_document(&manifest, MANIFEST, &blobs)?;
    size += manifest.size;
    let digest = manifest.digest.clone();
    manifest.annotations.insert(REFERENCE.to_owned(), settings.tag.clone());
    manifest.platform = Some(Platform { architecture: settings.config.architecture.clone(), os: "linux".to_owned() });
    let index = Index { manifests: vec![manifest], media_type: INDEX.to_owned(), schema_version: 2 };
    put(&folder.join("index.json"), &json(&index, folder)?)?;
    put(&folder.join("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    Ok(Written { manifest: digest, diff_ids, size })
}

fn configuration(settings: &Settings, created: String, history: Vec<History>, diff_ids: &[String]) -> Configuration {
    let config = &settings.config;
    Configuration {
        architecture: config.architecture.clone(),
        config: Runtime {
            cmd: config.command.clone(),
            entrypoint: config.entrypoint.clone(),
            env: config.environment.clone(),
            labels: settings.labels.clone(),
            user: config.user.clone(),
            working_dir: config.directory.clone(),
        },
        created: Some(created),
        history,
        os: "linux".to_owned(),
        rootfs: RootFs { diff_ids: diff_ids.to_vec(), kind: "layers".to_owned() },
    }
}

fn blob_of_layer(tree: &Tree, gzip: &mut Gzip, blobs: &Path) -> Result<(layer::Layer, Descriptor), OciError> {
    let path = blobs.join("layer");
    let mut file = BufWriter::new(File::create(&path).map_err(OciError::io(&path))?);
    let layer = layer::write(tree, gzip, &mut file, &path)?;
    let file = file.into_inner().map_err(|error| OciError::io(&path)(error.into_error()))?;
    file.set_permissions(Permissions::from_mode(0o644)).map_err(OciError::io(&path))?;
    fs::rename(&path, blobs.join(hex(&layer.digest))).map_err(OciError::io(&path))?;
    let descriptor = Descriptor {
        digest: layer.digest.clone(),
        media_type: LAYER.to_owned(),
        size: layer.size,
        ..Descriptor::default()
    };
    Ok((layer, descriptor))
}

fn blob_of_document<D: Serialize>(document: &D, media_type: &str, blobs: &Path) -> Result<Descriptor, OciError> {
    let bytes = json(document, blobs)?;
    let digest = layer::digest_of(&bytes);
    put(&blobs.join(hex(&digest)), &bytes)?;
    Ok(Descriptor { digest, media_type: media_type.to_owned(), size: bytes.len() as u64, ..Descriptor::default() })
}

fn hex(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}

fn json<D: Serialize>(document: &D, path: &Path) -> Result<Vec<u8>, OciError> {
    serde_json::to_vec(document).map_err(|error| OciError::io(path)(error.into()))
}

/// A file that everybody may read, whatever the umask is.
fn put(path: &PathBuf, bytes: &[u8]) -> Result<(), OciError> {
    fs::write(path, bytes).map_err(OciError::io(path))?;
    fs::set_permissions(path, Permissions::from_mode(0o644)).map_err(OciError::io(path))
}
