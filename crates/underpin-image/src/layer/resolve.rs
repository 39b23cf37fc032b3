//! A recipe with the appends that are for a target, and the order in which packages are built.

use super::{Layers, Selection};
use crate::recipe::{Append, Change, Given, Origin, Recipe, RecipeError, Resolved};
use std::collections::{BTreeMap, BTreeSet};

impl Layers {
    /// A recipe and what the layers lay over it for a target.
    ///
    /// # Errors
    /// If there is no such recipe, or two appends set one value.
    pub fn resolve(&self, name: &str, selection: &Selection) -> Result<Resolved, RecipeError> {
        self.resolve_without(name, selection, None)
    }

    /// The same without one change, to see whether it is needed.
    ///
    /// # Errors
    /// As for [`Layers::resolve`].
    pub fn resolve_without(
        &self,
        name: &str,
        selection: &Selection,
        without: Option<&Origin>,
    ) -> Result<Resolved, RecipeError> {
        let recipe = self.recipe(name).ok_or_else(|| RecipeError::Unknown { name: name.to_owned(), by: None })?;
        let (files, patches, appends) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut resolved = Resolved { recipe: recipe.clone(), files, patches, appends };
        let mut set: BTreeMap<(&'static str, String), Origin> = BTreeMap::new();
        for append in self.appends(recipe, selection) {
            let holds = |change: &&Change| change.when.holds(selection) && without != Some(&change.origin);
            let changes: Vec<Change> = append.changes.iter().filter(holds).cloned().collect();
            for change in &changes {
                lay(&mut resolved, change, &mut set)?;
            }
            if !changes.is_empty() {
                resolved.appends.push(Append { changes, ..append.clone() });
            }
        }
        Ok(resolved)
    }

    /// The appends of selected layers that are for a recipe, in their order.
    fn appends(&self, recipe: &Recipe, selection: &Selection) -> impl Iterator<Item = &Append> {
        let layers = self.all.iter().filter(|layer| layer.when.holds(selection));
        let appends = layers.flat_map(|layer| &layer.appends);
        appends.filter(|append| append.recipe == recipe.name && append.is_for(&recipe.version.value))
    }

    /// Recipes and all that they need, each after what it needs.
    ///
    /// # Errors
    /// If one is unknown or wrong, or they need each other.
    pub fn closure(&self, names: &[Given<String>], selection: &Selection) -> Result<Vec<Resolved>, RecipeError> {
        let mut order = Order { layers: self, selection, done: BTreeSet::new(), path: Vec::new(), all: Vec::new() };
        names.iter().try_for_each(|name| order.visit(name))?;
        Ok(order.all)
    }
}

/// An append lies over the recipe; what another append has set, it may not set again.
fn lay(
    resolved: &mut Resolved,
    change: &Change,
    set: &mut BTreeMap<(&'static str, String), Origin>,
) -> Result<(), RecipeError> {
    let recipe = resolved.name.clone();
    let mut once =
        |table: &'static str, key: &String, origin: &Origin| match set.insert((table, key.clone()), origin.clone()) {
            None => Ok(()),
            Some(first) => Err(RecipeError::Twice {
                key: format!("{table}.{key}"),
                recipe: recipe.clone(),
                first: Box::new(first),
                second: Box::new(origin.clone()),
            }),
        };
    for (key, value) in &change.config {
        once("config", key, &value.origin)?;
        resolved.recipe.config.insert(key.clone(), value.clone());
    }
    for (key, value) in &change.cache {
        once("cache", key, &value.origin)?;
        resolved.recipe.cache.insert(key.clone(), value.clone());
    }
    for (key, value) in &change.files {
        once("files", key, &value.origin)?;
        resolved.files.insert(key.clone(), value.clone());
    }
    resolved.recipe.c_flags.extend(change.c_flags.iter().cloned());
    resolved.recipe.ld_flags.extend(change.ld_flags.iter().cloned());
    resolved.recipe.needs.extend(change.needs.iter().cloned());
    resolved.patches.extend(change.patches.iter().cloned());
    Ok(())
}

struct Order<'a> {
    layers: &'a Layers,
    selection: &'a Selection,
    done: BTreeSet<String>,
    path: Vec<String>,
    all: Vec<Resolved>,
}

impl Order<'_> {
    fn visit(&mut self, name: &Given<String>) -> Result<(), RecipeError> {
        if self.done.contains(&name.value) {
            return Ok(());
        }
        if let Some(at) = self.path.iter().position(|open| *open == name.value) {
            let mut names = self.path[at..].to_vec();
            names.push(name.value.clone());
            return Err(RecipeError::Cycle { names, at: name.origin.clone() });
        }
        if self.layers.recipe(&name.value).is_none() {
            return Err(RecipeError::Unknown { name: name.value.clone(), by: Some(name.origin.clone()) });
        }
        let resolved = self.layers.resolve(&name.value, self.selection)?;
        self.path.push(name.value.clone());
        resolved.needs.iter().try_for_each(|need| self.visit(need))?;
        self.path.pop();
        self.done.insert(name.value.clone());
        self.all.push(resolved);
        Ok(())
    }
}
