//! What a layer lays over a recipe, and why.

use super::{Fields, Given, Origin, Patch, RecipeError};
use crate::layer::{Condition, Files};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Why a package needs a change: a closed list, so that appends can be counted and checked by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A header that glibc's headers include by chance.
    MissingInclude,
    /// A function, macro or option that only glibc has.
    GlibcOnlyApi,
    /// The code takes a thread's name for a number.
    PthreadIsPointer,
    /// A name of the program is a macro of the C library.
    MacroClash,
    /// A macro or header of the kernel that changed or is gone.
    KernelMacro,
    /// The path of the loader is written somewhere.
    LoaderPath,
    /// A defect of the package that this target shows.
    UpstreamBug,
    /// The image becomes smaller.
    Size,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 8] = [
        Cause::MissingInclude,
        Cause::GlibcOnlyApi,
        Cause::PthreadIsPointer,
        Cause::MacroClash,
        Cause::KernelMacro,
        Cause::LoaderPath,
        Cause::UpstreamBug,
        Cause::Size,
    ];

    /// As an append names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Cause::MissingInclude => "missing include",
            Cause::GlibcOnlyApi => "glibc-only API",
            Cause::PthreadIsPointer => "pthread_t is a pointer",
            Cause::MacroClash => "macro clash",
            Cause::KernelMacro => "kernel macro",
            Cause::LoaderPath => "loader path",
            Cause::UpstreamBug => "upstream bug",
            Cause::Size => "size",
        }
    }
}

impl FromStr for Cause {
    type Err = String;

    fn from_str(text: &str) -> Result<Cause, String> {
        Cause::ALL.into_iter().find(|cause| cause.name() == text).ok_or_else(|| {
            let names: Vec<_> = Cause::ALL.iter().map(|cause| cause.name()).collect();
            format!("unknown cause `{text}`: expected one of {}", names.join(", "))
        })
    }
}

/// Text in the sources by which a cause can be seen to be still true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The file of the sources.
    pub file: String,
    /// What it contains as long as the cause is true.
    pub text: String,
}

/// One change with its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it begins.
    pub origin: Origin,
    /// Why, of the list.
    pub cause: Cause,
    /// Why, in a sentence.
    pub why: String,
    /// For which targets; for all of the layer's if it is empty.
    pub when: Condition,
    /// By what the cause is seen.
    pub evidence: Option<Evidence>,
    /// See [`super::Resolved`] for this and what follows.
    pub config: BTreeMap<String, Given<String>>,
    /// Results of `configure`.
    pub cache: BTreeMap<String, Given<String>>,
    /// For the C compiler.
    pub c_flags: Vec<Given<String>>,
    /// For linking.
    pub ld_flags: Vec<Given<String>>,
    /// Packages.
    pub needs: Vec<Given<String>>,
    /// Written into the sources.
    pub files: BTreeMap<String, Given<Vec<u8>>>,
    /// Applied to the sources.
    pub patches: Vec<Given<Patch>>,
}

/// A file of changes for one recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The recipe.
    pub recipe: String,
    /// Versions it is for, with `*` for anything; all if `None`.
    pub versions: Option<String>,
    /// The layer.
    pub layer: String,
    /// The file, as messages name it.
    pub file: PathBuf,
    /// SHA-256 of the file.
    pub sha256: String,
    /// In their order.
    pub changes: Vec<Change>,
}

impl Append {
    /// The end of an append's name.
    pub const ENDING: &'static str = ".append.toml";

    /// Reads `NAME.append.toml` or `NAME_GLOB.append.toml` of a layer.
    ///
    /// # Errors
    /// If it says something that an append does not.
    pub fn read(files: &Files, path: &Path) -> Result<Append, RecipeError> {
        let fields = files.fields(path)?;
        let stem = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(Append::ENDING));
        let stem = stem.unwrap_or_default();
        let (recipe, versions) = match stem.split_once('_') {
            Some((recipe, versions)) => (recipe, Some(versions.to_owned())),
            None => (stem, None),
        };
        let tables = fields.tables("change")?;
        fields.finish()?;
        if tables.is_empty() {
            return Err(RecipeError::of(fields.origin(), "it changes nothing: write a [[change]], or remove the file"));
        }
        let changes = tables.iter().map(|table| change(files, path, table)).collect::<Result<_, _>>()?;
        Ok(Append {
            recipe: recipe.to_owned(),
            versions,
            layer: files.layer.clone(),
            file: files.shown(path),
            sha256: files.sha256(path),
            changes,
        })
    }

    /// Whether it is for a version, whose epoch and Debian's revision do not matter.
    #[must_use]
    pub fn is_for(&self, version: &str) -> bool {
        let version = version.split_once(':').map_or(version, |(_, rest)| rest);
        let upstream = version.rsplit_once('-').map_or(version, |(upstream, _)| upstream);
        self.versions.as_deref().is_none_or(|glob| matches(glob, version) || matches(glob, upstream))
    }
}

fn change(files: &Files, path: &Path, table: &Fields) -> Result<Change, RecipeError> {
    let cause = table.required("cause")?;
    let cause = cause.value.parse().map_err(|reason: String| RecipeError::of(&cause.origin, reason))?;
    let why = table.required("why")?.value;
    let evidence = table.table("evidence")?.map(|table| {
        let evidence = Evidence { file: table.required("file")?.value, text: table.required("text")?.value };
        table.finish().map(|()| evidence)
    });
    let flags = table.table("flags")?;
    let (c_flags, ld_flags) = match &flags {
        Some(flags) => (flags.list("c")?, flags.list("ld")?),
        None => (Vec::new(), Vec::new()),
    };
    flags.map_or(Ok(()), |flags| flags.finish())?;
    let beside = path.parent().unwrap_or(Path::new(""));
    let content = |name: &Given<String>| files.bytes(&beside.join(&name.value), &name.origin);
    let patch = |name: Given<String>| {
        let bytes = content(&name)?;
        let file = files.shown(&beside.join(&name.value));
        Ok(name.map(|_| Patch { file, bytes }))
    };
    let file = |(to, from): (String, Given<String>)| {
        let bytes = content(&from)?;
        Ok((to, from.map(|_| bytes)))
    };
    let change = Change {
        origin: table.origin().clone(),
        cause,
        why,
        when: Condition::read(table.table("when")?)?,
        evidence: evidence.transpose()?,
        config: table.map("config")?,
        cache: table.map("cache")?,
        c_flags,
        ld_flags,
        needs: table.list("needs")?,
        files: table.map("files")?.into_iter().map(file).collect::<Result<_, RecipeError>>()?,
        patches: table.list("patches")?.into_iter().map(patch).collect::<Result<_, RecipeError>>()?,
    };
    table.finish()?;
    let empty = change.config.is_empty()
        && change.cache.is_empty()
        && change.c_flags.is_empty()
        && change.ld_flags.is_empty()
        && change.needs.is_empty()
        && change.files.is_empty()
        && change.patches.is_empty();
    if empty {
        let reason = "this change changes nothing: give it config, cache, flags, needs, files or patches";
        return Err(RecipeError::of(table.origin(), reason));
    }
    Ok(change)
}

/// Whether a text is what a pattern with `*` means.
#[must_use]
pub fn matches(glob: &str, text: &str) -> bool {
    let Some((first, rest)) = glob.split_once('*') else { return glob == text };
    let Some(text) = text.strip_prefix(first) else { return false };
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| matches(rest, &text[at..]))
}
