//! `underpin.bundle/1`: every file of a bundle and why it is in it, what is left out, what the bundle's loader reports.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use bstr::ByteSlice;
use schemars::JsonSchema;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_rewrite::bundle::{BundleCheck, BundlePlan, Form, IncludedBecause, Item, Notice, Written};

/// The document of `underpin bundle`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BundleDocument {
    /// Always `underpin.bundle/1`.
    pub schema: SchemaTag<BundleDocument>,
    /// The program.
    pub program: Raw,
    /// The form.
    pub form: BundleForm,
    /// Whether this is a plan only: nothing was written.
    pub dry_run: bool,
    /// Where the bundle is, or would be.
    pub target: Raw,
    /// What to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<Raw>,
    /// Every file: the program, its loader, the closure in load order, then what is opened later.
    pub files: Vec<BundleFile>,
    /// Bytes of all files: of those taken in a plan, of those written otherwise.
    pub bytes: u64,
    /// What a person should know.
    pub notices: Vec<BundleNotice>,
    /// What the bundle's own loader says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<BundleVerdict>,
}

impl Document for BundleDocument {
    const VERB: Verb = Verb::Bundle;
}

/// The form of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BundleForm {
    /// A directory with `bin/` and `lib/`.
    Directory,
    /// One file.
    File,
}

/// One file of a bundle.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BundleFile {
    /// Where it was taken from; empty for underpin's own library.
    pub path: Raw,
    /// Where it goes, below the top of the bundle.
    pub place: Raw,
    /// Its size in bytes.
    pub bytes: u64,
    /// Why it is taken.
    pub role: BundleRole,
    /// Who asks for it: an object, a name service, an argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Raw>,
    /// What a declared library is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// The libraries that were merged into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Raw>,
}

/// Why a file is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BundleRole {
    /// The program.
    Program,
    /// The loader named in PT_INTERP.
    Loader,
    /// Part of the closure: mapped at start.
    Needed,
    /// A name service of nsswitch.conf.
    NameService,
    /// What glibc opens to unwind a stack.
    Unwinder,
    /// Declared in `.note.dlopen`.
    Declared,
    /// A charset module of iconv.
    Charset,
    /// A file of a locale.
    Locale,
    /// Libraries of the closure merged into one; they are its `members`, and it has no `path`.
    Merged,
    /// Underpin's own library, by which the locales are found; it has no `path`.
    LocaleLibrary,
    /// Asked for with --include.
    Included,
    /// Needed by something that is opened later.
    NeededLater,
}

/// Something that the user should know.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BundleNotice {
    /// What it is about.
    pub kind: BundleNoticeKind,
    /// The text, with what to do.
    pub text: String,
    /// The files that it is about.
    pub names: Vec<Raw>,
    /// A figure in bytes, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BundleNoticeKind {
    /// Libraries that open drivers of the machine.
    Drivers,
    /// Objects that import dlopen(3).
    OpensMore,
    /// The program reads `/proc/self/exe`.
    OwnFile,
    /// The program is set-user-ID or set-group-ID.
    SetUser,
    /// A directory that may hold the program's data.
    Data,
    /// Plug-ins or data whose path is compiled in.
    Compiled,
    /// Where certificates are searched for.
    Certificates,
    /// A script that starts the program and sets variables; `names` has the script.
    Wrapper,
    /// Data appended to the program's ELF image.
    Payload,
    /// A bundle in one file has no charset modules.
    NoCharsets,
    /// The program sets a locale, and the bundle has none.
    NoLocales,
    /// Memory that each start of a bundle in one file uses for its libraries.
    Memory,
    /// A kind that this document version does not know; see `text`.
    Other,
}

/// What the bundle's own loader says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BundleVerdict {
    /// Whether it was asked and maps the objects of the bundle alone.
    pub agrees: bool,
    /// How many objects it maps, itself among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<usize>,
    /// Why it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl BundleDocument {
    /// The document of a plan for `target`, and of what was written, if anything was.
    #[must_use]
    pub fn new(plan: &BundlePlan, target: &Path, written: Option<&Written>) -> BundleDocument {
        BundleDocument {
            schema: SchemaTag::new(),
            program: Raw(plan.program.clone()),
            form: match plan.form {
                Form::Directory => BundleForm::Directory,
                Form::File => BundleForm::File,
            },
            dry_run: written.is_none(),
            target: raw(target),
            entry: written.map(|written| raw(&written.entry)),
            files: plan.items.iter().map(BundleFile::new).collect(),
            bytes: written.map_or_else(|| plan.size(), |written| written.size),
            notices: plan.notices.iter().map(BundleNotice::new).collect(),
            judged: written.map(|written| BundleVerdict::new(&written.check)),
        }
    }
}

