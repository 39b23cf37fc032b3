//! Layers: folders of recipes and appends with an order, and for which targets they are.
//!
//! underpin carries its own (`layers/` of its sources); `--layer DIR` adds a folder of the user's. [`Layers::read`] reads all of
//! them, for whatever target, so that a mistake in a layer is told even when the layer is not selected. [`Layers::resolve`] lays
//! what is selected over a recipe.

mod files;
mod resolve;

pub use files::Files;

use crate::recipe::{Append, Fields, Given, ImageRecipe, Origin, Recipe, RecipeError};
use std::collections::BTreeMap;
use std::path::Path;

/// What an image is built for, as conditions see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// `musl` or `glibc`.
    pub libc: String,
    /// As the kernel names it.
    pub architecture: String,
    /// `zig`, `gcc` or `clang`.
    pub toolchain: String,
    /// `qemu-x86_64`, `qemu-aarch64`, `oci`, ...
    pub board: String,
}

/// Values that a condition may name, so that a misspelt one is an error and not a layer that never applies.
const KNOWN: [(&str, &[&str]); 4] = [
    ("libc", &["musl", "glibc"]),
    ("architecture", &["x86_64", "aarch64"]),
    ("toolchain", &["zig", "gcc", "clang"]),
    ("board", &["qemu-x86_64", "qemu-aarch64", "oci", "rpi4"]),
];

/// For which targets; each list that is not empty must have the target's value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// C libraries.
    pub libc: Vec<String>,
    /// Processors.
    pub architecture: Vec<String>,
    /// Compilers.
    pub toolchain: Vec<String>,
    /// Boards.
    pub board: Vec<String>,
}

impl Condition {
    /// The table `when`; no table is no condition.
    ///
    /// # Errors
    /// If it names a value that nothing has.
    pub(crate) fn read(table: Option<Fields>) -> Result<Condition, RecipeError> {
        let Some(table) = table else { return Ok(Condition::default()) };
        let read = |index: usize| -> Result<Vec<String>, RecipeError> {
            let (key, known) = KNOWN[index];
            let values = table.list(key)?;
            for value in &values {
                if !known.contains(&value.value.as_str()) {
                    let reason = format!("unknown {key} `{}`: expected one of {}", value.value, known.join(", "));
                    return Err(RecipeError::of(&value.origin, reason));
                }
            }
            Ok(values.into_iter().map(|value| value.value).collect())
        };
        let condition = Condition { libc: read(0)?, architecture: read(1)?, toolchain: read(2)?, board: read(3)? };
        table.finish()?;
        if condition == Condition::default() {
            return Err(RecipeError::of(
                table.origin(),
                "this condition names nothing: remove it, or say libc, architecture, toolchain or board",
            ));
        }
        Ok(condition)
    }

    /// Whether it is true.
    #[must_use]
    pub fn holds(&self, selection: &Selection) -> bool {
        let has = |list: &[String], value: &str| list.is_empty() || list.iter().any(|item| item == value);
        has(&self.libc, &selection.libc)
            && has(&self.architecture, &selection.architecture)
            && has(&self.toolchain, &selection.toolchain)
            && has(&self.board, &selection.board)
    }
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Of its folder.
    pub name: String,
    /// Later ones lie over earlier ones.
    pub order: i64,
    /// When it is selected.
    pub when: Condition,
    /// Where it is.
    pub origin: Origin,
    /// By name.
    pub recipes: BTreeMap<String, Recipe>,
    /// In the order of their names.
    pub appends: Vec<Append>,
    /// By name.
    pub images: BTreeMap<String, ImageRecipe>,
}

/// What every layer has.
const LAYER: &str = "layer.toml";

