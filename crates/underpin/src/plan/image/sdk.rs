//! The plan of `underpin image sdk`.

use crate::cli::{ImageSdkArgs, Switch};
use crate::linked;
use anyhow::{Context, bail};
use std::path::PathBuf;
use underpin_build::{CLibrary, Linkage, Processor, Request, SpecText};
use underpin_image::Image;
use underpin_image::sdk::Wanted;
use underpin_image::store::{Access, Store};

/// An SDK to write.
pub struct ImageSdkPlan {
    /// What it is to be.
    pub wanted: Wanted,
    /// Its folder.
    pub folder: PathBuf,
    /// Where packages are kept.
    pub store: Store,
    /// Whether something may be fetched.
    pub access: Access,
    /// JSON instead of a screen.
    pub json: bool,
    /// In how much detail.
    pub verbosity: u8,
}

impl ImageSdkPlan {
    /// # Errors
    /// If the image cannot be read, or the choices contradict each other.
    pub fn new(args: ImageSdkArgs) -> anyhow::Result<ImageSdkPlan> {
        let image = args.image.as_deref().map(Image::open).transpose()?;
        let of_image = image.as_ref().map(Image::target).transpose()?;
        let target = args.target.or(of_image).map_or_else(|| super::target(None), Ok)?;
        let (libc, linkage) = image.as_ref().map_or((CLibrary::Musl, None), of_programs);
        let text = SpecText {
            libc: args.libc.unwrap_or(libc),
            linkage: args.linkage.or(if args.libc.is_none() { linkage } else { None }),
            allocator: args.malloc,
            overlay: args.overlay.map(|switch| switch == Switch::On),
        };
        let processor: Processor = target.processor().parse()?;
        let usual = |goal| linked::usual_allocator(goal, processor);
        let spec = linked::without_absent(text.complete(processor, args.goal.into(), usual)?, text.overlay);
        if matches!(spec.libc, CLibrary::Glibc(Some(_))) && args.toolchain != crate::cli::CompilerName::Zig {
            bail!("only zig builds for an older glibc: --toolchain zig");
        }
        let current = std::env::current_dir().context("cannot find the current folder")?;
        let family = args.toolchain.into();
        let request = Request {
            path: current.clone(),
            spec,
            compiler: Some(family),
            bins: Vec::new(),
            words: Vec::new(),
            objects: linked::objects(&spec, true)?,
            headers: Vec::new(),
            layout: None,
            output: None,
            force: false,
            places: crate::plan::build::places(current)?,
        };
        Ok(ImageSdkPlan {
            wanted: Wanted { target, request, family },
            folder: args.output,
            store: super::store()?,
            access: if args.offline { Access::Offline } else { Access::Online },
            json: args.display.json,
            verbosity: args.display.verbose,
        })
    }
}

/// The C library of an image, by the loader that is in it.
fn of_programs(image: &Image) -> (CLibrary, Option<Linkage>) {
    let entries = || image.manifest.layers.iter().flat_map(|layer| &layer.entries);
    let has =
        |name: &str| entries().any(|entry| entry.path.rsplit('/').next().is_some_and(|last| last.starts_with(name)));
    if has("ld-musl-") {
        (CLibrary::Musl, Some(Linkage::Dynamic))
    } else if has("ld-linux-") {
        (CLibrary::Glibc(None), Some(Linkage::Dynamic))
    } else {
        (CLibrary::Musl, None)
    }
}
