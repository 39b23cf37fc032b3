//! `underpin.image-compare/1`: twin images of several C libraries or allocators, started in turn in an emulator that counts
//! instructions, with what differs between their packages, sizes, boots and the rows of suites.

use super::image_size::ImageSizeDocument;
use super::suite::SuiteDocument;
use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;
use underpin_suite::{Guest, GuestFigure, Repeats, Summary};

/// The document of `underpin image compare`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageCompareDocument {
    /// Always `underpin.image-compare/1`.
    pub schema: SchemaTag<ImageCompareDocument>,
    /// The machine: `qemu-aarch64`.
    pub target: String,
    /// What emulated it, and how its clock went.
    pub guest: Guest,
    /// The guest's memory.
    pub memory_mib: u32,
    /// How often each image was started for the rows of the suites, at least.
    pub boots: u32,
    /// The images in the order of the builds; the first is the reference.
    pub images: Vec<ComparedImage>,
    /// Packages that are not in all images, or not in one version with the same changes.
    pub differences: Vec<PackageDifference>,
    /// Each image but the first beside the first, by package.
    pub sizes: Vec<ImageSizeDocument>,
    /// Figures of boots without the programs of the suites.
    pub figures: Vec<GuestFigure>,
    /// How far the rows' figures of equal boots are apart.
    pub repeats: Vec<Repeats>,
    /// The rows, and what came of limits.
    pub suite: SuiteDocument,
}

impl Document for ImageCompareDocument {
    const VERB: Verb = Verb::ImageCompare;
}

/// One of the twins.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ComparedImage {
    /// The build of the suites' programs in it, as it was asked for: `musl+mimalloc`.
    pub build: String,
    /// The C library that its packages were built for.
    pub libc: String,
    /// Its folder; the programs of the suites are not in it.
    pub folder: Raw,
    /// The kernel's package and version.
    pub kernel: String,
    /// The packages that were built from recipes.
    pub packages: usize,
}

/// A package that differs between the images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PackageDifference {
    /// Its name.
    pub name: String,
    /// For each image, in their order: its version and the changes to it; absent if it has no such package.
    pub images: Vec<Option<PackageOf>>,
}

/// A package in one image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PackageOf {
    /// Its version.
    pub version: String,
    /// The appends and patches that changed it.
    pub changed_by: Vec<String>,
}

impl ImageCompareDocument {
    /// The rows.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.suite.summary
    }
}
