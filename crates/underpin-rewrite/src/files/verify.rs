//! Compares a rewritten file with its state before and with the plan: same objects, same order, nothing lost.
//!
//! For a program the loader's list must be the same, file for file and in order. A library alone does not show
//! everything: without a program's search path it may miss what bound names find, and take another object than every
//! program does. So for a library, bound names must lead to the planned objects, and no name may be missing that was
//! found before. The model must agree with the loader; if no loader can be asked, the model's answers before and after
//! are compared.

use super::{Disagreement, ListedObject, Listing, NotAsked, Opinion, Verifier};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use underpin_resolve::LoaderKind;

/// A name as it is in the rewritten file, and the object to which it must lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundName {
    /// The new name.
    pub name: String,
    /// The object, by any path.
    pub object: PathBuf,
}

/// What a rewritten file is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// What the loader said of the original.
    pub before: Opinion,
    /// What the model said of it; `None` if it could not read the file.
    pub model_before: Option<Listing>,
    /// Names that were bound.
    pub bound: Vec<BoundName>,
}

/// How a rewritten file was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    /// The real loader and the model of it agree with the state before.
    Loader {
        /// Objects in the list.
        objects: usize,
    },
    /// The model alone: no loader could be asked.
    ModelOnly {
        /// Why not.
        because: NotAsked,
        /// Objects in the list.
        objects: usize,
    },
}

impl Baseline {
    /// The answers of loader and model about the current file.
    #[must_use]
    pub fn of(verifier: &Verifier, original: &Path, bound: Vec<BoundName>) -> Baseline {
        let not_loadable = |error: &dyn std::fmt::Display| NotAsked::NotLoadable { reason: error.to_string() };
        match verifier.model(original) {
            Ok(closure) => Baseline {
                before: verifier.ask_about(original, &closure),
                model_before: Some(Listing::of_model(&closure)),
                bound,
            },
            Err(error) => Baseline { before: Opinion::NotAsked(not_loadable(&error)), model_before: None, bound },
        }
    }
}

/// Compares a rewritten file with what is expected of it. `copy` is where it is now, `target` where it will be.
///
/// # Errors
/// The first difference.
pub fn verify_rewritten(
    verifier: &Verifier,
    copy: &Path,
    target: &Path,
    baseline: &Baseline,
) -> Result<Verified, Disagreement> {
    let closure = verifier
        .model(copy)
        .map_err(|error| Disagreement::Unresolved { reason: in_place_of(copy, target, &error.to_string()) })?;
    let is_library = closure.loader.assumed;
    let model = Listing::of_model(&closure);
    let compare = |before: &Listing, now: &Listing| {
        let now = Listing {
            complaints: now.complaints.iter().map(|text| in_place_of(copy, target, text)).collect(),
            ..now.clone()
        };
        Comparison { before, now: &now, bound: &baseline.bound, is_library }.check()
    };
    match (&baseline.before, verifier.ask_about(copy, &closure)) {
        (Opinion::Heard(before), Opinion::Heard(now)) => {
            compare(before, &now)?;
            agree(&now, &model, closure.loader.kind)?;
            Ok(Verified::Loader { objects: now.objects.len() })
        }
        (Opinion::Heard(_), Opinion::NotAsked(because)) => Err(Disagreement::NotAskable(because)),
        (Opinion::NotAsked(_), Opinion::Heard(now)) => {
            agree(&now, &model, closure.loader.kind)?;
            compare(baseline.model_before.as_ref().unwrap_or(&now), &now)?;
            Ok(Verified::Loader { objects: now.objects.len() })
        }
        (Opinion::NotAsked(_), Opinion::NotAsked(because)) => {
            compare(baseline.model_before.as_ref().unwrap_or(&model), &model)?;
            Ok(Verified::ModelOnly { because, objects: model.objects.len() })
        }
    }
}

/// A loader's message, with the copy called by the name that it will have.
fn in_place_of(copy: &Path, target: &Path, text: &str) -> String {
    text.replace(&copy.display().to_string(), &target.display().to_string())
}

struct Comparison<'a> {
    before: &'a Listing,
    now: &'a Listing,
    bound: &'a [BoundName],
    is_library: bool,
}

