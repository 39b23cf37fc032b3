//! `underpin.image-doctor/1`: what the programs of an image need that is not in it, what shows each need, and what is in it
//! without need.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use bstr::{BString, ByteSlice};
use schemars::JsonSchema;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;
use underpin_image::doctor::{Diagnosis, Evidence, ExtraKind, Lack, LackKind};
use underpin_image::oci::Image;

/// The document of `underpin image doctor`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageDoctorDocument {
    /// Always `underpin.image-doctor/1`.
    pub schema: SchemaTag<ImageDoctorDocument>,
    /// The file or folder.
    pub image: Raw,
    /// In which form it is: `OCI layout`, `tar of a root file system`, ...
    pub form: String,
    /// Which image of several it is, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// How many layers it has.
    pub layers: usize,
    /// How many files, folders and links.
    pub entries: usize,
    /// The processor that its configuration names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The user that it starts as; empty for root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Whether the programs are those that its configuration starts, and not all that are in it.
    pub configured: bool,
    /// The programs that were looked at.
    pub programs: Vec<ImageProgram>,
    /// What is missing, the worst first.
    pub findings: Vec<ImageFinding>,
    /// What is there without need.
    pub unneeded: Vec<ImageExtra>,
    /// What could not be looked at.
    pub unknown: Vec<String>,
}

impl Document for ImageDoctorDocument {
    const VERB: Verb = Verb::ImageDoctor;
}

/// A program of an image.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageProgram {
    /// Where it is.
    pub path: Raw,
    /// How many objects its loader maps, itself among them; 0 for a script.
    pub objects: usize,
    /// Whether it is a script; its interpreter is a program of its own.
    pub script: bool,
}

/// Something that is missing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageFinding {
    /// What it is about.
    pub kind: ImageFindingKind,
    /// The programs that it concerns.
    pub programs: Vec<Raw>,
    /// What is missing, and what comes of it.
    pub missing: String,
    /// What shows it.
    pub evidence: Vec<ImageEvidence>,
    /// What to do.
    pub fix: String,
}

/// A place in a file that shows a need.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageEvidence {
    /// The file in the image; none if the configuration shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Raw>,
    /// The byte of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// What is there.
    pub what: String,
}

/// Files that are there without need.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageExtra {
    /// What they are.
    pub kind: ImageExtraKind,
    /// The files, or the folders that they are in.
    pub paths: Vec<Raw>,
    /// How many files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageFindingKind {
    /// What is started is not there or cannot be executed.
    Start,
    /// The interpreter of a script.
    ScriptInterpreter,
    /// The loader that a program names.
    Interpreter,
    /// A library.
    Library,
    /// A version of a symbol that a library does not define.
    SymbolVersion,
    /// A library that is to be preloaded.
    Preload,
    /// The processor.
    Architecture,
    /// Roots of certificates.
    Certificates,
    /// Zones of time.
    TimeZone,
    /// A folder for temporary files.
    Temporary,
    /// The user or group.
    User,
    /// Modules of the name service.
    NameService,
    /// Charsets of iconv(3).
    Charset,
    /// The locale that is set.
    Locale,
    /// The library that glibc opens to unwind a stack.
    Unwinder,
}

/// What is there without need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageExtraKind {
    /// Files that run with the rights of their owner or group.
    SetUser,
    /// Shells.
    Shell,
    /// Databases and caches of package managers.
    PackageDatabase,
    /// Manuals and the like.
    Documentation,
}

impl ImageDoctorDocument {
    /// Of an image and what was found in it.
    #[must_use]
    pub fn new(image: &Image, diagnosis: &Diagnosis) -> ImageDoctorDocument {
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        let program = |program: &underpin_image::doctor::Program| ImageProgram {
            path: Raw(program.path.clone()),
            objects: program.objects,
            script: program.script,
        };
        let extra = |extra: &underpin_image::doctor::Extra| ImageExtra {
            kind: extra.kind.into(),
            paths: raws(&extra.paths),
            files: extra.files,
            bytes: extra.bytes,
        };
        ImageDoctorDocument {
            schema: SchemaTag::new(),
            image: Raw(image.path.as_os_str().as_bytes().into()),
            form: image.form.name().to_owned(),
            chosen: image.chosen.clone(),
            layers: image.layers,
            entries: image.files.len(),
            architecture: image.config.as_ref().and_then(|config| text(&config.architecture)),
            user: image.config.as_ref().map(|config| config.user.clone()),
            configured: diagnosis.configured,
            programs: diagnosis.programs.iter().map(program).collect(),
            findings: diagnosis.findings.iter().map(ImageFinding::new).collect(),
            unneeded: diagnosis.extras.iter().map(extra).collect(),
            unknown: diagnosis.unknown.clone(),
        }
    }
}

fn raws(names: &[BString]) -> Vec<Raw> {
    names.iter().map(|name| Raw(name.as_bstr().into())).collect()
}

impl ImageFinding {
    fn new(finding: &Lack) -> ImageFinding {
        ImageFinding {
            kind: finding.kind.into(),
            programs: raws(&finding.programs),
            missing: finding.missing.clone(),
            evidence: finding.evidence.iter().map(ImageEvidence::from).collect(),
            fix: finding.fix.clone(),
        }
    }
}

impl From<&Evidence> for ImageEvidence {
    fn from(evidence: &Evidence) -> ImageEvidence {
        let file = (!evidence.file.is_empty()).then(|| Raw(evidence.file.clone()));
        ImageEvidence { file, offset: evidence.offset, what: evidence.what.clone() }
    }
}

impl From<LackKind> for ImageFindingKind {
    fn from(kind: LackKind) -> ImageFindingKind {
        match kind {
            LackKind::Start => ImageFindingKind::Start,
            LackKind::ScriptInterpreter => ImageFindingKind::ScriptInterpreter,
            LackKind::Interpreter => ImageFindingKind::Interpreter,
            LackKind::Library => ImageFindingKind::Library,
            LackKind::SymbolVersion => ImageFindingKind::SymbolVersion,
            LackKind::Preload => ImageFindingKind::Preload,
            LackKind::Architecture => ImageFindingKind::Architecture,
            LackKind::Certificates => ImageFindingKind::Certificates,
            LackKind::TimeZone => ImageFindingKind::TimeZone,
            LackKind::Temporary => ImageFindingKind::Temporary,
            LackKind::User => ImageFindingKind::User,
            LackKind::NameService => ImageFindingKind::NameService,
            LackKind::Charset => ImageFindingKind::Charset,
            LackKind::Locale => ImageFindingKind::Locale,
            LackKind::Unwinder => ImageFindingKind::Unwinder,
        }
    }
}

impl From<ExtraKind> for ImageExtraKind {
    fn from(kind: ExtraKind) -> ImageExtraKind {
        match kind {
            ExtraKind::SetUser => ImageExtraKind::SetUser,
            ExtraKind::Shell => ImageExtraKind::Shell,
            ExtraKind::PackageDatabase => ImageExtraKind::PackageDatabase,
            ExtraKind::Documentation => ImageExtraKind::Documentation,
        }
    }
}