impl Layer {
    /// Reads all of a layer.
    ///
    /// # Errors
    /// If a file of it is wrong, or there is nothing in it.
    pub fn read(files: &Files) -> Result<Layer, RecipeError> {
        let head = Path::new(LAYER);
        if !files.all.contains_key(head) {
            return Err(RecipeError::at(&files.shown(head), 1, "it is missing: a layer says its `order` in it"));
        }
        let fields = files.fields(head)?;
        let order = fields.required("order")?;
        let number = order.value.parse().map_err(|_| {
            RecipeError::of(&order.origin, format!("invalid order `{}`: expected a whole number", order.value))
        })?;
        let when = Condition::read(fields.table("when")?)?;
        fields.finish()?;
        let mut layer = Layer {
            name: files.layer.clone(),
            order: number,
            when,
            origin: fields.origin().clone(),
            recipes: BTreeMap::new(),
            appends: Vec::new(),
            images: BTreeMap::new(),
        };
        for path in files.all.keys().filter(|path| *path != head && files.is_ours(path)) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.ends_with(Append::ENDING) {
                layer.appends.push(Append::read(files, path)?);
            } else if name.ends_with(ImageRecipe::ENDING) {
                let image = ImageRecipe::read(files, path)?;
                layer.images.insert(image.name.clone(), image);
            } else {
                let recipe = Recipe::read(files, path)?;
                if let Some(first) = layer.recipes.insert(recipe.name.clone(), recipe.clone()) {
                    return Err(twice("recipe", &recipe.name, &first.version, &recipe.version));
                }
            }
        }
        if layer.recipes.is_empty() && layer.appends.is_empty() && layer.images.is_empty() {
            return Err(RecipeError::of(
                &layer.origin,
                "this layer selects nothing: it has no recipe, append or image",
            ));
        }
        Ok(layer)
    }
}

fn twice(what: &str, name: &str, first: &Given<String>, second: &Given<String>) -> RecipeError {
    RecipeError::Twice {
        key: what.to_owned(),
        recipe: name.to_owned(),
        first: Box::new(first.origin.clone()),
        second: Box::new(second.origin.clone()),
    }
}

/// All layers, in their order.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    all: Vec<Layer>,
}

impl Layers {
    /// underpin's own, and folders of the user's.
    ///
    /// # Errors
    /// If one cannot be read, two have a recipe of one name, or an append is for nothing.
    pub fn read(folders: &[impl AsRef<Path>]) -> Result<Layers, RecipeError> {
        let mut all = Files::carried();
        for folder in folders {
            all.push(Files::read(folder.as_ref())?);
        }
        Layers::of(&all)
    }

    /// Of these alone.
    ///
    /// # Errors
    /// As for [`Layers::read`].
    pub fn of(all: &[Files]) -> Result<Layers, RecipeError> {
        let mut layers: Vec<Layer> = all.iter().map(Layer::read).collect::<Result<_, _>>()?;
        layers.sort_by_key(|layer| layer.order);
        let layers = Layers { all: layers };
        layers.distinct()?;
        layers.useful()?;
        Ok(layers)
    }

    /// A recipe of the same name in two layers hides one of them: an append says what differs.
    fn distinct(&self) -> Result<(), RecipeError> {
        let mut seen: BTreeMap<&str, &Recipe> = BTreeMap::new();
        for recipe in self.recipes() {
            if let Some(first) = seen.insert(&recipe.name, recipe) {
                return Err(twice("the recipe", &recipe.name, &first.version, &recipe.version));
            }
        }
        Ok(())
    }

    /// An append that no recipe is for was written for something: its name or version no longer fits.
    fn useful(&self) -> Result<(), RecipeError> {
        for append in self.all.iter().flat_map(|layer| &layer.appends) {
            let reason = match self.recipe(&append.recipe) {
                None => format!("this append selects nothing: no layer has a recipe `{}`", append.recipe),
                Some(recipe) if !append.is_for(&recipe.version.value) => format!(
                    "this append selects nothing: {} is {} ({})",
                    recipe.name, recipe.version.value, recipe.version.origin
                ),
                Some(_) => continue,
            };
            return Err(RecipeError::at(&append.file, 1, reason));
        }
        Ok(())
    }

    /// All layers.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.all.iter()
    }

    /// All recipes, in the layers' order.
    pub fn recipes(&self) -> impl Iterator<Item = &Recipe> {
        self.all.iter().flat_map(|layer| layer.recipes.values())
    }

    /// A recipe by name.
    #[must_use]
    pub fn recipe(&self, name: &str) -> Option<&Recipe> {
        self.recipes().find(|recipe| recipe.name == name)
    }

    /// An image by name.
    #[must_use]
    pub fn image(&self, name: &str) -> Option<&ImageRecipe> {
        self.all.iter().rev().find_map(|layer| layer.images.get(name))
    }
}

#[cfg(test)]
mod tests;
