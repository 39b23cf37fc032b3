//! The versioned documents: one per verb, the same whether written as JSON or rendered for people.
//!
//! Field names are stable within a schema version; fields may be added. Values are in base units with the unit in the
//! name (`seconds`, `bytes`). Paths and names are strings in which bytes that are not UTF-8 are U+FFFD; the field of
//! such a name has a second one beside it, `…_bytes`, with the bytes in hexadecimal.

pub mod bench;
pub mod bind;
mod bind_from;
pub mod build;
pub mod bundle;
pub mod check;
pub mod doctor;
pub mod fuse;
pub mod gain;
pub mod image;
pub mod image_compare;
pub mod image_doctor;
pub mod image_fips;
pub mod image_layer;
pub mod image_sdk;
pub mod image_size;
pub mod image_sources;
pub(crate) mod json;
pub mod run;
pub mod storm;
mod storm_advice;
mod storm_from;
pub mod suite;
pub mod survey;
pub mod tags;
pub mod trace;
mod trace_from;
pub mod tree;
pub mod tree_findings;
mod tree_from;
pub mod trial;
pub mod verify;

use crate::bytes::is_hostile;
pub use check::CheckInput;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// The verbs that have a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `underpin tree`.
    Tree,
    /// `underpin check`.
    Check,
    /// `underpin check` of a folder or a wheel.
    Tags,
    /// `underpin trace`.
    Trace,
    /// `underpin survey`.
    Survey,
    /// `underpin bind`.
    Bind,
    /// `underpin bind --fuse`.
    Fuse,
    /// `underpin unbind`.
    Unbind,
    /// `underpin verify`.
    Verify,
    /// `underpin storm`.
    Storm,
    /// `underpin bundle`.
    Bundle,
    /// `underpin build`.
    Build,
    /// `underpin image build`.
    ImageBuild,
    /// `underpin image run`.
    ImageRun,
    /// `underpin image compare`.
    ImageCompare,
    /// `underpin image sdk`.
    ImageSdk,
    /// `underpin image size`.
    ImageSize,
    /// `underpin image sources`.
    ImageSources,
    /// `underpin bench`, and `underpin report` of what it saved.
    Bench,
    /// `underpin bench --suite`.
    Suite,
    /// `underpin run --list`.
    Run,
    /// `underpin doctor`.
    Doctor,
    /// `underpin image doctor`.
    ImageDoctor,
    /// `underpin image fips`.
    ImageFips,
    /// `underpin image layer`.
    ImageLayer,
}

impl Verb {
    /// All of them, in the order of the manual.
    pub const ALL: [Verb; 25] = [
        Verb::Tree,
        Verb::Check,
        Verb::Tags,
        Verb::Trace,
        Verb::Survey,
        Verb::Bind,
        Verb::Fuse,
        Verb::Unbind,
        Verb::Verify,
        Verb::Storm,
        Verb::Bundle,
        Verb::Build,
        Verb::ImageBuild,
        Verb::ImageRun,
        Verb::ImageCompare,
        Verb::ImageSdk,
        Verb::ImageSize,
        Verb::ImageSources,
        Verb::Bench,
        Verb::Suite,
        Verb::Run,
        Verb::Doctor,
        Verb::ImageDoctor,
        Verb::ImageFips,
        Verb::ImageLayer,
    ];

