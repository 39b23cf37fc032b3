//! What is in an image, for those who ask for its list: SPDX 2.3 as JSON, made from the manifest alone.
//!
//! The image contains packages; a package that was built from a recipe is generated from its sources, to which patches were applied,
//! by a recipe and its appends. Everything that is not from a package is in the list by itself, with its checksum.

use super::{Manifest, ManifestChange, ManifestEntry, ManifestPackage, ManifestSource};
use crate::init;
use crate::spdx::{List, NOTHING, escaped, purl, reference};
use crate::store::Package;
use serde_json::{Value, json};

const IMAGE: &str = "SPDXRef-image";

/// The document of an image.
pub(super) fn document(manifest: &Manifest) -> Value {
    let mut list = List::default();
    let main = manifest.disk.as_ref().map_or(&manifest.initramfs, |disk| &disk.file);
    let image = format!("image-{}", manifest.target);
    list.push(IMAGE, &image, None, NOTHING, Some(&main.sha256), json!({ "packageFileName": main.file }));
    list.relate("SPDXRef-DOCUMENT", "DESCRIBES", IMAGE);
    list.kernel(manifest);
    list.init(manifest);
    for package in &manifest.packages {
        list.recipe(manifest, package);
    }
    for package in &manifest.installed {
        list.installed(package, IMAGE);
    }
    for entry in entries(manifest).filter(|entry| entry.package.is_none() && !entry.is_own() && entry.sha256.is_some())
    {
        list.file(entry);
    }
    list.document(&image, manifest.time)
}

/// What is in the root file system, and in the archive that finds it.
fn entries(manifest: &Manifest) -> impl Iterator<Item = &ManifestEntry> {
    let disk = manifest.disk.iter().flat_map(|disk| &disk.entries);
    manifest.layers.iter().flat_map(|layer| &layer.entries).chain(disk)
}

impl List {
    fn kernel(&mut self, manifest: &Manifest) {
        let kernel = &manifest.kernel;
        let (name, sum) = match &kernel.package {
            Some(package) => (package.name.as_str(), &package.sha256),
            None => ("linux", &kernel.file.sha256),
        };
        let version = kernel.package.as_ref().map(|package| package.version.as_str());
        let id = self.id(&[name, version.unwrap_or_default()]);
        let more = kernel.package.as_ref().map_or_else(|| json!({ "packageFileName": kernel.file.file }), from_debian);
        self.push(&id, name, version, &kernel.licence, Some(sum), more);
        self.relate(IMAGE, "CONTAINS", &id);
        if let Some(package) = &manifest.firmware {
            let id = self.id(&[&package.name, &package.version]);
            self.push(&id, &package.name, Some(&package.version), NOTHING, Some(&package.sha256), from_debian(package));
            self.relate(IMAGE, "CONTAINS", &id);
        }
    }

    fn init(&mut self, manifest: &Manifest) {
        let Some(entry) = entries(manifest).find(|entry| entry.path == init::PATH) else { return };
        let (version, licence) = (env!("CARGO_PKG_VERSION"), entry.licence.as_deref().unwrap_or(NOTHING));
        let id = self.id(&["underpin-init", version]);
        let more = json!({ "packageFileName": entry.path });
        self.push(&id, "underpin-init", Some(version), licence, entry.sha256.as_deref(), more);
        self.relate(IMAGE, "CONTAINS", &id);
    }

    /// A package, its sources, its recipe, and what changed both.
    fn recipe(&mut self, manifest: &Manifest, package: &ManifestPackage) {
        let words = format!("{} {}", package.name, package.version);
        let is_inside = entries(manifest).any(|entry| entry.package.as_ref() == Some(&words));
        let id = self.id(&[&package.name, &package.version]);
        let info = json!({ "sourceInfo": format!("built from {}", package.source) });
        self.push(&id, &package.name, Some(&package.version), &package.licence, None, info);
        if is_inside {
            self.relate(IMAGE, "CONTAINS", &id);
        } else {
            self.relate(&id, "BUILD_DEPENDENCY_OF", IMAGE);
        }
        let source = self.id(&["source", &package.name, &package.version]);
        let (name, more) = source_of(package);
        let sum = package.source_sha256.as_deref();
        self.push(&source, name, Some(&package.version), &package.licence, sum, more);
        self.relate(&id, "GENERATED_FROM", &source);
        if let Some(recipe) = &package.recipe {
            let recipe = self.layer_file(recipe);
            self.relate(&recipe, "METAFILE_OF", &id);
        }
        for change in &package.changed_by {
            let file = self.layer_file(change);
            if change.file.ends_with(".toml") {
                self.relate(&file, "METAFILE_OF", &id);
            } else if [".patch", ".diff"].iter().any(|end| change.file.ends_with(end)) {
                self.relate(&file, "PATCH_APPLIED", &source);
            } else {
                // A patch of another name, or a file that is written into the sources.
                self.relate(&id, "GENERATED_FROM", &file);
            }
        }
    }

    /// A recipe, an append or a patch. A file of SPDX has to have a SHA-1, so it is a package that is a file.
    fn layer_file(&mut self, file: &ManifestChange) -> String {
        let id = self.id(&["layer", &file.file]);
        let name = file.file.rsplit('/').next().unwrap_or(&file.file);
        let more = json!({ "packageFileName": file.file, "primaryPackagePurpose": "FILE" });
        self.push(&id, name, None, NOTHING, Some(&file.sha256), more);
        id
    }

    /// A file that is from no package that is known.
    fn file(&mut self, entry: &ManifestEntry) {
        let id = self.id(&["file", entry.path.trim_start_matches('/')]);
        let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
        let licence = entry.licence.as_deref().unwrap_or(NOTHING);
        let more = json!({
            "packageFileName": entry.path, "primaryPackagePurpose": "FILE", "comment": entry.because,
        });
        self.push(&id, name, None, licence, entry.sha256.as_deref(), more);
        self.relate(IMAGE, "CONTAINS", &id);
    }
}

/// What is known of the sources of a recipe: the package's name and where it is had.
fn source_of(package: &ManifestPackage) -> (&str, Value) {
    let info = package.source_sha256.as_ref().map(|_| match package.from {
        Some(ManifestSource::Deb(_)) => "the checksum is that of the .deb",
        _ => "the checksum is that of the .dsc, which has those of the other files",
    });
    let mut more = json!({ "primaryPackagePurpose": "SOURCE" });
    if let Some(info) = info {
        more["sourceInfo"] = info.into();
    }
    let (name, locator) = match &package.from {
        Some(ManifestSource::Debian(name)) => {
            (name, Some(format!("pkg:deb/debian/{name}@{}?arch=source", escaped(&package.version))))
        }
        Some(ManifestSource::Crate(name)) => (name, Some(format!("pkg:cargo/{name}@{}", escaped(&package.version)))),
        Some(ManifestSource::Deb(name)) => (name, Some(format!("pkg:deb/debian/{name}@{}", escaped(&package.version)))),
        Some(ManifestSource::Folder(_)) | None => (&package.name, None),
    };
    if let Some(locator) = locator {
        more["externalRefs"] = json!([reference(&locator)]);
    }
    (name, more)
}

fn from_debian(package: &Package) -> Value {
    json!({
        "sourceInfo": format!("Debian's source package {}", package.source),
        "externalRefs": [purl("debian", &package.name, &package.version, &package.architecture)],
    })
}
