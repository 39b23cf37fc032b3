//! Shapes in which the program alone names its whole closure: flattened by path, or by name through a farm of links.
//!
//! If the program lists every object in load order, each is requested by the program first, so no library searches for
//! anything: what it needs is loaded, known by its soname. In a farm that also holds if libraries have a DT_RUNPATH of
//! their own, and the farm may be named by DT_RUNPATH, so that LD_LIBRARY_PATH comes first as before. Names that are
//! not bound keep their place in the order.

use super::candidates::{Bindable, Candidates, key_of};
use super::facts::{Facts, directory_of, file_name, is_below};
use super::ground::{Ground, Target};
use super::search::Narrower;
use super::site::{Site, tree_of};
use super::view::{Member, View};
use crate::edits::{BoundObject, Edits, Rename, RewriteOptions, SearchPathEdit};
use crate::plan::model::{
    Decision, EdgeNote, EdgePlan, Exclusion, Farm, LeftAlone, ObjectPlan, Origin, ProgramNote, RefusedBecause,
};
use crate::plan::policy::{Policy, Shape};
use bstr::{BStr, BString};
use underpin_resolve::LoaderKind;

/// One program's part of the plan.
pub(in crate::plan) struct Whole {
    pub object: ObjectPlan,
    pub farm: Option<Farm>,
    pub notes: Vec<ProgramNote>,
}

/// One object of the closure and how the program will name it.
struct Entry<'a> {
    member: &'a Member,
    /// What is in DT_NEEDED.
    text: BString,
    /// The object to bind to; `None` if the name is left alone.
    bindable: Option<&'a Bindable>,
    left: Option<LeftAlone>,
    /// Farm: whether it is found by a link of the same name.
    linked: bool,
}

pub(in crate::plan) struct Maker<'a> {
    pub ground: &'a Ground<'a>,
    pub candidates: &'a Candidates<'a>,
    pub policy: &'a Policy,
    pub narrower: &'a Narrower<'a>,
}

impl Maker<'_> {
    /// The plan for one program, or why there is none.
    pub fn program(&self, view: &View, target: &Target, site: Option<&Site>) -> Result<Whole, RefusedBecause> {
        if view.is_musl() && self.policy.shape == Shape::Flatten {
            return Err(RefusedBecause::FlattenMusl);
        }
        let lost = |request: &&super::view::Request| {
            let left = |reason: &LeftAlone| matches!(reason, LeftAlone::Missing | LeftAlone::Fatal { .. });
            matches!(&request.served, super::view::Served::Not(reason) if left(reason))
                && request.kind == super::view::RequestKind::Needed
        };
        if let Some(request) = view.requests.iter().find(lost) {
            return Err(RefusedBecause::MissingName { name: request.name.clone() });
        }
        let entries: Vec<Entry> = view.members[1..]
            .iter()
            .filter_map(|member| self.entry(view, member).transpose())
            .collect::<Result<_, _>>()?;
        let farm =
            site.map(|site| site.farm(self.ground, view, &entries.iter().filter_map(Entry::link).collect::<Vec<_>>()));
        let (mut farm, notes) = farm.transpose()?.unzip();
        let search_path = match (site, &mut farm) {
            (Some(site), Some(farm)) => {
                let taken = farm.links.iter().map(|link| link.name.as_str().into()).collect();
                let narrow = self.narrower.narrow(target, &taken);
                if let Some(narrow) = &narrow {
                    site.widen(self.ground, farm, narrow);
                }
                site.search_path(&target.facts, view, narrow.as_ref())
            }
            _ => {
                let (edit, own) = self.narrower.edit(target).unwrap_or_default();
                farm = own;
                edit
            }
        };
        let object = self.object(target, &entries, search_path, site);
        Ok(Whole { object, farm, notes: notes.unwrap_or_default() })
    }

    /// How the program will name one object; `None` for one that is loaded without being named.
    fn entry<'e>(&'e self, view: &'e View, member: &'e Member) -> Result<Option<Entry<'e>>, RefusedBecause> {
        if member.left == Some(LeftAlone::Preloaded) {
            return Ok(None);
        }
        let short: Vec<&BString> = member.names.iter().filter(|name| !name.contains(&b'/')).collect();
        let asked = short.first().copied().or(member.names.first()).unwrap_or(&member.path);
        let found = key_of(&self.ground.catalogue, member.id, member.path.as_ref());
        let bindable = self.candidates.objects.get(&found);
        let left = member.left.clone().or_else(|| self.left(asked.as_ref(), member, bindable));
        let flatten = self.policy.shape == Shape::Flatten;
        let facts = self.ground.catalogue.of(member.id, member.path.as_ref());
        // Through a link, $ORIGIN for what is opened at run time would be the farm: such a library is named by its
        // path.
        let moved = facts.is_some_and(|facts| facts.uses_origin() && facts.searches_at_run_time());
        let by_path = left.is_none() && (flatten || moved) && !short.is_empty();
        if by_path && !flatten && (view.is_musl() || self.policy.shape == Shape::Relative) {
            return Err(RefusedBecause::OriginInFarm { library: member.path.clone() });
        }
        if left.is_none() && view.loader.kind == LoaderKind::Glibc {
            self.answers(member, &short, by_path)?;
        }
        let text = match bindable {
            Some(bindable) if by_path || left.is_none() && short.is_empty() => bindable.path.clone(),
            _ => asked.clone(),
        };
        let linked = left.is_none() && !by_path && !short.is_empty();
        Ok(Some(Entry { member, text, bindable: bindable.filter(|_| left.is_none()), left, linked }))
    }

    /// Whether the object answers to all names by which it is requested, if opened as the program will request it.
    fn answers(&self, member: &Member, short: &[&BString], by_path: bool) -> Result<(), RefusedBecause> {
        let known = |name: &&&BString| Some(**name) == member.soname.as_ref();
        let first = usize::from(!by_path);
        match short.iter().skip(first).find(|name| !known(name)) {
            None => Ok(()),
            Some(name) => Err(RefusedBecause::OtherSoname {
                object: member.path.clone(),
                name: (*name).clone(),
                soname: member.soname.clone(),
            }),
        }
    }

    fn left(&self, name: &BStr, member: &Member, bindable: Option<&Bindable>) -> Option<LeftAlone> {
        let path: &BStr = bindable.map_or(member.path.as_ref(), |bindable| bindable.path.as_ref());
        let soname = member.soname.as_ref().map(AsRef::as_ref);
        if let Some(by) = self.policy.leaves_out(name, soname, path) {
            return Some(LeftAlone::Excluded { by });
        }
        if let Some(variant) = member.variant.as_ref().filter(|_| self.policy.built_in.hwcaps) {
            return Some(LeftAlone::Excluded { by: Exclusion::Hwcaps { variant: variant.clone() } });
        }
        if std::str::from_utf8(path).is_err() || std::str::from_utf8(name).is_err() {
            return Some(LeftAlone::NotUtf8 { path: path.into() });
        }
        if bindable.is_none() {
            return Some(LeftAlone::CurrentDirectory { path: path.into() });
        }
        path.contains(&b'$').then(|| LeftAlone::Unwritable { path: path.into() })
    }

    fn object(
        &self,
        target: &Target,
        entries: &[Entry],
        search_path: SearchPathEdit,
        site: Option<&Site>,
    ) -> ObjectPlan {
        let facts = &target.facts;
        let edges: Vec<EdgePlan> = entries.iter().map(|entry| entry.edge(facts)).collect();
        let mut bound = Vec::new();
        let mut renames = Vec::new();
        for entry in entries {
            let Some(bindable) = entry.bindable else { continue };
            let names = entry.member.names.iter().filter(|name| **name != entry.text);
            let versions = names.filter(|name| facts.version_files.contains(name));
            renames.extend(versions.map(|name| Rename { from: name.clone(), to: entry.text.clone() }));
            let name = entry.member.names.first().unwrap_or(&entry.text).to_string();
            bound.push(BoundObject {
                name,
                path: site.map_or_else(|| bindable.path.to_string(), |site| site.recorded(self.ground, bindable)),
                build_id: bindable.build_id.clone(),
                size: bindable.size,
                modified: bindable.modified,
            });
        }
        let needed: Vec<BString> = entries.iter().map(|entry| entry.text.clone()).collect();
        let same = needed == facts.dynamic.needed;
        ObjectPlan {
            path: target.file.path.clone(),
            hard_links: target.file.hard_links.clone(),
            id: target.file.id,
            edges,
            bound_before: self.ground.bound.contains(&target.file.id),
            edits: Edits { renames, needed: (!same).then_some(needed), search_path, ..Edits::default() },
            options: RewriteOptions { only: self.policy.strategy, bound: bound.clone(), ..RewriteOptions::default() },
            bound,
            rewrite: None,
        }
    }
}

