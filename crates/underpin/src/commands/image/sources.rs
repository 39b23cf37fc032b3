//! `underpin image sources`.

use super::raw;
use crate::exit::Exit;
use crate::plan::ImageSourcesPlan;
use crate::screen::Screen;
use underpin_image::sources::{self, Missing, Places, Sources};
use underpin_report::document::image_sources::{ImageNoSource, ImageSources};
use underpin_report::{ImageSourcesDocument, text};

/// Writes the folder.
///
/// # Errors
/// If a source cannot be fetched, a layer is not what it was, or something else is in the folder.
pub fn run(plan: &ImageSourcesPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let places = Places { files: &plan.files, layers: &plan.layers, store: &plan.store, access: plan.access };
    let written = sources::write(&plan.image, &places, &plan.output)?;
    let package = |Sources { name, version, licence, files }| ImageSources { name, version, licence, files };
    let missing = |Missing { what, licence, why }| ImageNoSource { what, licence, why };
    let document = ImageSourcesDocument {
        schema: underpin_report::document::SchemaTag::new(),
        folder: raw(&plan.folder),
        output: raw(&plan.output),
        bytes: written.bytes,
        packages: written.packages.into_iter().map(package).collect(),
        missing: written.missing.into_iter().map(missing).collect(),
    };
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::image_sources(&document, &screen.view(plan.verbosity)));
    }
    Ok(Exit::Fine)
}
