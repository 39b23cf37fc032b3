//! The plan of `underpin image size`.

use crate::cli::ImageSizeArgs;
use std::path::PathBuf;
use underpin_image::{Image, ImageError};

/// Images whose bytes are told.
pub struct ImageSizePlan {
    /// The image and its folder as it was given.
    pub image: (PathBuf, Image),
    /// The one that it is compared with.
    pub against: Option<(PathBuf, Image)>,
    /// JSON instead of a screen.
    pub json: bool,
    /// In how much detail.
    pub verbosity: u8,
}

impl ImageSizePlan {
    /// # Errors
    /// If a folder holds no image.
    pub fn new(args: ImageSizeArgs) -> anyhow::Result<ImageSizePlan> {
        let open = |folder: PathBuf| -> Result<_, ImageError> { Image::open(&folder).map(|image| (folder, image)) };
        Ok(ImageSizePlan {
            image: open(args.image)?,
            against: args.against.map(open).transpose()?,
            json: args.display.json,
            verbosity: args.display.verbose,
        })
    }
}
