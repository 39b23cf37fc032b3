//! The documents for a terminal: one function per screen, each a [`Text`](crate::styled::Text) of styled lines.
//!
//! No line is wider than its [`View`], or than 40 columns on a terminal that is narrower still; commands to be copied
//! are kept whole. No screen knows a colour, and none prints.

mod advice;
mod bench;
mod bench_short;
mod bind;
mod build;
mod bundle;
mod calls;
mod check;
mod doctor;
mod findings;
mod fuse;
mod image;
mod image_compare;
mod image_doctor;
mod image_fips;
mod image_layer;
mod image_sdk;
mod image_size;
mod image_sources;
mod load;
mod paths;
mod storm;
mod suite;
mod survey;
mod tags;
mod trace;
mod tree;
mod tries;
mod verify;
mod why;

pub use tree::tree_list;

use crate::document::bench::BenchDocument;
use crate::document::bind::{BindDocument, UnbindDocument};
use crate::document::build::BuildDocument;
use crate::document::bundle::BundleDocument;
use crate::document::check::{AdviceRecord, CheckDocument};
use crate::document::doctor::DoctorDocument;
use crate::document::fuse::FuseDocument;
use crate::document::image::{ImageBuildDocument, ImageRunDocument};
use crate::document::image_compare::ImageCompareDocument;
use crate::document::image_doctor::ImageDoctorDocument;
use crate::document::image_fips::ImageFipsDocument;
use crate::document::image_layer::ImageLayerDocument;
use crate::document::image_sdk::ImageSdkDocument;
use crate::document::image_size::ImageSizeDocument;
use crate::document::image_sources::ImageSourcesDocument;
use crate::document::storm::StormDocument;
use crate::document::suite::SuiteDocument;
use crate::document::survey::SurveyDocument;
use crate::document::tags::TagsDocument;
use crate::document::trace::TraceDocument;
use crate::document::tree::{CallComparison, TreeDocument};
use crate::document::verify::VerifyDocument;
use crate::layout::{View, fit};
use crate::styled::Text;
use bstr::BStr;
use underpin_rewrite::plan::Reserve;

/// The public screens: each is fitted to its view, so that no line is wider.
macro_rules! screens {
    ($($(#[$words:meta])* $module:ident::$name:ident($document:ty);)*) => {$(
        $(#[$words])*
        #[must_use]
        pub fn $name(document: &$document, view: &View) -> Text {
            fit(&$module::$name(document, view), view.usable())
        }
    )*};
}

screens! {
    /// Advice, the most important first; empty if there is none.
    advice::advice([AdviceRecord]);
    /// The comparison of variants.
    bench::bench(BenchDocument);
    /// What binding does, or would do.
    bind::bind(BindDocument);
    /// The result of `underpin bind` as soon as it is known, before any detail.
    bind::bind_headline(BindDocument);
    /// What follows the headline of [`bind_headline`].
    bind::bind_details(BindDocument);
    /// What became of programs whose libraries were to be merged.
    fuse::fuse(FuseDocument);
    /// What unbinding does, or would do.
    bind::unbind(UnbindDocument);
    /// What to pass to the linker so that a later bind has room.
    bind::reserve([Reserve]);
    /// What was built, and whether it matches the request.
    build::build(BuildDocument);
    /// What a bundle holds and why.
    bundle::bundle(BundleDocument);
    /// Prediction beside measurement (`tree --check`), one row per call.
    calls::calls_comparison(CallComparison);
    /// The predicted start-up calls in a line or two.
    calls::calls_line(TreeDocument);
    /// Where a program runs.
    check::check(CheckDocument);
    /// What this machine permits.
    doctor::doctor(DoctorDocument);
    /// What is missing in an image.
    image_doctor::image_doctor(ImageDoctorDocument);
    /// Which FIPS provider is in effect in an image, and what bypasses it.
    image_fips::image_fips(ImageFipsDocument);
    /// Layers, a recipe with who gave each line, or how appends stand to the sources.
    image_layer::image_layer(ImageLayerDocument);
    /// The findings of a tree, worst first; empty if there are none.
    findings::findings(TreeDocument);
    /// What is in an image, or would be.
    image::image_build(ImageBuildDocument);
    /// What an SDK is, and how to begin with it.
    image_sdk::image_sdk(ImageSdkDocument);
    /// Twin images side by side.
    image_compare::image_compare(ImageCompareDocument);
    /// Where the bytes of an image are, or why two images differ.
    image_size::image_size(ImageSizeDocument);
    /// What was written of the sources of an image, and what has none.
    image_sources::image_sources(ImageSourcesDocument);
    /// How a command in an image ran.
    image::image_run(ImageRunDocument);
    /// Every search directory of every object (`tree --paths`).
    paths::tree_paths(TreeDocument);
    /// What a start costs at scale.
    storm::storm(StormDocument);
    /// The comparison of builds over suites of benchmarks.
    suite::suite(SuiteDocument);
    /// One program in full.
    survey::survey(SurveyDocument);
    /// Which platform tag a folder or a wheel meets.
    tags::tags(TagsDocument);
    /// What a start-up really did.
    trace::trace(TraceDocument);
    /// The screen of `underpin tree`: tree, findings, predicted calls.
    tree::tree(TreeDocument);
    /// Whether bound programs still load what they loaded unbound.
    verify::verify(VerifyDocument);
}

/// Why an object is loaded, or why a name is not found (`tree --why NAME`). The name is a soname, a file name, a path
/// or a requested name. `None` if nothing of that name occurs in this program.
#[must_use]
pub fn tree_why(document: &TreeDocument, name: &BStr, view: &View) -> Option<Text> {
    why::tree_why(document, name, view).map(|text| fit(&text, view.usable()))
}

#[cfg(test)]
mod any;
#[cfg(test)]
mod tests;
