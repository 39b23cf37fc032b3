//! `underpin.image-sdk/1`: what an SDK is, and what it needs of the machine.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin image sdk`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageSdkDocument {
    /// Always `underpin.image-sdk/1`.
    pub schema: SchemaTag<ImageSdkDocument>,
    /// Its folder.
    pub folder: Raw,
    /// The machine that its programs are for.
    pub target: String,
    /// C library, linkage and allocator, as `underpin build --as` takes them.
    pub build: String,
    /// Names and versions of the compilers.
    pub toolchain: String,
    /// What the names of its tools begin with: `PREFIX-cc`.
    pub prefix: String,
    /// Debian's packages that its sysroot is from.
    pub packages: Vec<ImageSdkPackage>,
    /// Files of this machine that its tools use. A program is looked for by its name where it is not at its path.
    pub needs: Vec<Raw>,
    /// What a person should know.
    pub remarks: Vec<String>,
}

impl Document for ImageSdkDocument {
    const VERB: Verb = Verb::ImageSdk;
}

/// A package of an SDK's sysroot.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageSdkPackage {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the package, as the signed index has it.
    pub sha256: String,
}
