//! From a scope to a plan: originals, closures, candidates, resolutions, edits, and a check of every closure.

use super::decide::candidates::Candidates;
use super::decide::facts::{Catalogue, Facts, is_searched_by};
use super::decide::ground::{Ground, Target};
use super::decide::late::late;
use super::decide::object::{names_of, object_plan};
use super::decide::resolutions::{Resolutions, decide, leave_to_strangers};
use super::decide::search::Narrower;
use super::decide::view::View;
use super::decide::whole::{Maker, Whole, site};
use super::model::{
    BindPlan, Decision, EdgePlan, Farm, Late, LeftAlone, ObjectPlan, Origin, ProgramPlan, RefusedBecause,
    RefusedObject, add_farm,
};
use super::policy::{Policy, Shape};
use super::preview::after::{After, carried_out, look_again, rewrite_all, withdraw};
use super::preview::originals::Originals;
use super::scope::{Scope, ScopeFile};
use crate::edits::SearchPathEdit;
use bstr::{BStr, BString};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use underpin_resolve::{Depth, Environment, FileId, ResolveError, Resolver, Root};

/// The most rounds in which a plan is made again with less in it; each round removes something, and two are usual.
const ROUNDS: usize = 12;

/// Makes plans against one root.
pub struct Planner<'r> {
    root: &'r dyn Root,
    environment: Environment,
    policy: Policy,
}

