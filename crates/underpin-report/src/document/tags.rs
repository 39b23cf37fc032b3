//! `underpin.tags/1`: which platform tag of Python wheels a folder or a wheel meets, and what rules out the next older
//! one.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;
use underpin_resolve::compat::{Cause, Obstacle, PlatformTag, TagVerdict};

/// The document of `underpin check` about a folder or a wheel.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TagsDocument {
    /// Always `underpin.tags/1`.
    pub schema: SchemaTag<TagsDocument>,
    /// The folder or wheel, as the user named it.
    pub set: Raw,
    /// How many programs and libraries are in it.
    pub objects: usize,
    /// `glibc` or `musl`; null if no object needs either.
    pub libc: Option<String>,
    /// The processor, as wheels name it.
    pub platform: String,
    /// The oldest tag that the whole set meets, with the processor; `linux_PLATFORM` if it meets no other.
    pub tag: String,
    /// The same tag under the name that it had before PEP 600.
    pub alias: Option<String>,
    /// What the file name of the wheel claims; empty for a folder.
    pub claims: Vec<TagClaim>,
    /// The next older tag, or the newest one if none is met; null if there is no older one.
    pub ruled_out: Option<String>,
    /// What rules it out, object by object.
    pub obstacles: Vec<ObstacleRecord>,
    /// What else is worth knowing, a sentence each.
    pub notes: Vec<String>,
    /// Day on which the promises of the tags were read, `YYYY-MM-DD`.
    pub tags_date: String,
    /// Where they were read.
    pub tags_source: String,
    /// Whether every claim is earned; one that is not known is not.
    pub passed: bool,
}

/// A platform tag in a wheel's file name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TagClaim {
    /// The tag, with the processor.
    pub tag: String,
    /// Whether the set meets it; null if the tag is not known.
    pub earned: Option<bool>,
}

/// Something that a tag does not promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ObstacleRecord {
    /// The object, relative to the set.
    pub object: Raw,
    /// Its kind.
    pub kind: ObstacleKind,
    /// What is asked for: a library, a symbol version, a function or a processor level.
    pub what: Raw,
    /// The library that has to provide it, if it is another one.
    pub library: Option<Raw>,
    /// The symbols behind a version.
    pub symbols: Vec<Raw>,
}

/// The kinds of obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObstacleKind {
    /// A library that is neither promised nor part of the set.
    Library,
    /// A symbol version that is not promised.
    Version,
    /// A function of a promised library that is excepted from the promise.
    Forbidden,
    /// Instructions that not every processor of the kind has.
    Processor,
    /// An import that only some builds of Python have.
    Python,
}

impl Document for TagsDocument {
    const VERB: Verb = Verb::Tags;
}

/// The input of a tags document.
#[derive(Debug)]
pub struct TagsInput<'a> {
    /// The folder or wheel.
    pub set: Raw,
    /// How many objects it holds.
    pub objects: usize,
    /// The verdict.
    pub verdict: &'a TagVerdict,
    /// What the file name claims.
    pub claims: Vec<TagClaim>,
    /// Sentences for the notes.
    pub notes: Vec<String>,
    /// Day and source of the promises.
    pub source: (&'a str, &'a str),
}

impl TagsDocument {
    /// The document of a verdict.
    #[must_use]
    pub fn new(input: TagsInput<'_>) -> TagsDocument {
        let verdict = input.verdict;
        let full = |tag: &PlatformTag| format!("{}_{}", tag.name, verdict.platform);
        let alias = verdict.tag.as_ref().and_then(|tag| tag.alias.as_ref());
        TagsDocument {
            schema: SchemaTag::new(),
            set: input.set,
            objects: input.objects,
            libc: verdict.libc.map(|libc| libc.name().to_owned()),
            platform: verdict.platform.to_owned(),
            tag: verdict.tag.as_ref().map_or_else(|| format!("linux_{}", verdict.platform), full),
            alias: alias.map(|alias| format!("{alias}_{}", verdict.platform)),
            passed: input.claims.iter().all(|claim| claim.earned == Some(true)),
            claims: input.claims,
            ruled_out: verdict.ruled_out.as_ref().map(full),
            obstacles: verdict.obstacles.iter().map(record).collect(),
            notes: input.notes,
            tags_date: input.source.0.to_owned(),
            tags_source: input.source.1.to_owned(),
        }
    }
}

fn record(obstacle: &Obstacle) -> ObstacleRecord {
    let (kind, what, library, symbols) = match &obstacle.cause {
        Cause::Library { library } => (ObstacleKind::Library, Raw(library.clone()), None, &[][..]),
        Cause::Version { version, library, symbols } => {
            (ObstacleKind::Version, version.as_str().into(), Some(Raw(library.clone())), &symbols[..])
        }
        Cause::Forbidden { library, symbol } => {
            (ObstacleKind::Forbidden, Raw(symbol.clone()), Some(Raw(library.clone())), &[][..])
        }
        Cause::Processor { level } => (ObstacleKind::Processor, level.as_str().into(), None, &[][..]),
        Cause::Python { symbol } => (ObstacleKind::Python, Raw(symbol.clone()), None, &[][..]),
    };
    let symbols = symbols.iter().map(|symbol| Raw(symbol.clone())).collect();
    ObstacleRecord { object: Raw(obstacle.object.clone()), kind, what, library, symbols }
}