impl Entry<'_> {
    fn link(&self) -> Option<(&Member, &Bindable)> {
        self.bindable.filter(|_| self.linked).map(|bindable| (self.member, bindable))
    }

    fn edge(&self, facts: &Facts) -> EdgePlan {
        let names = &self.member.names;
        let name = names.iter().find(|name| facts.dynamic.needed.contains(name));
        let origin = if name.is_some() { Origin::Needed } else { Origin::Closure };
        let name = name.or(names.first()).unwrap_or(&self.text).clone();
        let mut notes = Vec::new();
        let decision = match (self.bindable, &self.left) {
            (Some(bindable), None) => {
                notes.extend(self.linked.then_some(EdgeNote::Linked));
                Decision::Becomes {
                    path: bindable.path.to_string(),
                    build_id: bindable.build_id.clone(),
                    soname: bindable.soname.clone(),
                }
            }
            (_, left) => Decision::LeftAlone { reason: left.clone().unwrap_or(LeftAlone::Shape) },
        };
        let has_versions = names.iter().any(|name| facts.version_files.contains(name));
        EdgePlan { name, origin, has_versions, decision, programs: 1, notes }
    }
}

/// Where a farm for this program would be.
pub(in crate::plan) fn site(maker: &Maker, view: &View, target: &Target) -> Result<Option<Site>, RefusedBecause> {
    let relative = match maker.policy.shape {
        Shape::PerObject | Shape::Flatten => return Ok(None),
        Shape::Farm => false,
        Shape::Relative => true,
    };
    let path: &BStr = target.file.path.as_ref();
    let above = match &maker.policy.farm_directory {
        Some(directory) => {
            maker.ground.root.real_path(directory.as_str().into()).unwrap_or_else(|_| directory.as_str().into())
        }
        None => directory_of(path).into(),
    };
    let directory = [above.as_slice(), b"/", file_name(path), b".underpin-farm"].concat();
    let directory = String::from_utf8(directory)
        .map_err(|_| RefusedBecause::Unreadable { error: "its path is not UTF-8".to_owned() })?;
    let tree = relative.then(|| tree_of(maker.ground, view, path));
    let site = Site { directory, program: path.into(), tree };
    if site.is_in_the_way(maker.ground.root) {
        return Err(RefusedBecause::FarmInTheWay { directory: site.directory.into() });
    }
    if let Some(tree) = &site.tree
        && is_below(view.loader.path.as_ref(), tree.as_ref())
    {
        return Err(RefusedBecause::LoaderInTree { loader: view.loader.path.clone() });
    }
    Ok(Some(site))
}