    /// The verb as typed; the second document of a verb has a name of its own.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verb::Tree => "tree",
            Verb::Check => "check",
            Verb::Tags => "tags",
            Verb::Trace => "trace",
            Verb::Survey => "survey",
            Verb::Bind => "bind",
            Verb::Fuse => "fuse",
            Verb::Unbind => "unbind",
            Verb::Verify => "verify",
            Verb::Storm => "storm",
            Verb::Bundle => "bundle",
            Verb::Build => "build",
            Verb::ImageBuild => "image-build",
            Verb::ImageRun => "image-run",
            Verb::ImageCompare => "image-compare",
            Verb::ImageSdk => "image-sdk",
            Verb::ImageSize => "image-size",
            Verb::ImageSources => "image-sources",
            Verb::Bench => "bench",
            Verb::Suite => "suite",
            Verb::Run => "run",
            Verb::Doctor => "doctor",
            Verb::ImageDoctor => "image-doctor",
            Verb::ImageFips => "image-fips",
            Verb::ImageLayer => "image-layer",
        }
    }

    /// The value of the document's `schema` field.
    #[must_use]
    pub const fn schema(self) -> &'static str {
        match self {
            Verb::Tree => "underpin.tree/1",
            Verb::Check => "underpin.check/1",
            Verb::Tags => "underpin.tags/1",
            Verb::Trace => "underpin.trace/1",
            Verb::Survey => "underpin.survey/1",
            Verb::Bind => "underpin.bind/1",
            Verb::Fuse => "underpin.fuse/1",
            Verb::Unbind => "underpin.unbind/1",
            Verb::Verify => "underpin.verify/1",
            Verb::Storm => "underpin.storm/1",
            Verb::Bundle => "underpin.bundle/1",
            Verb::Build => "underpin.build/1",
            Verb::ImageBuild => "underpin.image-build/1",
            Verb::ImageRun => "underpin.image-run/1",
            Verb::ImageCompare => "underpin.image-compare/1",
            Verb::ImageSdk => "underpin.image-sdk/1",
            Verb::ImageSize => "underpin.image-size/1",
            Verb::ImageSources => "underpin.image-sources/1",
            Verb::Bench => "underpin.bench/1",
            Verb::Suite => "underpin.suite/1",
            Verb::Run => "underpin.run/1",
            Verb::Doctor => "underpin.doctor/1",
            Verb::ImageDoctor => "underpin.image-doctor/1",
            Verb::ImageFips => "underpin.image-fips/1",
            Verb::ImageLayer => "underpin.image-layer/1",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A document that can be written as JSON.
pub trait Document: Serialize + JsonSchema {
    /// The verb that it belongs to.
    const VERB: Verb;
}

/// Writing JSON failed: a value cannot be represented.
#[derive(Debug, thiserror::Error)]
#[error("the {verb} document cannot be written as JSON: {source}")]
pub struct JsonError {
    verb: Verb,
    source: serde_json::Error,
}

/// The document as indented JSON, without a line feed at its end.
///
/// # Errors
/// If a value has no JSON form.
pub fn to_json<D: Document>(document: &D) -> Result<String, JsonError> {
    json::write(document, true).map(inert).map_err(|source| JsonError { verb: D::VERB, source })
}

/// The document on one line, for JSON Lines, without a line feed at its end.
///
/// # Errors
/// If a value has no JSON form.
pub fn to_json_line<D: Document>(document: &D) -> Result<String, JsonError> {
    json::write(document, false).map(inert).map_err(|source| JsonError { verb: D::VERB, source })
}

/// The same JSON, with characters that control a terminal or hide text written as `\u` escapes. JSON itself requires
/// that for C0 only; such characters occur only in strings, so the value stays the same.
fn inert(json: String) -> String {
    let acts = |ch: char| ch != '\n' && is_hostile(ch);
    if !json.contains(acts) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for ch in json.chars() {
        if acts(ch) {
            out.push_str(&format!("\\u{:04x}", u32::from(ch)));
        } else {
            out.push(ch);
        }
    }
    out
}

/// The JSON Schema (draft 2020-12) of a verb's document.
#[must_use]
pub fn schema_of<D: Document>() -> serde_json::Value {
    let mut schema = schemars::schema_for!(D);
    schema.insert("title".to_owned(), D::VERB.schema().into());
    json::with_bytes(schema.to_value())
}

/// The JSON Schema of a verb's document, see [`schema_of`].
#[must_use]
pub fn schema(verb: Verb) -> serde_json::Value {
    match verb {
        Verb::Tree => schema_of::<tree::TreeDocument>(),
        Verb::Check => schema_of::<check::CheckDocument>(),
        Verb::Tags => schema_of::<tags::TagsDocument>(),
        Verb::Trace => schema_of::<trace::TraceDocument>(),
        Verb::Survey => schema_of::<survey::SurveyDocument>(),
        Verb::Bind => schema_of::<bind::BindDocument>(),
        Verb::Fuse => schema_of::<fuse::FuseDocument>(),
        Verb::Unbind => schema_of::<bind::UnbindDocument>(),
        Verb::Verify => schema_of::<verify::VerifyDocument>(),
        Verb::Storm => schema_of::<storm::StormDocument>(),
        Verb::Bundle => schema_of::<bundle::BundleDocument>(),
        Verb::Build => schema_of::<build::BuildDocument>(),
        Verb::ImageBuild => schema_of::<image::ImageBuildDocument>(),
        Verb::ImageRun => schema_of::<image::ImageRunDocument>(),
        Verb::ImageCompare => schema_of::<image_compare::ImageCompareDocument>(),
        Verb::ImageSdk => schema_of::<image_sdk::ImageSdkDocument>(),
        Verb::ImageSize => schema_of::<image_size::ImageSizeDocument>(),
        Verb::ImageSources => schema_of::<image_sources::ImageSourcesDocument>(),
        Verb::Bench => schema_of::<bench::BenchDocument>(),
        Verb::Suite => schema_of::<suite::SuiteDocument>(),
        Verb::Run => schema_of::<run::RunDocument>(),
        Verb::Doctor => schema_of::<doctor::DoctorDocument>(),
        Verb::ImageDoctor => schema_of::<image_doctor::ImageDoctorDocument>(),
        Verb::ImageFips => schema_of::<image_fips::ImageFipsDocument>(),
        Verb::ImageLayer => schema_of::<image_layer::ImageLayerDocument>(),
    }
}

/// The `schema` field of a document: always the constant of its verb.
#[derive(Clone, Copy)]
pub struct SchemaTag<D>(PhantomData<fn() -> D>);

impl<D> SchemaTag<D> {
    /// The tag.
    #[must_use]
    pub const fn new() -> SchemaTag<D> {
        SchemaTag(PhantomData)
    }
}

impl<D> Default for SchemaTag<D> {
    fn default() -> SchemaTag<D> {
        SchemaTag::new()
    }
}

impl<D: Document> fmt::Debug for SchemaTag<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(D::VERB.schema())
    }
}

impl<D: Document> Serialize for SchemaTag<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(D::VERB.schema())
    }
}

impl<D: Document> JsonSchema for SchemaTag<D> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SchemaTag".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "const": D::VERB.schema() })
    }
}

#[cfg(test)]
mod tests;