fn raw(path: &Path) -> Raw {
    Raw(path.as_os_str().as_bytes().into())
}

impl BundleFile {
    fn new(item: &Item) -> BundleFile {
        let (role, by, feature) = match &item.reason {
            IncludedBecause::Program => (BundleRole::Program, None, None),
            IncludedBecause::Loader => (BundleRole::Loader, None, None),
            IncludedBecause::Needed { by } => (BundleRole::Needed, Some(by), None),
            IncludedBecause::NameService { service } => (BundleRole::NameService, Some(service), None),
            IncludedBecause::Unwinder { function } => (BundleRole::Unwinder, Some(function), None),
            IncludedBecause::Declared { by, feature } => (BundleRole::Declared, Some(by), feature.clone()),
            IncludedBecause::Charset => (BundleRole::Charset, None, None),
            IncludedBecause::Locale { name } => (BundleRole::Locale, Some(name), None),
            IncludedBecause::Merged { .. } => (BundleRole::Merged, None, None),
            IncludedBecause::LocaleLibrary => (BundleRole::LocaleLibrary, None, None),
            IncludedBecause::Included { by } => (BundleRole::Included, Some(by), None),
            IncludedBecause::NeededByTaken { by } => (BundleRole::NeededLater, Some(by), None),
        };
        let members = match &item.reason {
            IncludedBecause::Merged { libraries } => libraries.iter().cloned().map(Raw).collect(),
            _ => Vec::new(),
        };
        BundleFile {
            members,
            path: Raw(item.source.clone()),
            place: Raw(item.place.clone()),
            bytes: item.size,
            role,
            by: by.filter(|by| !by.is_empty()).map(|by| Raw(by.clone())),
            feature,
        }
    }
}

impl BundleNotice {
    fn new(notice: &Notice) -> BundleNotice {
        let list = |names: &[bstr::BString]| names.iter().map(|name| Raw(name.as_bstr().into())).collect::<Vec<_>>();
        let (kind, names, bytes) = match notice {
            Notice::Drivers { names } => (BundleNoticeKind::Drivers, list(names), None),
            Notice::OpensMore { by } => (BundleNoticeKind::OpensMore, list(by), None),
            Notice::OwnFile => (BundleNoticeKind::OwnFile, Vec::new(), None),
            Notice::SetUser => (BundleNoticeKind::SetUser, Vec::new(), None),
            Notice::Data { path } => (BundleNoticeKind::Data, vec![Raw(path.clone())], None),
            Notice::Payload { size } => (BundleNoticeKind::Payload, Vec::new(), Some(*size)),
            Notice::NoCharsets => (BundleNoticeKind::NoCharsets, Vec::new(), None),
            Notice::Compiled { path, size, .. } => (BundleNoticeKind::Compiled, vec![Raw(path.clone())], Some(*size)),
            Notice::Certificates { paths, .. } => (BundleNoticeKind::Certificates, list(paths), None),
            Notice::Wrapper { script, .. } => (BundleNoticeKind::Wrapper, vec![Raw(script.clone())], None),
            Notice::NoLocales { .. } => (BundleNoticeKind::NoLocales, Vec::new(), None),
            Notice::Memory { size, .. } => (BundleNoticeKind::Memory, Vec::new(), Some(*size)),
            _ => (BundleNoticeKind::Other, Vec::new(), None),
        };
        BundleNotice { kind, text: notice.to_string(), names, bytes }
    }
}

impl BundleVerdict {
    fn new(judged: &BundleCheck) -> BundleVerdict {
        match judged {
            BundleCheck::Agrees { objects } => BundleVerdict { agrees: true, objects: Some(*objects), reason: None },
            BundleCheck::NotAsked { reason } => {
                BundleVerdict { agrees: false, objects: None, reason: Some(reason.clone()) }
            }
        }
    }
}
