//! A recipe, and an image's list of packages, as their files say them.

use super::{Given, Origin, RecipeError, Source, System};
use crate::layer::Files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A recipe before anything is laid over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The package.
    pub name: String,
    /// The folder of the layer that has the recipe, if it is one of this machine: local folders are beside it.
    pub folder: Option<PathBuf>,
    /// Its version, as the source has it.
    pub version: Given<String>,
    /// Its licence, an SPDX expression.
    pub licence: Given<String>,
    /// How it is built.
    pub system: Given<System>,
    /// Where it is from.
    pub source: Given<Source>,
    /// Debian's release whose index has the source package, if it is not the one of the kernels.
    pub suite: Option<Given<String>>,
    /// Packages that are built before, whose headers and libraries it sees.
    pub needs: Vec<Given<String>>,
    /// What is handed to the configuration: options, definitions or variables, by the build system.
    pub config: BTreeMap<String, Given<String>>,
    /// Results of `configure` that it need not find out.
    pub cache: BTreeMap<String, Given<String>>,
    /// For the C compiler.
    pub c_flags: Vec<Given<String>>,
    /// For linking.
    pub ld_flags: Vec<Given<String>>,
    /// Arguments for the build tool.
    pub make: Vec<Given<String>>,
    /// Arguments for the build tool when it installs; if empty it installs nothing.
    pub install: Vec<Given<String>>,
    /// Results that are taken out of the build folder: where they go, and where they are.
    pub take: BTreeMap<String, Given<String>>,
    /// Symbolic links: where, and to what.
    pub links: BTreeMap<String, Given<String>>,
    /// Which of the installed files go into an image.
    pub image: Vec<Given<String>>,
}

impl Recipe {
    /// Reads `NAME.toml` of a layer.
    ///
    /// # Errors
    /// If it says something that a recipe does not, or less than one must.
    pub fn read(files: &Files, path: &Path) -> Result<Recipe, RecipeError> {
        let fields = files.fields(path)?;
        let system = fields.required("build")?;
        let origin = system.origin.clone();
        let system = system.value.parse().map_err(|reason: String| RecipeError::of(&origin, reason))?;
        let flags = fields.table("flags")?;
        let (c_flags, ld_flags) = match &flags {
            Some(flags) => (flags.list("c")?, flags.list("ld")?),
            None => (Vec::new(), Vec::new()),
        };
        flags.map_or(Ok(()), |flags| flags.finish())?;
        let (source, suite) = source(&fields)?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let recipe = Recipe {
            name: stem.to_owned(),
            folder: files.folder.as_ref().map(|folder| folder.join(path.parent().unwrap_or(Path::new("")))),
            version: fields.required("version")?,
            licence: fields.required("licence")?,
            system: Given { value: system, origin },
            source,
            suite,
            needs: fields.list("needs")?,
            config: fields.map("config")?,
            cache: fields.map("cache")?,
            c_flags,
            ld_flags,
            make: fields.list("make")?,
            install: fields.list("install")?,
            take: fields.map("take")?,
            links: fields.map("links")?,
            image: fields.list("image")?,
        };
        fields.finish()?;
        // Cargo installs every program of the crate.
        let by_itself = recipe.system.value == System::Cargo;
        if !by_itself
            && recipe.image.is_empty()
            && recipe.install.is_empty()
            && recipe.take.is_empty()
            && recipe.links.is_empty()
        {
            let reason = "it selects nothing: say what it installs with `install`, [take] or [links]";
            return Err(RecipeError::of(fields.origin(), reason));
        }
        Ok(recipe)
    }
}

/// The source, and the suite that has it.
fn source(fields: &super::Fields) -> Result<(Given<Source>, Option<Given<String>>), RecipeError> {
    let Some(table) = fields.table("source")? else {
        return Err(RecipeError::of(
            fields.origin(),
            "`source` is missing: write [source] with debian, folder, crate or deb",
        ));
    };
    let texts = [table.text("debian")?, table.text("folder")?, table.text("crate")?, table.text("deb")?];
    let given: Vec<_> = texts.iter().enumerate().filter_map(|(kind, text)| Some((kind, text.as_ref()?))).collect();
    let [(kind, text)] = given.as_slice() else {
        return Err(RecipeError::of(table.origin(), "[source] has exactly one of debian, folder, crate and deb"));
    };
    let (name, origin) = (text.value.clone(), text.origin.clone());
    let suite = if *kind == 0 { table.text("suite")?.map(suite_name).transpose()? } else { None };
    let value = match kind {
        0 => Source::Debian { name, sha256: sum(table.required("sha256")?)? },
        1 => Source::Folder(PathBuf::from(name)),
        2 => Source::Crate(name),
        _ => {
            let sums = table.map("sha256")?.into_iter().map(|(processor, text)| Ok((processor, sum(text)?)));
            let sha256: BTreeMap<_, _> = sums.collect::<Result<_, RecipeError>>()?;
            if sha256.is_empty() {
                return Err(RecipeError::of(
                    table.origin(),
                    "`sha256` is missing: write [source.sha256] with amd64 and arm64",
                ));
            }
            Source::Deb { name, sha256 }
        }
    };
    table.finish()?;
    Ok((Given { value, origin }, suite))
}

/// It becomes a word of apt's list of sources and the name of a folder.
fn suite_name(text: Given<String>) -> Result<Given<String>, RecipeError> {
    let is_name = text.value.starts_with(|first: char| first.is_ascii_lowercase())
        && text.value.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if is_name {
        return Ok(text);
    }
    Err(RecipeError::of(
        &text.origin,
        format!("invalid suite `{}`: expected a release of Debian, as `bookworm`", text.value),
    ))
}

fn sum(text: Given<String>) -> Result<String, RecipeError> {
    let is_sum = text.value.len() == 64 && text.value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_sum {
        return Ok(text.value);
    }
    Err(RecipeError::of(
        &text.origin,
        format!("invalid SHA-256 `{}`: expected 64 hexadecimal digits in lower case", text.value),
    ))
}

/// An image: packages, and what it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRecipe {
    /// Of the file.
    pub name: String,
    /// Where it begins.
    pub origin: Origin,
    /// The packages; what they need at run time comes with them.
    pub packages: Vec<Given<String>>,
    /// The program that is started if nothing else is asked for.
    pub command: Option<Given<String>>,
}

impl ImageRecipe {
    /// The end of an image's name.
    pub const ENDING: &'static str = ".image.toml";

    /// Reads `NAME.image.toml` of a layer.
    ///
    /// # Errors
    /// If it says something that an image does not, or names no package.
    pub fn read(files: &Files, path: &Path) -> Result<ImageRecipe, RecipeError> {
        let fields = files.fields(path)?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let image = ImageRecipe {
            name: name.trim_end_matches(ImageRecipe::ENDING).to_owned(),
            origin: fields.origin().clone(),
            packages: fields.list("packages")?,
            command: fields.text("command")?,
        };
        fields.finish()?;
        if image.packages.is_empty() {
            return Err(RecipeError::of(fields.origin(), "it selects nothing: list recipes in `packages`"));
        }
        Ok(image)
    }
}
