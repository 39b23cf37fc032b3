//! `underpin verify`: bound programs held against their unbound originals, by the model and by the real loader.

use super::bind::{path, scope};
use super::tree::check;
use crate::exit::Exit;
use crate::plan::VerifyPlan;
use crate::screen::{Bar, Screen};
use rayon::prelude::*;
use std::path::Path;
use underpin_report::document::tree::CallsRecord;
use underpin_report::document::verify::{LoaderAsked, VerifyFile};
use underpin_report::{VerifyDocument, text};
use underpin_resolve::{Closure, Depth, HostRoot, Resolver};
use underpin_rewrite::files::{self, Judge, Judgement, NotAsked, Opinion, Progress, Status, Step, Target};
use underpin_rewrite::plan::{Difference, ScopeFile, UnboundRoot, equal};
use underpin_rewrite::undo;

/// Compares every file and shows what holds.
///
/// # Errors
/// Where nothing that could be bound was named, or the program cannot be run for `--check`.
pub fn run(plan: VerifyPlan, screen: &mut Screen) -> anyhow::Result<Exit> {
    let root = HostRoot::new();
    let scope = scope(&root, &plan.paths)?;
    let unbound = UnboundRoot::new(&root);
    let verifier = Verifier {
        before: Resolver::new(&unbound, plan.environment.clone()),
        after: Resolver::new(&root, plan.environment.clone()),
        judge: Judge::new(plan.environment.clone()),
        bindings: plan.bindings,
    };
    let bar = Bar::new();
    bar.begin(Step::Verifying, scope.files.len());
    let files = scope.files.par_iter().map(|file| {
        let verified = verifier.verify(file);
        bar.done(&path(&file.path));
        verified
    });
    let mut files: Vec<VerifyFile> = files.collect::<Vec<_>>().into_iter().flatten().collect();
    drop(bar);
    for (path, error) in unbound.lost() {
        if let Some(file) = files.iter_mut().find(|file| file.path.bytes() == path) {
            file.differences.push(format!("its original cannot be worked out: {error}"));
        }
    }
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
    /// Everything unbound.
    before: Resolver<'r>,
    after: Resolver<'r>,
    judge: Judge,
    bindings: bool,
}

impl Verifier<'_> {
    /// `None` for a library that is not bound: its programs tell of it.
    fn verify(&self, file: &ScopeFile) -> Option<VerifyFile> {
        let place = path(&file.path);
        let status = files::status(&place);
        let bound = matches!(status, Status::Bound(_) | Status::Stale(..));
        let mut verified = VerifyFile {
            path: (&file.path).into(),
            bound,
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
        if is_library && !bound {
            return None;
        }
        verified.objects = after.objects.len().saturating_sub(1);
        let differences = equal(&before, &after).into_iter().filter(|difference| !is_library || counts(difference));
        verified.differences.extend(differences.map(|difference| difference.to_string()));
        self.ask(&place, &after, &mut verified);
        if self.bindings && bound {
            match self.symbols(&place) {
                Ok(symbols) => verified.symbols = Some(symbols),
                Err(error) => verified.differences.push(format!("{error:#}")),
            }
        }
        Some(verified)
    }

    /// The real loader's list against the model's.
    fn ask(&self, place: &Path, after: &Closure, verified: &mut VerifyFile) {
        let model = Judgement::of_model(after);
        match self.judge.ask(place) {
            Opinion::NotAsked(reason) => verified.not_asked = Some(reason.to_string()),
            Opinion::Heard(heard) => {
                let pairs = heard.objects.iter().zip(&model.objects);
                let first = pairs.clone().position(|(one, other)| !one.same_file(other));
                let same = first.is_none() && heard.objects.len() == model.objects.len();
                verified.loader = if same { LoaderAsked::Agrees } else { LoaderAsked::Differs };
                if !same {
                    let at = first.unwrap_or(pairs.len());
                    let name = |list: &Judgement| {
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

    /// The number of references, all of which are bound to the same object as in the original.
    fn symbols(&self, place: &Path) -> anyhow::Result<usize> {
        let target = Target::open(place, None)?;
        let original = undo(&target.read()?)?;
        // Beside the file: there `$ORIGIN` is the same.
        let before =
            target.beside(&original, |copy| Ok::<_, NotAsked>(self.judge.bindings(copy)?.renamed(copy, place)))??;
        let after = self.judge.bindings(place)?;
        after.same_as(&before)?;
        Ok(after.len())
    }
}

/// What of a difference counts for a library: alone it may find less, or something else, than in its programs.
fn counts(difference: &Difference) -> bool {
    matches!(
        difference,
        Difference::NowMissing { .. } | Difference::VersionFile { .. } | Difference::Unresolvable { .. }
    )
}