impl<'r> Planner<'r> {
    /// Plans for the programs under `root` as they are started in `environment`; LD_PRELOAD is ignored, since what it
    /// loads does not belong to a program.
    #[must_use]
    pub fn new(root: &'r dyn Root, mut environment: Environment, policy: Policy) -> Planner<'r> {
        environment.preload = None;
        Planner { root, environment, policy }
    }

    /// The plan for the files of a scope. Nothing is written and nothing is run.
    #[must_use]
    pub fn plan(&self, scope: &Scope) -> BindPlan {
        let originals = Originals::of(self.root, scope);
        let mut refused = originals.refused.clone();
        let ground = self.ground(scope, &originals, &mut refused);
        let mut plan = match self.policy.shape {
            Shape::PerObject => self.per_object(&ground, &mut refused),
            Shape::Flatten | Shape::Farm | Shape::Relative => self.whole(&ground, &mut refused),
        };
        refused.sort_by(|one, other| one.path.cmp(&other.path));
        plan.refused = refused;
        plan
    }

    fn ground<'a>(
        &self,
        scope: &'a Scope,
        originals: &'a Originals<'r>,
        refused: &mut Vec<RefusedObject>,
    ) -> Ground<'a> {
        let catalogue = Catalogue::new(&originals.root);
        let mut targets = Vec::new();
        let files = scope.files.iter().filter(|file| !originals.lost.contains(&file.id));
        let files: Vec<&ScopeFile> = files.collect();
        let known: Vec<Option<Arc<Facts>>> =
            files.par_iter().map(|file| catalogue.of(file.id, file.path.as_ref())).collect();
        for (file, facts) in files.into_iter().zip(known) {
            let because = match facts {
                None => RefusedBecause::Unreadable { error: "no ELF file any more".to_owned() },
                Some(facts) if facts.is_static_pie() => RefusedBecause::Bytes { refusal: crate::Refusal::StaticPie },
                Some(facts) => {
                    targets.push(Target { file, facts });
                    continue;
                }
            };
            refused.push(RefusedObject { path: file.path.clone(), because });
        }
        let ids: HashSet<FileId> = targets.iter().map(|target| target.file.id).collect();
        let views = self.views(&originals.root, &targets, &catalogue, &ids, refused);
        Ground {
            root: &originals.root,
            catalogue,
            targets,
            views,
            ids,
            bound: originals.bound.clone(),
            tops: &scope.tops,
        }
    }

    /// A view per program; then one per file that none of them loads.
    fn views(
        &self,
        root: &dyn Root,
        targets: &[Target],
        catalogue: &Catalogue,
        ids: &HashSet<FileId>,
        refused: &mut Vec<RefusedObject>,
    ) -> Vec<View> {
        let resolver = Resolver::new(root, self.environment.clone());
        let plain = self.environment.library_path.is_some() && self.policy.built_in.library_path;
        let plain = plain.then(|| Resolver::new(root, Environment { library_path: None, ..self.environment.clone() }));
        let view = |target: &Target, is_program: bool| -> Result<View, ResolveError> {
            let path: &BStr = target.file.path.as_ref();
            let resolve = |resolver: &Resolver| {
                resolver.resolve(path, Depth::Findings).map(|closure| View::of(&closure, catalogue, ids, is_program))
            };
            let mut view = resolve(&resolver)?;
            if let Some(plain) = &plain {
                view.without_library_path(&resolve(plain)?);
            }
            Ok(view)
        };
        let mut take = |targets: &[&Target], is_program: bool, views: &mut Vec<View>| {
            let made: Vec<Result<View, ResolveError>> =
                targets.par_iter().map(|target| view(target, is_program)).collect();
            for (target, made) in targets.iter().zip(made) {
                let because = match made {
                    Ok(view) => {
                        let because = view.refused.clone().filter(|_| is_program);
                        views.push(view);
                        because
                    }
                    Err(error) => Some(RefusedBecause::Unreadable { error: error.to_string() }),
                };
                refused.extend(because.map(|because| RefusedObject { path: target.file.path.clone(), because }));
            }
        };
        let mut views = Vec::new();
        let programs: Vec<&Target> = targets.iter().filter(|target| target.facts.is_program).collect();
        take(&programs, true, &mut views);
        let loaded = Candidates::loaded_by_programs(&views);
        let plugin = |target: &&Target| !target.facts.is_program && !loaded.contains(&target.file.id);
        let plugins: Vec<&Target> = targets.iter().filter(plugin).collect();
        take(&plugins, false, &mut views);
        views
    }

    /// Every object names its own dependencies by path. The plan is made again with less in it until no closure
    /// differs.
    fn per_object(&self, ground: &Ground, refused: &mut Vec<RefusedObject>) -> BindPlan {
        let narrower = Narrower::new(ground, &self.policy);
        let candidates = Candidates::of(&ground.views, &ground.catalogue, &self.policy, &ground.ids);
        let names: Vec<(FileId, BString)> = ground
            .targets
            .iter()
            .flat_map(|target| names_of(&target.facts).into_iter().map(|(name, _)| (target.file.id, name)))
            .collect();
        let mut resolutions = decide(&candidates, &names, &ground.views, &ground.catalogue);
        let mut out: HashSet<FileId> =
            ground.views.iter().filter(|view| view.refused.is_some()).map(|view| view.id).collect();
        let mut earlier: HashMap<FileId, ObjectPlan> = HashMap::new();
        let mut round = 0;
        // Rounds only remove: a refused file stays refused, and a name that is left alone is never bound again. So the
        // loop ends, and what an earlier round rewrote with the same edits can be kept.
        loop {
            round += 1;
            resolutions.retain(|(file, _), _| !out.contains(file));
            // A refused file requests by its old names again: objects that answer to those may not be bound by path.
            leave_to_strangers(&mut resolutions, &ground.views, &ground.catalogue);
            let mut objects = self.objects(ground, &resolutions, &candidates, &out, &narrower);
            let failed = rewrite_all(ground.root, &mut objects, &earlier);
            if !failed.is_empty() && round < ROUNDS {
                for (id, because) in failed {
                    out.insert(id);
                    refused.push(because);
                }
                earlier = objects.into_iter().map(|object| (object.id, object)).collect();
                continue;
            }
            // The last check is of the objects as they are returned: no edit may follow it.
            let farms = farms(&narrower, ground, &objects);
            let after = look_again(&carried_out(ground.root, &objects, &farms), &self.environment, &ground.views);
            if round < ROUNDS && withdraw(&mut resolutions, &ground.views, &after, &ground.catalogue) {
                earlier = objects.into_iter().map(|object| (object.id, object)).collect();
                continue;
            }
            return self.finish(ground, objects, farms, after, &narrower);
        }
    }

    fn objects(
        &self,
        ground: &Ground,
        resolutions: &Resolutions,
        candidates: &Candidates,
        out: &HashSet<FileId>,
        narrower: &Narrower,
    ) -> Vec<ObjectPlan> {
        let mut musl: HashMap<FileId, bool> = HashMap::new();
        for view in &ground.views {
            for member in &view.members {
                *musl.entry(member.id).or_default() |= view.is_musl();
            }
        }
        let targets: Vec<&Target> = ground.targets.iter().filter(|target| !out.contains(&target.file.id)).collect();
        let mut objects: Vec<ObjectPlan> = targets
            .par_iter()
            .map(|target| {
                let glibc_only = musl.get(&target.file.id) == Some(&false);
                let mut object =
                    object_plan(target.file, &target.facts, resolutions, candidates, &self.policy, glibc_only);
                if object.edits.search_path == SearchPathEdit::Keep && is_searched(target, &object, glibc_only) {
                    object.edits.search_path = narrower.edit(target).map_or(SearchPathEdit::Keep, |(edit, _)| edit);
                }
                object
            })
            .collect();
        let changing: HashSet<BString> = objects
            .iter()
            .filter(|object| !object.edits.is_empty())
            .flat_map(|object| std::iter::once(&object.path).chain(&object.hard_links).cloned())
            .collect();
        for object in &mut objects {
            object.bound_before = ground.bound.contains(&object.id);
            // The modification time of a file that this very plan changes is meaningless, and would differ in the next
            // plan.
            for bound in object.bound.iter_mut().chain(&mut object.options.bound) {
                let path: &BStr = bound.path.as_str().into();
                let real = ground.root.real_path(path).unwrap_or_else(|_| path.into());
                if changing.contains(&real) {
                    bound.modified = 0;
                }
            }
        }
        objects
    }

    /// Every program names its whole closure; libraries stay unchanged.
    fn whole(&self, ground: &Ground, refused: &mut Vec<RefusedObject>) -> BindPlan {
        let candidates = Candidates::of(&ground.views, &ground.catalogue, &self.policy, &ground.ids);
        let narrower = Narrower::new(ground, &self.policy);
        let maker = Maker { ground, candidates: &candidates, policy: &self.policy, narrower: &narrower };
        let targets: HashMap<FileId, &Target> = ground.targets.iter().map(|target| (target.file.id, target)).collect();
        let mut made: Vec<(&View, Whole)> = Vec::new();
        for view in ground.views.iter().filter(|view| view.is_program && view.refused.is_none()) {
            let Some(target) = targets.get(&view.id) else { continue };
            let whole = site(&maker, view, target).and_then(|site| maker.program(view, target, site.as_ref()));
            match whole {
                Ok(whole) => made.push((view, whole)),
                Err(because) => refused.push(RefusedObject { path: target.file.path.clone(), because }),
            }
        }
        let mut objects: Vec<ObjectPlan> = made.iter().map(|(_, whole)| whole.object.clone()).collect();
        let failed: HashMap<FileId, RefusedObject> =
            rewrite_all(ground.root, &mut objects, &HashMap::new()).into_iter().collect();
        let farms = made.iter().filter_map(|(_, whole)| whole.farm.as_ref());
        let root = carried_out(ground.root, &objects, farms);
        let views: Vec<&View> = made.iter().map(|(view, _)| *view).collect();
        let after = look_again(&root, &self.environment, &views);
        let mut plan = BindPlan::new(self.policy.shape);
        for (((view, whole), object), after) in made.into_iter().zip(objects).zip(after) {
            if let Some(because) = failed.get(&object.id) {
                refused.push(because.clone());
            } else if !after.differences.is_empty() {
                let because = RefusedBecause::WouldChange { differences: after.differences };
                refused.push(RefusedObject { path: object.path, because });
            } else {
                let late = late(&narrower, view, &HashMap::from([(object.id, &object)]));
                plan.programs.push(ProgramPlan { notes: whole.notes, ..program(view, after, late) });
                plan.objects.push(object);
                whole.farm.into_iter().for_each(|farm| add_farm(&mut plan.farms, farm));
            }
        }
        plan
    }

    fn finish(
        &self,
        ground: &Ground,
        objects: Vec<ObjectPlan>,
        farms: Vec<Farm>,
        after: Vec<After>,
        narrower: &Narrower,
    ) -> BindPlan {
        let by_id: HashMap<FileId, &ObjectPlan> = objects.iter().map(|object| (object.id, object)).collect();
        let pairs = ground.views.iter().zip(after).filter(|(view, _)| view.is_program);
        let programs = pairs.map(|(view, after)| program(view, after, late(narrower, view, &by_id))).collect();
        BindPlan { programs, farms, objects, ..BindPlan::new(self.policy.shape) }
    }
}

