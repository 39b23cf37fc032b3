//! What an image has without sources here: each is said, none is hidden.

use crate::image::{Manifest, ManifestEntry, ManifestPackage, ManifestSource};
use crate::store::Package;
use serde::Serialize;

/// Something in an image whose sources are not written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// A package, or a file of the image.
    pub what: String,
    /// Its licence, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// Why, and where they are if that is known.
    pub why: String,
}

impl Missing {
    /// A package of a recipe that does not build it from sources that we have.
    pub(super) fn of(package: &ManifestPackage, source: Option<&ManifestSource>) -> Missing {
        let why = match source {
            Some(ManifestSource::Crate(name)) => {
                format!("the crate {name} {}, which cargo fetches from its registry", package.version)
            }
            Some(ManifestSource::Deb(name)) => {
                format!("taken as Debian's package {name} {}, not built from source", package.version)
            }
            _ => "the image was built by an underpin that did not write down its source: build it again".to_owned(),
        };
        let what = format!("{} {}", package.name, package.version);
        Missing { what, licence: Some(package.licence.clone()), why }
    }

    /// For a list of licences.
    pub(super) fn licence_words(&self) -> &str {
        self.licence.as_deref().unwrap_or("licence not known")
    }
}

/// Everything in an image that is from no recipe.
#[must_use]
pub fn missing(manifest: &Manifest) -> Vec<Missing> {
    let mut all = Vec::new();
    match &manifest.kernel.package {
        Some(package) => all.push(debian(package, Some(&manifest.kernel.licence))),
        None => all.push(Missing {
            what: "kernel".to_owned(),
            licence: Some(manifest.kernel.licence.clone()),
            why: "given by path: no source is known".to_owned(),
        }),
    }
    all.extend(manifest.firmware.iter().map(|package| debian(package, None)));
    all.extend(manifest.installed.iter().map(|package| Missing {
        what: package.words(),
        licence: None,
        why: format!("taken from the building machine; its sources: {} of {}", package.source, package.distribution),
    }));
    let disk = manifest.disk.iter().flat_map(|disk| &disk.entries);
    let entries = manifest.layers.iter().flat_map(|layer| &layer.entries).chain(disk);
    let mut files: Vec<Missing> = entries.filter(|entry| is_unknown(entry)).map(file).collect();
    files.sort_by(|a, b| a.what.cmp(&b.what));
    files.dedup();
    all.extend(files);
    all
}

fn debian(package: &Package, licence: Option<&String>) -> Missing {
    Missing {
        what: format!("{} {}", package.name, package.version),
        licence: licence.cloned(),
        why: format!("Debian's source package {}, which is not fetched", package.source),
    }
}

/// Whether nothing says where a file is from; the sources of underpin's own are published with it.
fn is_unknown(entry: &ManifestEntry) -> bool {
    entry.package.is_none() && entry.sha256.is_some() && !entry.is_own()
}

fn file(entry: &ManifestEntry) -> Missing {
    let why = format!("{}: no source is known", entry.because);
    Missing { what: entry.path.clone(), licence: entry.licence.clone(), why }
}
