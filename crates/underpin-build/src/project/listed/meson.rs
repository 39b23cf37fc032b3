//! What meson says: it writes its targets into the folder of results (`meson introspect` reads the same file).

use super::{Listing, Role};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Target {
    #[serde(rename = "type")]
    kind: String,
    filename: Vec<PathBuf>,
    installed: bool,
}

/// The programs that are targets; empty if meson wrote nothing that is understood.
pub fn listing(results: &Path) -> Listing {
    let text = fs::read(results.join("meson-info/intro-targets.json")).unwrap_or_default();
    let targets: Vec<Target> = serde_json::from_slice(&text).unwrap_or_default();
    let mut listing = Listing::default();
    for target in targets.into_iter().filter(|target| target.kind == "executable") {
        let role = if target.installed { Role::Installed } else { Role::Built };
        target.filename.into_iter().for_each(|path| listing.add(results.join(path), role));
    }
    listing
}
