//! `underpin image size`.

use super::raw;
use crate::exit::Exit;
use crate::plan::ImageSizePlan;
use crate::screen::Screen;
use std::path::Path;
use underpin_image::image::size::{Part, PartKind, Shipped, parts, shipped};
use underpin_image::{Image, ImageError};
use underpin_report::document::image_size::{ImagePart, ImagePartKind, ImageShipped, ImageSizes};
use underpin_report::{ImageSizeDocument, text};

/// Adds up what manifests say.
///
/// # Errors
/// If a file that is handed on cannot be read.
pub fn run(plan: &ImageSizePlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let (folder, image) = &plan.image;
    let against = plan.against.as_ref().map(|(folder, image)| sizes(folder, image)).transpose()?;
    let document = ImageSizeDocument::new(sizes(folder, image)?, against);
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::image_size(&document, &screen.view(plan.verbosity)));
    }
    Ok(Exit::Fine)
}

/// The sizes of an image.
///
/// # Errors
/// If a file that is handed on cannot be read.
pub fn sizes(folder: &Path, image: &Image) -> Result<ImageSizes, ImageError> {
    let parts = parts(&image.manifest).into_iter().map(part).collect();
    let file = |Shipped { file, bytes, gzip }| ImageShipped { file, bytes, gzip_bytes: gzip };
    let shipped = shipped(image)?.into_iter().map(file).collect();
    Ok(ImageSizes::new(raw(folder), image.manifest.target.clone(), parts, shipped))
}

fn part(Part { kind, name, version, files, bytes }: Part) -> ImagePart {
    let kind = match kind {
        PartKind::Kernel => ImagePartKind::Kernel,
        PartKind::Modules => ImagePartKind::Modules,
        PartKind::Firmware => ImagePartKind::Firmware,
        PartKind::CLibrary => ImagePartKind::CLibrary,
        PartKind::Recipe => ImagePartKind::Recipe,
        PartKind::Installed => ImagePartKind::Installed,
        PartKind::Programs => ImagePartKind::Programs,
        PartKind::Needed => ImagePartKind::Needed,
        PartKind::Added => ImagePartKind::Added,
        PartKind::Underpin => ImagePartKind::Underpin,
    };
    ImagePart { kind, name, version, files, bytes }
}
