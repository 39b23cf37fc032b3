//! The real loader's judgement of a fused program, against its original.

use super::subject::Subject;
use super::{Place, real};
use anyhow::bail;
use bstr::BString;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use underpin_fuse::note;
use underpin_resolve::{Closure, Outcome};
use underpin_rewrite::files::{Bindings, Disagreement, Listing, NotAsked, Opinion, Verifier};

/// What the loader says of the original.
pub(super) struct Judge<'s> {
    verifier: &'s Verifier,
    program: &'s Path,
    file: &'s Path,
    members: BTreeSet<PathBuf>,
    listed: Listing,
    bindings: Bindings,
    /// References that were bound inside the file, each as the loader binds it in the original.
    confirmed: usize,
}

impl Judge<'_> {
    /// Asks about the original, and holds against it what was computed.
    pub fn of<'s>(
        subject: &'s Subject,
        members: BTreeSet<PathBuf>,
        computed: &[((PathBuf, String), PathBuf)],
        file: &'s Path,
        verifier: &'s Verifier,
    ) -> anyhow::Result<Judge<'s>> {
        let program = subject.path.as_path();
        // Beside the program: there `$ORIGIN` is the same.
        let bindings_of = |copy: &Path| verifier.bindings(copy).map(|bindings| bindings.renamed(copy, program));
        let (heard, bindings) =
            subject.held.beside(subject.compared(), |copy| (verifier.ask(copy), bindings_of(copy)))?;
        let listed = match heard {
            Opinion::Heard(listed) => listed,
            Opinion::NotAsked(reason @ NotAsked::ForeignMachine { .. }) => {
                bail!("its loader cannot be asked: {reason}; name its emulator, as in `--emulator qemu-aarch64`")
            }
            Opinion::NotAsked(reason) => bail!("its loader cannot be asked: {reason}"),
        };
        let bindings = bindings?;
        if subject.start.is_some() {
            // What is loaded for modules changes nothing for the program and its own libraries.
            bindings.includes(&subject.held.beside(subject.original(), bindings_of)??)?;
        }
        let confirmed = bindings.confirm(computed.iter().cloned())?;
        Ok(Judge { verifier, program, file, members, listed, bindings, confirmed })
    }

    /// The number of references that a copy of the program and the file have bound as the original has.
    pub fn accepts(&self, copy: &Path) -> Result<usize, Disagreement> {
        let after = self.verifier.bindings(copy).map_err(Disagreement::NotAskable)?.renamed(copy, self.program);
        let compared = after.same_as_merged(&self.bindings, &self.members, self.file)?;
        match self.verifier.ask(copy) {
            Opinion::Heard(now) => self.same_objects(&now)?,
            Opinion::NotAsked(because) => return Err(Disagreement::NotAskable(because)),
        }
        Ok(compared + self.confirmed)
    }

    /// Everything that stays shared is loaded, and of the members only the one file.
    fn same_objects(&self, now: &Listing) -> Result<(), Disagreement> {
        let shared = |listing: &Listing| -> BTreeSet<PathBuf> {
            let paths = listing.objects.iter().map(|object| object.real_path.clone());
            paths.filter(|path| path != self.file && !self.members.contains(path)).collect()
        };
        if let Some(member) = now.objects.iter().find(|object| self.members.contains(&object.real_path)) {
            let found = member.path.display().to_string();
            return Err(Disagreement::BoundElsewhere { name: member.name.clone(), planned: self.file.into(), found });
        }
        let (then, shared_now) = (shared(&self.listed), shared(now));
        if let Some(path) = then.symmetric_difference(&shared_now).next() {
            return Err(Disagreement::Lost { name: path.display().to_string() });
        }
        match now.complaints.iter().chain(&now.missing).find(|text| !self.listed.complaints.contains(text)) {
            Some(message) => Err(Disagreement::Loader { message: message.clone() }),
            None => Ok(()),
        }
    }
}

/// The members of a fused library; none if it cannot be read.
fn merged(file: &Path) -> Vec<note::Merged> {
    fs::read(file).ok().and_then(|bytes| note::read(&bytes)).unwrap_or_default()
}

/// Where they are, symbolic links resolved.
fn paths(members: &[note::Merged]) -> BTreeSet<PathBuf> {
    members.iter().map(|member| real(&member.path)).collect()
}

/// How many references of a fused program the loader binds as in its original.
///
/// # Errors
/// The first one that is bound to something else.
pub fn same_symbols(after: &Bindings, before: &Bindings, file: &Path) -> Result<usize, Disagreement> {
    after.same_as_merged(before, &paths(&merged(file)), file)
}

/// How what a fused program loads differs from its original with the members in one file.
pub fn differences(before: &Closure, after: &Closure, file: &Path) -> Vec<String> {
    let merged = merged(file);
    let members = paths(&merged);
    if members.is_empty() {
        return vec![format!("{} is gone or damaged: unbind the program and bind it again", file.display())];
    }
    let all = |closure: &Closure| -> BTreeSet<PathBuf> {
        closure.objects.iter().skip(1).map(|object| real(&object.path)).collect()
    };
    let shared = |mut paths: BTreeSet<PathBuf>| {
        paths.retain(|path| path != file && !members.contains(path));
        paths
    };
    let say = |path: &PathBuf, what: &str| format!("{} {what}", path.display());
    let now = all(after);
    let mut said: Vec<String> =
        now.intersection(&members).map(|path| say(path, "is loaded beside the file it was merged into")).collect();
    said.extend(Place::at(file).and_then(|place| place.lost_name(&merged)));
    let (then, now) = (shared(all(before)), shared(now));
    said.extend(then.difference(&now).map(|path| say(path, "is not loaded any more")));
    said.extend(now.difference(&then).map(|path| say(path, "is loaded and was not before")));
    let missing = |name: &BString| format!("{name} is not found");
    let lost = after.edges.iter().filter(|edge| matches!(edge.outcome, Outcome::Missing | Outcome::Fatal { .. }));
    said.extend(lost.map(|edge| missing(&edge.name)));
    said
}
