//! The plan of `underpin image sources`.

use crate::cli::ImageSourcesArgs;
use std::path::PathBuf;
use underpin_image::Image;
use underpin_image::layer::Layers;
use underpin_image::sources::LayerFiles;
use underpin_image::store::{Access, Store};

/// Sources to write.
pub struct ImageSourcesPlan {
    /// The image.
    pub image: Image,
    /// Its folder, as it was given.
    pub folder: PathBuf,
    /// Where they go.
    pub output: PathBuf,
    /// What layers are made of.
    pub files: LayerFiles,
    /// The same as recipes.
    pub layers: Layers,
    /// What was fetched.
    pub store: Store,
    /// Whether the rest may be fetched.
    pub access: Access,
    /// JSON instead of a screen.
    pub json: bool,
    /// In how much detail.
    pub verbosity: u8,
}

impl ImageSourcesPlan {
    /// # Errors
    /// If the folder holds no image, or a layer is wrong.
    pub fn new(args: ImageSourcesArgs) -> anyhow::Result<ImageSourcesPlan> {
        let files = LayerFiles::read(&args.layer)?;
        Ok(ImageSourcesPlan {
            image: Image::open(&args.image)?,
            folder: args.image,
            output: args.output,
            layers: Layers::of(files.layers())?,
            files,
            store: super::store()?,
            access: if args.offline { Access::Offline } else { Access::Online },
            json: args.display.json,
            verbosity: args.display.verbose,
        })
    }
}
