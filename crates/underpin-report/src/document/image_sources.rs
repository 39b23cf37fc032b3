//! `underpin.image-sources/1`: the sources of an image as they were written, and what has none. The facts are gathered by the caller.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin image sources`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageSourcesDocument {
    /// Always `underpin.image-sources/1`.
    pub schema: SchemaTag<ImageSourcesDocument>,
    /// The folder of the image.
    pub folder: Raw,
    /// Where the sources are.
    pub output: Raw,
    /// Bytes of all sources.
    pub bytes: u64,
    /// The packages that were built from recipes.
    pub packages: Vec<ImageSources>,
    /// Packages and files of the image whose sources are not there.
    pub missing: Vec<ImageNoSource>,
}

impl Document for ImageSourcesDocument {
    const VERB: Verb = Verb::ImageSources;
}

/// The sources of a package.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageSources {
    /// The recipe.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, an SPDX expression.
    pub licence: String,
    /// Sources, recipe, appends and patches, by their paths in the folder.
    pub files: Vec<String>,
}

/// A part of an image without sources.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageNoSource {
    /// The package with its version, or the file.
    pub what: String,
    /// Its licence, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// Why, and where its sources are if that is known.
    pub why: String,
}