/// Whether a search still uses a file's own list when its names are bound.
fn is_searched(target: &Target, object: &ObjectPlan, glibc_only: bool) -> bool {
    let is_left = |edge: &EdgePlan| {
        matches!(&edge.decision, Decision::LeftAlone { reason } if *reason != LeftAlone::Loader)
            && edge.origin == Origin::Needed
    };
    match is_searched_by(&target.facts.dynamic) {
        None => false,
        Some(inherited) => {
            inherited || !glibc_only || target.facts.searches_at_run_time() || object.edges.iter().any(is_left)
        }
    }
}

/// The farms of all files whose search path changes.
fn farms(narrower: &Narrower, ground: &Ground, objects: &[ObjectPlan]) -> Vec<Farm> {
    let targets: HashMap<FileId, &Target> = ground.targets.iter().map(|target| (target.file.id, target)).collect();
    let changed = |object: &&ObjectPlan| {
        object.rewrite.is_some()
            && matches!(object.edits.search_path, SearchPathEdit::Rpath(_) | SearchPathEdit::Runpath(_))
    };
    let mut all = Vec::new();
    for object in objects.iter().filter(changed) {
        let edit = targets.get(&object.id).and_then(|target| narrower.edit(target));
        edit.and_then(|(_, farm)| farm).into_iter().for_each(|farm| add_farm(&mut all, farm));
    }
    all
}

fn program(view: &View, after: After, late: Late) -> ProgramPlan {
    ProgramPlan {
        path: view.path.clone(),
        objects: view.members.len(),
        before: view.calls,
        after: Some(after.calls),
        differences: after.differences,
        late,
        left: after.left,
        notes: Vec::new(),
    }
}
