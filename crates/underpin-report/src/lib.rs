//! The versioned report model and its renderings: JSON, terminal, Markdown, HTML.
//!
//! One document per verb ([`document`]) is built from the models of the other crates; every rendering reads only the
//! document. Nothing here prints, colours, reads a file or runs anything.
#![forbid(unsafe_code)]

pub mod advice;
pub mod bytes;
pub mod csv;
pub mod document;
pub mod html;
pub mod hyperfine;
pub mod layout;
pub mod markdown;
mod page;
mod picture;
pub mod styled;
pub mod text;
pub mod units;
mod words;

#[cfg(test)]
mod testing;

pub use advice::Advice;
pub use bytes::Raw;
pub use document::bench::BenchDocument;
pub use document::bind::{BindDocument, UnbindDocument};
pub use document::build::BuildDocument;
pub use document::bundle::BundleDocument;
pub use document::check::CheckDocument;
pub use document::doctor::DoctorDocument;
pub use document::fuse::FuseDocument;
pub use document::image::{ImageBuildDocument, ImageRunDocument};
pub use document::image_compare::ImageCompareDocument;
pub use document::image_doctor::ImageDoctorDocument;
pub use document::image_fips::ImageFipsDocument;
pub use document::image_layer::ImageLayerDocument;
pub use document::image_sdk::ImageSdkDocument;
pub use document::image_size::ImageSizeDocument;
pub use document::image_sources::ImageSourcesDocument;
pub use document::run::RunDocument;
pub use document::storm::{OpenedLater, StormBinding, StormDocument, StormInput};
pub use document::suite::SuiteDocument;
pub use document::survey::{StartUp, SurveyDocument};
pub use document::tags::{TagsDocument, TagsInput};
pub use document::trace::TraceDocument;
pub use document::tree::{CallComparison, CallCountRecord, TreeDocument};
pub use document::tree_findings::finding_words;
pub use document::verify::VerifyDocument;
pub use document::{CheckInput, Document, JsonError, Verb, schema, schema_of, to_json, to_json_line};
pub use layout::View;
pub use styled::{Line, Role, Span, Text};
