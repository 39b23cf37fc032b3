//! What is compared between two closures of one program: objects, load order, order of constructors, names not found.

use crate::plan::model::Difference;
use bstr::BString;
use std::collections::{BTreeMap, BTreeSet};
use underpin_resolve::{Closure, FileId, FindingKind, LoaderKind, Outcome};

/// An object, by what the loader itself compares; by path if the file system has no inodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    File(FileId),
    Path(BString),
}

/// One closure, as far as it is compared.
#[derive(Clone, Debug)]
pub(in crate::plan) struct ClosureSignature {
    loader: BString,
    /// In load order.
    objects: Vec<(Key, BString)>,
    /// Positions in `objects`, in the order in which constructors run.
    initialisers: Vec<usize>,
    /// Names that are not found, with the object that requests them.
    missing: BTreeMap<BString, BString>,
    /// `vn_file` that no object is known by, with the object that needs it.
    version_files: BTreeSet<(BString, BString)>,
    /// Versions that the object found does not define, with the object that needs them.
    versions: BTreeSet<(BString, BString)>,
}

impl ClosureSignature {
    pub fn of(closure: &Closure, is_program: bool) -> ClosureSignature {
        let path = |index: usize| closure.objects.get(index).map(|object| object.path.clone()).unwrap_or_default();
        let key = |object: &underpin_resolve::Object| match object.id {
            Some(id) => Key::File(id),
            None => Key::Path(object.path.clone()),
        };
        let missing =
            closure.edges.iter().filter(|edge| matches!(edge.outcome, Outcome::Missing | Outcome::Fatal { .. }));
        let version_file = |finding: &underpin_resolve::Finding| match &finding.kind {
            FindingKind::VersionFileUnknown { file } => {
                Some((file.clone(), path(finding.object.map_or(0, |object| object.0))))
            }
            _ => None,
        };
        let version = |finding: &underpin_resolve::Finding| match &finding.kind {
            FindingKind::MissingVersion { version, .. } => {
                Some((version.clone(), path(finding.object.map_or(0, |object| object.0))))
            }
            _ => None,
        };
        // A library by itself has no fixed loader.
        let fixed = is_program && closure.loader.kind != LoaderKind::None;
        ClosureSignature {
            loader: if fixed { closure.loader.path.clone() } else { BString::default() },
            objects: closure.objects.iter().map(|object| (key(object), object.path.clone())).collect(),
            initialisers: closure.initialisation_order().into_iter().map(|id| id.0).collect(),
            missing: missing.map(|edge| (edge.name.clone(), path(edge.from.0))).collect(),
            version_files: closure.findings.iter().filter_map(version_file).collect(),
            versions: closure.findings.iter().filter_map(version).collect(),
        }
    }

    /// What is different in `after`; empty if the loader would do the same.
    pub fn differences(&self, after: &ClosureSignature) -> Vec<Difference> {
        let mut differences = Vec::new();
        if self.loader != after.loader {
            differences.push(Difference::Loader { before: self.loader.clone(), after: after.loader.clone() });
        }
        differences.extend(self.members(after));
        let same_members = differences.is_empty();
        if same_members {
            differences.extend(self.load_order(after));
            differences.extend(self.initialiser_order(after));
        }
        // A path that is not found may be the new spelling of a name that was not found before.
        let lost = after.missing.iter().filter(|(name, _)| !self.missing.contains_key(*name));
        differences
            .extend(lost.map(|(name, asker)| Difference::NowMissing { name: name.clone(), asker: asker.clone() }));
        let gained = self.missing.keys().filter(|name| !after.missing.contains_key(*name));
        differences.extend(gained.map(|name| Difference::NowFound { name: name.clone() }));
        let aborts = after.version_files.difference(&self.version_files);
        differences
            .extend(aborts.map(|(file, asker)| Difference::VersionFile { file: file.clone(), asker: asker.clone() }));
        let lost = after.versions.difference(&self.versions);
        differences.extend(
            lost.map(|(version, asker)| Difference::Version { version: version.clone(), asker: asker.clone() }),
        );
        differences
    }

    fn members(&self, after: &ClosureSignature) -> Vec<Difference> {
        let counted = |signature: &ClosureSignature| {
            let mut counts: BTreeMap<Key, (usize, BString)> = BTreeMap::new();
            for (key, path) in &signature.objects {
                counts.entry(key.clone()).or_insert((0, path.clone())).0 += 1;
            }
            counts
        };
        let (before, now) = (counted(self), counted(after));
        let beyond = |one: &BTreeMap<Key, (usize, BString)>, other: &BTreeMap<Key, (usize, BString)>| {
            let more =
                |(key, (count, _)): &(&Key, &(usize, BString))| *count > other.get(*key).map_or(0, |(count, _)| *count);
            one.iter().filter(more).map(|(_, (_, path))| path.clone()).collect::<Vec<BString>>()
        };
        let (mut gone, mut added) = (beyond(&before, &now), beyond(&now, &before));
        let mut differences = Vec::new();
        let name = |path: &BString| super::facts::file_name(path.as_ref()).to_owned();
        gone.retain(|path| match added.iter().position(|other| name(other) == name(path)) {
            Some(place) => {
                differences.push(Difference::Replaced { before: path.clone(), after: added.remove(place) });
                false
            }
            None => true,
        });
        differences.extend(gone.into_iter().map(|path| Difference::Gone { path }));
        differences.extend(added.into_iter().map(|path| Difference::Added { path }));
        differences
    }

    fn load_order(&self, after: &ClosureSignature) -> Option<Difference> {
        let mut pairs = self.objects.iter().zip(&after.objects).enumerate();
        pairs.find(|(_, (before, after))| before.0 != after.0).map(|(position, (before, after))| {
            Difference::LoadOrder { position, before: before.1.clone(), after: after.1.clone() }
        })
    }

    fn initialiser_order(&self, after: &ClosureSignature) -> Option<Difference> {
        let mut pairs = self.initialisers.iter().zip(&after.initialisers).enumerate();
        let object = |signature: &'_ ClosureSignature, index: usize| signature.objects.get(index).cloned();
        pairs.find_map(|(position, (one, other))| {
            let (before, now) = (object(self, *one)?, object(after, *other)?);
            let (path, new) = (before.1, now.1);
            (before.0 != now.0).then_some(Difference::InitialiserOrder { position, before: path, after: new })
        })
    }
}

/// The differences between two closures of one program: objects by device and inode, load order, order of constructors,
/// names not found, versions without a file. Empty if the loader would do the same. Symbol versions are compared if
/// both closures were resolved at [`underpin_resolve::Depth::Findings`].
#[must_use]
pub fn equal(before: &Closure, after: &Closure) -> Vec<Difference> {
    ClosureSignature::of(before, true).differences(&ClosureSignature::of(after, true))
}
