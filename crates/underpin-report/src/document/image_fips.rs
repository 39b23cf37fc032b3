//! `underpin.image-fips/1`: which FIPS provider is in effect in an image, what is known of its certificate, and what bypasses it. The facts
//! are gathered by the caller.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin image fips`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageFipsDocument {
    /// Always `underpin.image-fips/1`.
    pub schema: SchemaTag<ImageFipsDocument>,
    /// The file or folder.
    pub image: Raw,
    /// What was asked inside: `Ruby 3.1.2`; none if no runtime of the image can be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The OpenSSL that the runtime uses, as it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Libraries and modules of OpenSSL that the process had mapped.
    pub mapped: Vec<Raw>,
    /// The FIPS provider that is active in the runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<FipsProvider>,
    /// Whether every algorithm that OpenSSL is asked for has to be the provider's.
    pub forced: bool,
    /// Whether the provider is in effect: active, forced, and what it lacks was refused while what it has worked.
    pub in_effect: bool,
    /// What the runtime says of it: Ruby's `OpenSSL.fips_mode`, which older versions do not ask OpenSSL 3 for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_says: Option<bool>,
    /// What was asked of OpenSSL in the runtime.
    pub checks: Vec<FipsCheck>,
    /// Functions of the runtime that worked without passing through OpenSSL.
    pub bypasses: Vec<FipsBypass>,
    /// Files of the image with cryptography of their own.
    pub own_code: Vec<FipsOwnCode>,
    /// What could not be looked at, and why.
    pub unknown: Vec<String>,
}

impl Document for ImageFipsDocument {
    const VERB: Verb = Verb::ImageFips;
}

/// A provider that is active.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FipsProvider {
    /// What it calls itself.
    pub name: String,
    /// Its version, as it says.
    pub version: String,
    /// What is known of a certificate for this version.
    pub standing: String,
}

/// One request to OpenSSL.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FipsCheck {
    /// The algorithm.
    pub name: String,
    /// Whether a FIPS provider has it.
    pub expected: bool,
    /// Whether it worked.
    pub works: bool,
}

/// A function of the runtime that has its cryptography elsewhere.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FipsBypass {
    /// Its name: `Digest::MD5`.
    pub name: String,
    /// The file that computes it, if it is one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Raw>,
}

/// A file whose bytes show an algorithm.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FipsOwnCode {
    /// The file in the image.
    pub path: Raw,
    /// What it has.
    pub algorithms: Vec<FipsAlgorithm>,
}

/// An algorithm in a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FipsAlgorithm {
    /// Its name.
    pub name: String,
    /// The byte of the file at which its constants are.
    pub offset: u64,
}