impl Comparison<'_> {
    fn check(&self) -> Result<(), Disagreement> {
        if self.now.stopped && !self.before.stopped {
            let message = self.now.complaints.join("; ");
            return Err(Disagreement::Loader { message });
        }
        let lost = |name: &String| Disagreement::Lost { name: name.clone() };
        if let Some(name) = self.now.missing.iter().find(|name| !self.before.missing.contains(name)) {
            return Err(lost(name));
        }
        if !self.now.stopped {
            self.bound_names()?;
        }
        if self.is_library && self.other_objects() {
            // A bound library takes what its programs take and not what it would find alone: nothing more can be
            // compared.
            return Ok(());
        }
        if let Some(object) = self.before.objects.iter().find(|object| !holds(self.now, object)) {
            return Err(lost(&object.name));
        }
        if !self.is_library || self.before.missing.len() == self.now.missing.len() {
            same_order(&self.before.objects, &self.now.objects).map_err(|(position, before, now)| {
                Disagreement::Order { position, before: show(before), now: show(now) }
            })?;
        }
        self.complaints()
    }

    /// Checks that every bound name leads to its object.
    fn bound_names(&self) -> Result<(), Disagreement> {
        for bound in self.bound {
            let elsewhere = |found: String| Disagreement::BoundElsewhere {
                name: bound.name.clone(),
                planned: bound.object.clone(),
                found,
            };
            let Some(planned) = object_at(&bound.object) else { return Err(elsewhere("nothing".into())) };
            let by_name = self.now.objects.iter().find(|object| object.name == bound.name);
            match by_name {
                Some(found) if !found.same_file(&planned) => return Err(elsewhere(found.path.display().to_string())),
                None if !holds(self.now, &planned) => return Err(elsewhere("nothing".into())),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a bound name leads to an object that the original alone did not reach.
    fn other_objects(&self) -> bool {
        let reached = |bound: &BoundName| object_at(&bound.object).is_some_and(|object| holds(self.before, &object));
        !self.bound.iter().all(reached)
    }

    fn complaints(&self) -> Result<(), Disagreement> {
        match self.now.complaints.iter().find(|complaint| !self.before.complaints.contains(complaint)) {
            Some(complaint) => Err(Disagreement::Loader { message: complaint.clone() }),
            None => Ok(()),
        }
    }
}

/// Checks that loader and model have the same list. musl's own place in its list says nothing: it prints itself at the
/// first name that stands for it.
fn agree(loader: &Listing, model: &Listing, kind: LoaderKind) -> Result<(), Disagreement> {
    if loader.stopped || model.stopped {
        return if loader.stopped == model.stopped {
            Ok(())
        } else {
            let said = |stopped| if stopped { "it stops with an error" } else { "it goes on" }.to_owned();
            Err(Disagreement::ModelDiffers { position: 0, loader: said(loader.stopped), model: said(model.stopped) })
        };
    }
    let differs = |position, loader: String, model: String| Disagreement::ModelDiffers { position, loader, model };
    let listed = |listing: &Listing| -> Vec<ListedObject> {
        let is_musl = |object: &ListedObject| {
            kind == LoaderKind::Musl
                && object.path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"ld-musl-"))
        };
        listing.objects.iter().filter(|object| !is_musl(object)).cloned().collect()
    };
    same_order(&listed(loader), &listed(model))
        .map_err(|(position, loader, model)| differs(position, show(loader), show(model)))?;
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names.dedup();
        names
    };
    let (heard, modelled) = (sorted(&loader.missing), sorted(&model.missing));
    if heard == modelled {
        Ok(())
    } else {
        Err(differs(0, format!("missing {heard:?}"), format!("missing {modelled:?}")))
    }
}

type Place<'a> = (usize, Option<&'a ListedObject>, Option<&'a ListedObject>);

fn same_order<'a>(one: &'a [ListedObject], other: &'a [ListedObject]) -> Result<(), Place<'a>> {
    let mut index = 0;
    loop {
        match (one.get(index), other.get(index)) {
            (None, None) => return Ok(()),
            (Some(a), Some(b)) if a.same_file(b) => index += 1,
            (a, b) => return Err((index + 1, a, b)),
        }
    }
}

fn holds(listing: &Listing, object: &ListedObject) -> bool {
    listing.objects.iter().any(|other| other.same_file(object))
}

fn show(object: Option<&ListedObject>) -> String {
    object.map_or_else(|| "nothing".into(), |object| object.path.display().to_string())
}

/// The object at a path; `None` if nothing is there.
fn object_at(path: &Path) -> Option<ListedObject> {
    let status = fs::metadata(path).ok()?;
    Some(ListedObject {
        name: String::new(),
        path: path.into(),
        real_path: fs::canonicalize(path).ok()?,
        device: status.dev(),
        inode: status.ino(),
    })
}
