//! `underpin verify`: bound programs compared with their unbound originals, by the model and by the real loader.

use super::bind::scope;
use super::tree::check;
use crate::exit::Exit;
use crate::fusion;
use crate::input::path;
use crate::plan::VerifyPlan;
use crate::progress::Progress;
use crate::screen::Screen;
use bstr::{BString, ByteSlice};
use rayon::prelude::*;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use underpin_report::document::tree::CallsRecord;
use underpin_report::document::verify::{LoaderAsked, VerifyFile, VerifyState};
use underpin_report::{VerifyDocument, text};
use underpin_resolve::{Closure, Depth, Environment, HostRoot, Object, Outcome, Resolver, Root};
use underpin_rewrite::files::{self, HeldFile, JobPhase, Listing, NotAsked, Opinion, Progress as _, Status};
use underpin_rewrite::plan::{Difference, ScopeFile, UnboundRoot, equal, stale_search};
use underpin_rewrite::{UndoRecord, undo};

/// Compares every file and shows the results.
///
/// # Errors
/// If nothing that could be bound was named, or the program cannot be run for `--check`.
pub fn run(plan: VerifyPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let root = HostRoot::new();
    let scope = scope(&root, &plan.paths)?;
    let unbound = UnboundRoot::new(&root);
    let verifier = Verifier {
        root: &root,
        before: Resolver::new(&unbound, plan.environment.clone()),
        after: Resolver::new(&root, plan.environment.clone()),
        environment: plan.environment.clone(),
        judge: files::Verifier::new(plan.environment.clone()).emulated(plan.emulator.clone()),
        bindings: plan.bindings,
    };
    let bar = Progress::parts();
    bar.begin(JobPhase::Verifying, scope.files.len());
    let files = scope.files.par_iter().map(|file| {
        let verified = verifier.verify(file);
        bar.done(&path(&file.path));
        verified
    });
    let mut files: Vec<VerifyFile> = files.collect::<Vec<_>>().into_iter().flatten().collect();
    drop(bar);
    if let (Some(arguments), [file]) = (&plan.check, files.as_mut_slice()) {
        let program = path(&scope.files[0].path);
        let closure = verifier.after.resolve(scope.files[0].path.as_ref(), Depth::Load)?;
        let predicted = CallsRecord::from(&closure.calls);
        file.comparison = Some(check::compare(&program, arguments, &predicted, &plan.environment)?);
    }
    let document = VerifyDocument::new(files);
    if plan.json {
        screen.json(&document)?;
    } else {
        screen.show(&text::verify(&document, &screen.view(plan.verbosity)));
    }
    Ok(if document.holds { Exit::Fine } else { Exit::Finding })
}

struct Verifier<'r> {
    root: &'r dyn Root,
    /// Resolves everything in its unbound state.
    before: Resolver<'r>,
    after: Resolver<'r>,
    environment: Environment,
    judge: files::Verifier,
    bindings: bool,
}

