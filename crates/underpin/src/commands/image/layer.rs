//! `underpin image layer`: what recipes are when the layers lie over them, and how appends stand to the sources.

use super::packages::packages;
use super::tools::Toolbox;
use crate::cli::{ImageLayerAction, ImageLayerArgs};
use crate::exit::Exit;
use crate::plan::image_store;
use crate::screen::Screen;
use underpin_image::ImageError;
use underpin_image::layer::{Layer, Layers};
use underpin_image::package::{PatchCheck, check_change};
use underpin_image::recipe::{Change, Given, Origin, RecipeError, Resolved};
use underpin_image::store::{Access, Store};
use underpin_report::document::image_layer::{ImageChange, ImageLayer, ImageRecipeLine};
use underpin_report::{ImageLayerDocument, text};

/// Shows or checks.
///
/// # Errors
/// If a layer is wrong, or sources cannot be fetched.
pub fn run(args: &ImageLayerArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
    let layers = Layers::read(&args.layer)?;
    let toolbox = Toolbox::new(args.libc, args.target.as_deref(), args.toolchain, &layers)?;
    let board = args.target.as_deref().unwrap_or(toolbox.target.name());
    if let Some(name) = args.name.as_ref().filter(|name| layers.recipe(name).is_none()) {
        return Err(RecipeError::Unknown { name: name.clone(), by: None }.into());
    }
    let resolved = args.name.as_ref().map(|name| layers.resolve(name, &toolbox.selection)).transpose()?;
    let changes = match args.action {
        ImageLayerAction::Show => None,
        ImageLayerAction::Check => Some(Check { args, layers: &layers, toolbox: &toolbox }.all()?),
    };
    let document = ImageLayerDocument {
        schema: underpin_report::document::SchemaTag::new(),
        target: format!("{} on {}, {}", args.libc.name(), board, toolbox.selection.toolchain),
        layers: layers.layers().map(|layer| listed(layer, &toolbox)).collect(),
        lines: resolved.as_ref().map(lines).unwrap_or_default(),
        recipe: resolved.map(|resolved| resolved.recipe.name),
        changes,
    };
    if args.display.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::image_layer(&document, &screen.view(args.display.verbose)));
    }
    let stale = |change: &ImageChange| {
        change.applies.as_deref().is_some_and(|applies| applies != "yes") || change.needed == Some(false)
    };
    let finding = document.changes.is_some_and(|changes| changes.iter().any(stale));
    Ok(if finding { Exit::Finding } else { Exit::Fine })
}

fn listed(layer: &Layer, toolbox: &Toolbox) -> ImageLayer {
    ImageLayer {
        name: layer.name.clone(),
        order: layer.order,
        selected: layer.when.holds(&toolbox.selection),
        recipes: layer.recipes.keys().cloned().collect(),
        images: layer.images.keys().cloned().collect(),
        appends: layer.appends.len(),
    }
}

fn line(key: &str, value: impl Into<String>, origin: &Origin) -> ImageRecipeLine {
    ImageRecipeLine { key: key.to_owned(), value: value.into(), layer: origin.layer.clone(), at: origin.to_string() }
}

/// Every value of a recipe and who gave it.
fn lines(recipe: &Resolved) -> Vec<ImageRecipeLine> {
    let mut all = vec![
        line("version", &recipe.version.value, &recipe.version.origin),
        line("licence", &recipe.licence.value, &recipe.licence.origin),
        line("source", recipe.source.value.words(), &recipe.source.origin),
        line("build", recipe.system.value.name(), &recipe.system.origin),
    ];
    let lists: [(&str, &[Given<String>]); 6] = [
        ("needs", &recipe.needs),
        ("flags.c", &recipe.c_flags),
        ("flags.ld", &recipe.ld_flags),
        ("make", &recipe.make),
        ("install", &recipe.install),
        ("image", &recipe.image),
    ];
    for (key, list) in lists {
        all.extend(list.iter().map(|item| line(key, &item.value, &item.origin)));
    }
    let maps = [("config", &recipe.config), ("cache", &recipe.cache), ("take", &recipe.take), ("links", &recipe.links)];
    for (table, map) in maps {
        all.extend(map.iter().map(|(key, item)| line(&format!("{table}.{key}"), &item.value, &item.origin)));
    }
    let size = |bytes: &Vec<u8>| format!("{} bytes", bytes.len());
    all.extend(recipe.files.iter().map(|(path, file)| line(&format!("files.{path}"), size(&file.value), &file.origin)));
    let patch = |patch: &Given<underpin_image::recipe::Patch>| {
        line("patches", patch.value.file.display().to_string(), &patch.origin)
    };
    all.extend(recipe.patches.iter().map(patch));
    all
}

struct Check<'a> {
    args: &'a ImageLayerArgs,
    layers: &'a Layers,
    toolbox: &'a Toolbox,
}

impl Check<'_> {
    fn all(&self) -> anyhow::Result<Vec<ImageChange>> {
        let store = image_store()?;
        let names: Vec<String> = self.layers.recipes().map(|recipe| recipe.name.clone()).collect();
        let mut all = Vec::new();
        for name in names.iter().filter(|name| self.args.name.as_ref().is_none_or(|wanted| wanted == *name)) {
            let recipe = self.layers.resolve(name, &self.toolbox.selection)?;
            for change in recipe.appends.iter().flat_map(|append| &append.changes) {
                all.push(self.change(&recipe, change, &store)?);
            }
        }
        Ok(all)
    }

    fn access(&self) -> Access {
        if self.args.offline { Access::Offline } else { Access::Online }
    }

    fn change(&self, recipe: &Resolved, change: &Change, store: &Store) -> anyhow::Result<ImageChange> {
        let (patches, cause_holds) = check_change(recipe, change, store, self.access(), self.toolbox.target.debian())?;
        let applies = (!patches.is_empty()).then(|| {
            let wrong = patches.iter().find(|check| **check != PatchCheck::Applies);
            match wrong {
                None => "yes".to_owned(),
                Some(PatchCheck::Upstream) => "the sources have it already".to_owned(),
                Some(PatchCheck::Fails(hunk)) => hunk.clone(),
                Some(PatchCheck::Applies) => String::new(),
            }
        });
        let needed = if self.args.rebuild { Some(self.needed(recipe, change, store)?) } else { None };
        Ok(ImageChange {
            recipe: recipe.name.clone(),
            at: change.origin.to_string(),
            cause: change.cause.name().to_owned(),
            why: change.why.clone(),
            applies,
            cause_holds,
            needed,
        })
    }

    /// Whether the package fails without it.
    fn needed(&self, recipe: &Resolved, change: &Change, store: &Store) -> anyhow::Result<bool> {
        let without = self.layers.resolve_without(&recipe.name, &self.toolbox.selection, Some(&change.origin))?;
        let mut all = self.layers.closure(&without.needs, &self.toolbox.selection)?;
        all.push(without);
        match packages(&all, self.toolbox, store, self.access()) {
            Ok(_) => Ok(false),
            Err(error) => match error.downcast_ref::<ImageError>() {
                Some(ImageError::Build { .. } | ImageError::Recipe(_)) => Ok(true),
                _ => Err(error),
            },
        }
    }
}
