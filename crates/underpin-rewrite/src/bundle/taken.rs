//! The contents of a bundle so far; an object of a closure is there once, under the one name that everything uses for
//! it.

use super::BundleError;
use super::model::{IncludedBecause, Item, Wish, file_name};
use bstr::{BStr, BString};
use std::collections::HashMap;
use underpin_resolve::{Closure, Depth, EdgeKind, ObjectId, Outcome, Resolver};

/// The contents so far.
#[derive(Default)]
pub(super) struct Taken {
    pub items: Vec<Item>,
    /// Symbolic links to make: the path, and the target.
    pub links: Vec<(BString, BString)>,
    /// Directories that the libraries of the closure come from.
    pub homes: Vec<BString>,
    /// Source paths by name in `lib/`.
    by_name: HashMap<BString, BString>,
}

impl Taken {
    /// Whether an object of this name is there already.
    pub fn has(&self, name: &BStr) -> bool {
        self.by_name.contains_key(name)
    }

    /// Adds the closure of the program.
    pub fn closure(&mut self, closure: &Closure, wish: &Wish<'_>) -> Result<(), BundleError> {
        let preloaded = |id: ObjectId| {
            let preload = |kind| matches!(kind, EdgeKind::LdPreload | EdgeKind::EtcPreload);
            closure.edges.iter().any(|edge| preload(edge.kind) && loaded(&edge.outcome) == Some(id))
        };
        for (index, object) in closure.objects.iter().enumerate() {
            let id = ObjectId(index);
            let by = object.requested_by.and_then(|by| closure.objects.get(by.0));
            let reason = match object.found {
                underpin_resolve::Found::Program => IncludedBecause::Program,
                underpin_resolve::Found::Interpreter => IncludedBecause::Loader,
                _ if preloaded(id) => continue,
                _ => IncludedBecause::Needed {
                    by: by.map_or_else(BString::default, |by| file_name(by.path.as_ref()).into()),
                },
            };
            let name = name_of(object, &closure.loader.path, &reason);
            if let Some(pattern) =
                wish.exclude.iter().find(|pattern| pattern.covers(name.as_ref(), None, name.as_ref()))
                && reason != IncludedBecause::Program
            {
                return Err(BundleError::Excluded { pattern: pattern.0.clone(), name });
            }
            self.object(closure, id, name, reason, wish)?;
        }
        Ok(())
    }

    /// Adds one object of a closure.
    fn object(
        &mut self,
        closure: &Closure,
        id: ObjectId,
        name: BString,
        reason: IncludedBecause,
        wish: &Wish<'_>,
    ) -> Result<(), BundleError> {
        let Some(object) = closure.objects.get(id.0) else { return Ok(()) };
        let is_program = reason == IncludedBecause::Program;
        let place =
            if is_program { [b"bin/", wish.name.as_slice()].concat() } else { [b"lib/", name.as_slice()].concat() };
        if !is_program && let Some(other) = self.by_name.insert(name.clone(), object.path.clone()) {
            let (one, other) = (object.path.clone(), other);
            return Err(BundleError::SameName { name, one, other });
        }
        self.items.push(Item {
            source: object.path.clone(),
            place: place.into(),
            reason,
            size: object.size,
            aliases: Vec::new(),
            renames: renames(closure, id),
            is_soname: object.soname.as_ref() == Some(&name),
            name: Some(name),
            content: None,
        });
        Ok(())
    }

    /// Adds a library that is opened later and what else it needs, as its own closure resolves it.
    pub fn library(
        &mut self,
        resolver: &Resolver<'_>,
        path: &BStr,
        reason: &IncludedBecause,
        wish: &Wish<'_>,
    ) -> Result<(), BundleError> {
        let closure = resolver.resolve(path, Depth::Load)?;
        for (index, object) in closure.objects.iter().enumerate() {
            let own = index == 0;
            let name = name_of(object, &closure.loader.path, reason);
            let is_loader = object.found == underpin_resolve::Found::Interpreter;
            if is_loader
                || self.has(name.as_ref())
                || wish.exclude.iter().any(|pattern| pattern.covers(name.as_ref(), None, name.as_ref()))
            {
                continue;
            }
            let by = file_name(path).into();
            let reason = if own { reason.clone() } else { IncludedBecause::NeededByTaken { by } };
            self.object(&closure, ObjectId(index), name, reason, wish)?;
        }
        Ok(())
    }

    /// Adds what a library needs, but not the library: that is copied to a place of its own.
    pub fn needs_of(&mut self, resolver: &Resolver<'_>, path: &BStr, wish: &Wish<'_>) -> Result<(), BundleError> {
        let closure = resolver.resolve(path, Depth::Load)?;
        for (index, object) in closure.objects.iter().enumerate().skip(1) {
            let name = name_of(object, &closure.loader.path, &IncludedBecause::Program);
            let is_loader = object.found == underpin_resolve::Found::Interpreter;
            if !is_loader && !self.has(name.as_ref()) {
                let reason = IncludedBecause::NeededByTaken { by: file_name(path).into() };
                self.object(&closure, ObjectId(index), name, reason, wish)?;
            }
        }
        Ok(())
    }
}

fn loaded(outcome: &Outcome) -> Option<ObjectId> {
    match outcome {
        Outcome::Loaded { object, .. } => Some(*object),
        _ => None,
    }
}

/// The one name that everything in the bundle uses for an object: its soname, or its file name.
fn name_of(object: &underpin_resolve::Object, loader: &BString, reason: &IncludedBecause) -> BString {
    match (&object.soname, reason) {
        (_, IncludedBecause::Loader) => file_name(loader.as_ref()).into(),
        (Some(soname), _) if !soname.contains(&b'/') && !soname.is_empty() => soname.clone(),
        _ => file_name(object.names.first().unwrap_or(&object.path).as_ref()).into(),
    }
}

/// Names in an object that differ from those of the objects they resolved to: absolute paths, and links.
fn renames(closure: &Closure, id: ObjectId) -> Vec<(BString, BString)> {
    let of = closure.edges.iter().filter(|edge| edge.from == id && !matches!(edge.kind, EdgeKind::Interpreter));
    let pairs = of.filter_map(|edge| {
        let object = closure.objects.get(loaded(&edge.outcome)?.0)?;
        let is_loader = object.found == underpin_resolve::Found::Interpreter;
        // The loader answers to its soname and to the text of PT_INTERP; other names for it stay unchanged.
        let name = if is_loader {
            edge.name.clone()
        } else {
            name_of(object, &closure.loader.path, &IncludedBecause::Program)
        };
        (name != edge.name).then(|| (edge.name.clone(), name))
    });
    pairs.collect()
}
