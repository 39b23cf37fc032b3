//! `underpin image fips`: asks inside an image which FIPS provider is in effect, and shows what bypasses it.

use super::contained_run::recorded;
use crate::exit::Exit;
use crate::plan::ImageFipsPlan;
use crate::screen::Screen;
use anyhow::{Context, bail};
use bstr::{BStr, BString};
use serde::Deserialize;
use std::os::unix::ffi::OsStrExt;
use underpin_image::fips::{certificates, own_code};
use underpin_image::oci::{FileKind, Files};
use underpin_report::document::SchemaTag;
use underpin_report::document::image::ImageOutcome;
use underpin_report::document::image_fips::{FipsAlgorithm, FipsBypass, FipsCheck, FipsOwnCode, FipsProvider};
use underpin_report::{ImageFipsDocument, ImageRunDocument, Raw, text};
use underpin_resolve::Root;

/// A larger file is not searched.
const LIMIT: u64 = 1 << 28;

/// What the probe prints; see `ruby_fips.rb`.
#[derive(Debug, Deserialize)]
struct Answer {
    runtime: String,
    library: String,
    mapped: Vec<String>,
    provider: Provider,
    in_effect: bool,
    through: Vec<Asked>,
    beside: Vec<Tried>,
    /// What the runtime says of itself.
    says: bool,
}

#[derive(Debug, Deserialize)]
struct Provider {
    name: Option<String>,
    version: Option<String>,
    #[serde(default)]
    forced: bool,
    unknown: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Asked {
    name: String,
    expected: bool,
    works: bool,
}

#[derive(Debug, Deserialize)]
struct Tried {
    name: String,
    works: bool,
    file: Option<String>,
}

/// Runs the probe and shows what it found.
///
/// # Errors
/// If the probe cannot be run in the image, or does not answer.
pub fn run(plan: &ImageFipsPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let mut document = empty(plan);
    match &plan.probe {
        Some(probe) => {
            let Some(ran) = recorded(probe)? else { return Ok(Exit::interrupted()) };
            fill(&mut document, answer(plan, &ran)?);
        }
        None => document.unknown.push(
            "what the program does while it runs: only Ruby can be asked, and the image starts no Ruby".to_owned(),
        ),
    }
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::image_fips(&document, &screen.view(plan.verbosity)));
    }
    let is_fine = document.in_effect && document.bypasses.is_empty();
    Ok(if is_fine { Exit::Fine } else { Exit::Finding })
}

fn empty(plan: &ImageFipsPlan) -> ImageFipsDocument {
    let mut unknown = Vec::new();
    ImageFipsDocument {
        schema: SchemaTag::new(),
        image: super::raw(&plan.image.path),
        runtime: None,
        library: None,
        mapped: Vec::new(),
        provider: None,
        forced: false,
        in_effect: false,
        runtime_says: None,
        checks: Vec::new(),
        bypasses: Vec::new(),
        own_code: searched(&plan.image.files, &mut unknown),
        unknown,
    }
}

/// The files of an image with cryptography of their own.
fn searched(files: &Files, unknown: &mut Vec<String>) -> Vec<FipsOwnCode> {
    let mut found = Vec::new();
    for (path, node) in files.iter() {
        let FileKind::Regular(bytes) = &node.kind else { continue };
        let place: BString = [b"/", path.as_ref() as &[u8]].concat().into();
        if bytes.size() > LIMIT {
            unknown.push(format!("{place}: it is too large to be searched"));
            continue;
        }
        match files.read(place.as_ref() as &BStr, LIMIT) {
            Ok(bytes) => found.extend(own_code(&place, &bytes)),
            Err(error) => unknown.push(format!("{place}: {error}")),
        }
    }
    let algorithms = |all: Vec<(&str, u64)>| {
        all.into_iter().map(|(name, offset)| FipsAlgorithm { name: name.to_owned(), offset }).collect()
    };
    found.into_iter().map(|own| FipsOwnCode { path: Raw(own.path), algorithms: algorithms(own.algorithms) }).collect()
}

fn answer(plan: &ImageFipsPlan, ran: &ImageRunDocument) -> anyhow::Result<Answer> {
    let path = plan.image.path.display();
    if ran.outcome != ImageOutcome::Exited || ran.exit_status != Some(0) {
        let said = ran.errors.to_string();
        let line = said.lines().find(|line| !line.is_empty() && !line.starts_with('{')).unwrap_or("it said nothing");
        bail!("{path}: its Ruby, asked for the FIPS provider, did not answer: {line}");
    }
    serde_json::from_slice(&ran.output.0).with_context(|| format!("{path}: its Ruby, asked for the FIPS provider"))
}

fn fill(document: &mut ImageFipsDocument, answer: Answer) {
    let raw = |path: String| Raw(std::ffi::OsString::from(path).as_bytes().into());
    let Provider { name, version, forced, unknown } = answer.provider;
    document.provider = name.map(|name| {
        let version = version.unwrap_or_default();
        FipsProvider { standing: certificates().standing(&name, &version), name, version }
    });
    document.forced = forced;
    document.in_effect = answer.in_effect && document.provider.is_some();
    document.mapped = answer.mapped.into_iter().map(raw).collect();
    document.library = Some(answer.library);
    if let Some(why) = unknown {
        document.unknown.push(format!("the provider's name and version: {why}"));
    }
    document.runtime_says = Some(answer.says);
    document.runtime = Some(answer.runtime);
    let check = |one: Asked| FipsCheck { name: one.name, expected: one.expected, works: one.works };
    document.checks = answer.through.into_iter().map(check).collect();
    let tried = answer.beside.into_iter().filter(|tried| tried.works);
    document.bypasses = tried.map(|tried| FipsBypass { name: tried.name, file: tried.file.map(raw) }).collect();
}
