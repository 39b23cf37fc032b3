//! What programs would load after the binding, determined before any byte is written; names that would change it are
//! left alone.

use super::originals::LIMIT;
use crate::bytes::{Rewrite, rewrite};
use crate::plan::decide::candidates::left;
use crate::plan::decide::facts::{Catalogue, file_name};
use crate::plan::decide::late::left as left_names;
use crate::plan::decide::resolutions::{Resolutions, leave_to_strangers};
use crate::plan::decide::signature::ClosureSignature;
use crate::plan::decide::view::View;
use crate::plan::model::{
    BindPlan, CallSum, Decision, Difference, Farm, LeftAlone, LeftName, ObjectPlan, RefusedBecause, RefusedObject,
};
use bstr::{BStr, BString};
use rayon::prelude::*;
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use underpin_resolve::root::PatchedSource;
use underpin_resolve::{Depth, Environment, FileId, OverlayRoot, Resolver, Root};

/// A view after the binding.
pub(in crate::plan) struct After {
    pub calls: CallSum,
    pub differences: Vec<Difference>,
    pub left: Vec<LeftName>,
}

/// Fills in the bytes of every object that changes, and returns those that cannot be rewritten. Results of an earlier
/// round are reused if the edits are the same.
pub(in crate::plan) fn rewrite_all(
    root: &dyn Root,
    objects: &mut [ObjectPlan],
    earlier: &HashMap<FileId, ObjectPlan>,
) -> Vec<(FileId, RefusedObject)> {
    let one = |object: &mut ObjectPlan| {
        if object.edits.is_empty() {
            return None;
        }
        let same = |known: &&ObjectPlan| known.edits == object.edits && known.bound == object.bound;
        if let Some(known) = earlier.get(&object.id).filter(same) {
            object.rewrite = known.rewrite.clone();
            return None;
        }
        let because = match root.read(object.path.as_ref(), LIMIT) {
            Err(error) => RefusedBecause::Unreadable { error: error.to_string() },
            Ok(original) => match rewrite(&original, &object.edits, &object.options) {
                Ok(made) => {
                    object.rewrite = Some(made);
                    return None;
                }
                Err(refusal) => RefusedBecause::Bytes { refusal },
            },
        };
        Some((object.id, RefusedObject { path: object.path.clone(), because }))
    };
    objects.par_iter_mut().filter_map(one).collect()
}

/// A root on which the plan is carried out.
pub(in crate::plan) fn carried_out<'r, 'f>(
    root: &'r dyn Root,
    objects: &[ObjectPlan],
    farms: impl IntoIterator<Item = &'f Farm>,
) -> OverlayRoot<'r> {
    let mut after = OverlayRoot::new(root);
    for object in objects {
        let Some(made) = &object.rewrite else { continue };
        if let Ok(opened) = root.open(object.path.as_ref()) {
            after.change(object.id, Arc::new(patched(opened.source, made)));
        }
    }
    for farm in farms {
        let directory = farm.directory.as_str().into();
        after.directory(directory);
        for link in &farm.links {
            after.link(directory, link.name.as_str().into(), link.target.as_str().into());
        }
    }
    after
}

impl BindPlan {
    /// A root on which this plan, made for `root`, is carried out: what programs would load then.
    #[must_use]
    pub fn carried_out<'r>(&self, root: &'r dyn Root) -> OverlayRoot<'r> {
        carried_out(root, &self.objects, &self.farms)
    }
}

fn patched(base: underpin_resolve::root::SharedSource, made: &Rewrite) -> PatchedSource {
    let patches = made.patches.iter().map(|patch| (patch.offset.0, patch.bytes.clone())).collect();
    PatchedSource::new(base, made.kept, patches, made.appended.clone())
}

/// Resolves every view again.
pub(in crate::plan) fn look_again<V: Borrow<View> + Sync>(
    root: &dyn Root,
    environment: &Environment,
    views: &[V],
) -> Vec<After> {
    let resolver = Resolver::new(root, environment.clone());
    let again = |view: &V| {
        let view: &View = view.borrow();
        match resolver.resolve(view.path.as_ref(), Depth::Findings) {
            Ok(closure) => {
                let differences = view.signature.differences(&ClosureSignature::of(&closure, view.is_program));
                After { calls: CallSum::of(&closure), differences, left: left_names(&closure) }
            }
            Err(error) => {
                let differences = vec![Difference::Unresolvable { error: error.to_string() }];
                After { calls: CallSum::default(), differences, left: Vec::new() }
            }
        }
    };
    views.par_iter().map(again).collect()
}

/// Unbinds what leads to differences: first the names that the differences mention, and if that changes nothing, all
/// names of the view's files. Returns whether anything was unbound.
pub(in crate::plan) fn withdraw(
    resolutions: &mut Resolutions,
    views: &[View],
    after: &[After],
    catalogue: &Catalogue,
) -> bool {
    let mut withdrawn = false;
    for (view, after) in views.iter().zip(after).filter(|(_, after)| !after.differences.is_empty()) {
        let spoken: HashSet<BString> = after.differences.iter().flat_map(Difference::names).collect();
        let reason = || LeftAlone::WouldChange {
            difference: after.differences.first().map(ToString::to_string).unwrap_or_default(),
        };
        let members: HashSet<FileId> = view.members.iter().map(|member| member.id).collect();
        let is_spoken = |name: &BStr, path: &str, soname: Option<&BString>| {
            let known = |text: &BStr| spoken.contains(&BString::from(file_name(text)));
            known(name) || known(path.into()) || soname.is_some_and(|soname| known(soname.as_ref()))
        };
        let mut unbind = |only_spoken: bool| {
            let mut count = 0;
            for ((file, name), resolution) in resolutions.iter_mut().filter(|((file, _), _)| members.contains(file)) {
                let Decision::Becomes { path, soname, .. } = &resolution.decision else { continue };
                if !only_spoken || is_spoken(name.as_ref(), path, soname.as_ref()) {
                    debug_assert!(members.contains(file));
                    *resolution = left(reason(), resolution.programs);
                    count += 1;
                }
            }
            count > 0
        };
        withdrawn |= unbind(true) || unbind(false);
    }
    leave_to_strangers(resolutions, views, catalogue);
    withdrawn
}

impl Difference {
    /// File names of the objects that it mentions.
    fn names(&self) -> Vec<BString> {
        let texts: Vec<&BString> = match self {
            Difference::Gone { path } | Difference::Added { path } => vec![path],
            Difference::Replaced { before, after }
            | Difference::LoadOrder { before, after, .. }
            | Difference::InitialiserOrder { before, after, .. } => vec![before, after],
            Difference::NowMissing { name, .. } | Difference::NowFound { name } => vec![name],
            Difference::VersionFile { file, .. } => vec![file],
            Difference::Version { .. } | Difference::Loader { .. } | Difference::Unresolvable { .. } => Vec::new(),
        };
        texts.into_iter().map(|text| file_name(text.as_ref()).to_owned()).collect()
    }
}