impl Verifier<'_> {
    /// `None` for a library that is not bound: its programs report it.
    fn verify(&self, file: &ScopeFile) -> Option<VerifyFile> {
        let place = path(&file.path);
        let status = files::status(&place);
        let bound = matches!(status, Status::Bound(_) | Status::Stale(..));
        let unrecorded = match &status {
            Status::Unrecorded(names) => {
                names.iter().map(|name| BString::from(name.as_os_str().as_bytes()).into()).collect()
            }
            _ => Vec::new(),
        };
        let mut verified = VerifyFile {
            path: (&file.path).into(),
            state: VerifyState::NotBound,
            bound,
            not_undoable: bound.then(|| files::undoable(&place).err()).flatten(),
            unrecorded,
            fused: None,
            objects: 0,
            loader: LoaderAsked::ModelOnly,
            not_asked: None,
            differences: Vec::new(),
            stale: match &status {
                Status::Damaged(reason) => vec![format!("its record cannot be used: {reason}")],
                Status::Stale(_, reasons) => reasons.iter().map(ToString::to_string).collect(),
                _ => Vec::new(),
            },
            symbols: None,
            comparison: None,
        };
        let resolve = |resolver: &Resolver| resolver.resolve(file.path.as_ref(), Depth::Findings);
        let (before, after) = match (resolve(&self.before), resolve(&self.after)) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(error), _) | (_, Err(error)) => {
                verified.differences.push(error.to_string());
                return Some(verified);
            }
        };
        let is_library = after.loader.assumed;
        if is_library && !bound && verified.unrecorded.is_empty() {
            return None;
        }
        verified.objects = after.objects.len().saturating_sub(1);
        let fused = bound.then(|| fusion::file_of(&place)).flatten();
        match (&status, &fused) {
            (_, Some(fused)) => {
                match self.compared_with(&place) {
                    Ok(with) => {
                        let before = with.map_or(before, |(_, before)| before);
                        verified.differences.extend(fusion::differences(&before, &after, fused));
                    }
                    Err(error) => verified.differences.push(format!("{error:#}")),
                }
                verified.fused = Some(fused.as_os_str().as_bytes().as_bstr().into());
            }
            // Its original would search where the tree was before: what it loads now is compared with the record.
            (Status::Bound(record) | Status::Stale(record, _), None) if files::has_moved(&place) => {
                verified.differences.extend(against_record(record, &after));
            }
            _ => {
                let differences = equal(&before, &after).into_iter();
                let differences = differences.filter(|difference| !is_library || counts(difference));
                verified.differences.extend(differences.map(|difference| difference.to_string()));
            }
        }
        if bound && !files::has_moved(&place) {
            let lib = Some(after.loader.lib_token.as_bstr()).filter(|lib| !lib.is_empty());
            verified.stale.extend(stale_search(self.root, file.path.as_ref(), lib));
        }
        self.ask(&place, &after, &mut verified);
        if self.bindings && bound && verified.not_undoable.is_none() {
            match self.symbols(&place, fused.as_deref()) {
                Ok(symbols) => verified.symbols = Some(symbols),
                Err(error) => verified.differences.push(format!("{error:#}")),
            }
        }
        Some(verified)
    }

    /// The program that a fused one was compared with, and what that loads, if it has more libraries than its original: those
    /// that modules bring.
    fn compared_with(&self, place: &Path) -> anyhow::Result<Option<(Vec<u8>, Closure)>> {
        let original = undo(&HeldFile::open(place, None)?.read()?)?;
        fusion::compared_with(place, &original, &self.environment)
    }

    /// The real loader's list compared with the model's.
    fn ask(&self, place: &Path, after: &Closure, verified: &mut VerifyFile) {
        let model = Listing::of_model(after);
        match self.judge.ask(place) {
            Opinion::NotAsked(reason) => verified.not_asked = Some(reason.to_string()),
            Opinion::Heard(heard) => {
                let pairs = heard.objects.iter().zip(&model.objects);
                let first = pairs.clone().position(|(one, other)| !one.same_file(other));
                let same = first.is_none() && heard.objects.len() == model.objects.len();
                verified.loader = if same { LoaderAsked::Agrees } else { LoaderAsked::Differs };
                if !same {
                    let at = first.unwrap_or(pairs.len());
                    let name = |list: &Listing| {
                        list.objects.get(at).map_or("nothing".to_owned(), |object| object.path.display().to_string())
                    };
                    let (one, other) = (name(&heard), name(&model));
                    verified
                        .differences
                        .push(format!("object {} is {one} to the loader, {other} to the model", at + 1));
                }
            }
        }
    }

    /// The number of references; an error unless each is bound to the same object as in the original.
    fn symbols(&self, place: &Path, fused: Option<&Path>) -> anyhow::Result<usize> {
        let target = HeldFile::open(place, None)?;
        let original = undo(&target.read()?)?;
        let with = fusion::compared_with(place, &original, &self.environment)?;
        let original = with.map_or(original, |(bytes, _)| bytes);
        // In the same folder: there `$ORIGIN` is the same.
        let before =
            target.beside(&original, |copy| Ok::<_, NotAsked>(self.judge.bindings(copy)?.renamed(copy, place)))??;
        let after = self.judge.bindings(place)?;
        if let Some(file) = fused {
            return Ok(fusion::same_symbols(&after, &before, file)?);
        }
        after.same_as(&before)?;
        Ok(after.len())
    }
}

/// How a moved file differs from its record: each bound object must be loaded, as the same build, in the same order,
/// and no name may be missing.
fn against_record(record: &UndoRecord, after: &Closure) -> Vec<String> {
    let mut differences = Vec::new();
    let mut last = 0;
    for bound in &record.bound {
        let known = |object: &Object| {
            let known = |name: &BString| *name == bound.name.as_str();
            object.names.iter().any(known) || object.soname.as_ref().is_some_and(known)
        };
        let Some(position) = after.objects.iter().position(known) else {
            differences.push(format!("{} is not loaded any more", bound.name));
            continue;
        };
        let object = path(&after.objects[position].path);
        differences.extend(files::stale_at(bound, &object).map(|reason| reason.to_string()));
        if position < last {
            differences.push(format!("{} is loaded earlier than before", bound.name));
        }
        last = position;
    }
    let missing = after.edges.iter().filter(|edge| matches!(edge.outcome, Outcome::Missing | Outcome::Fatal { .. }));
    differences.extend(missing.map(|edge| format!("{} is not found", edge.name)));
    differences
}

/// The part of a difference that counts for a library: by itself it may find less or other things than in its programs.
fn counts(difference: &Difference) -> bool {
    matches!(
        difference,
        Difference::NowMissing { .. } | Difference::VersionFile { .. } | Difference::Unresolvable { .. }
    )
}
