//! The objects to link in, for each processor that a compiler was found for: an allocator for each goal, and what is linked
//! beside one (native/takeover.c, native/glibc-static.c).

use crate::recipe::{Goal, Recipe};
use crate::sources::Sources;
use crate::tools::{Failure, Tools};
use crate::{Choice, Source, object};
use std::path::PathBuf;

/// Processors that have objects besides that of the target.
const OTHERS: [&str; 1] = ["aarch64"];

/// Builds the objects and writes the lists of them for src/linkable.rs.
pub fn build(tools: &Tools, chosen: &Choice, sources: &Sources) -> Result<(), Failure> {
    let mut lists = Lists::default();
    lists.add(&tools.arch, Ok(tools), chosen, sources)?;
    for arch in OTHERS.into_iter().filter(|arch| *arch != tools.arch) {
        let other = if chosen.0.as_deref() == Some("none") { Err(chosen.refusal()) } else { tools.of_processor(arch) };
        lists.add(arch, other.as_ref(), chosen, sources)?;
    }
    let Lists { files, linkable, beside } = lists;
    let files: String = files.iter().map(|(_, definition)| definition.as_str()).collect();
    tools.write(
        "linkable.rs",
        &format!("{files}static LINKABLE: &[Entry] = &[\n{linkable}];\nstatic BESIDE: &[Beside] = &[\n{beside}];\n"),
    )
}

/// Rust source in the making.
#[derive(Default)]
struct Lists {
    /// Each file once, however many entries have it.
    files: Vec<(PathBuf, String)>,
    linkable: String,
    beside: String,
}

impl Lists {
    fn add(
        &mut self,
        arch: &str,
        tools: Result<&Tools, &Failure>,
        chosen: &Choice,
        sources: &Sources,
    ) -> Result<(), Failure> {
        for recipe in Recipe::ALL {
            let source = sources.of(recipe)?;
            for goal in Goal::ALL {
                let built = match tools {
                    Ok(tools) if chosen.wants(recipe) => Ok(recipe.build_linkable(tools, &source, goal)),
                    Ok(_) => Err(chosen.refusal()),
                    Err(reason) => Err(Failure(reason.0.clone())),
                };
                let outcome = match (built, tools) {
                    (Ok(Ok(path)), Ok(tools)) => Ok(self.linkable(tools, recipe, goal, &source, path)?),
                    (Ok(Err(reason)), _) if !recipe.may_be_absent() => return Err(reason.about(recipe.name())),
                    (Ok(Err(reason)), _) => {
                        underpin_build_support::again_after_installation();
                        Err(reason.0)
                    }
                    (Err(reason), _) => Err(reason.0),
                    (Ok(Ok(_)), Err(reason)) => Err(reason.0.clone()),
                };
                self.linkable.push_str(&entry(arch, recipe, goal, &outcome));
            }
        }
        let mut beside = |source: &str| match tools {
            Ok(tools) => {
                let file = format!("{source}.o");
                let path = tools.compile_c(&format!("{source}.c"), &file, &[])?;
                Ok::<_, Failure>(format!("Ok({})", self.file(path, source)?))
            }
            Err(reason) => Ok(format!("Err({:?})", reason.0)),
        };
        let (takeover, glibc_static) = (beside("takeover")?, beside("glibc-static")?);
        let text = format!("Beside {{ processor: {arch:?}, takeover: {takeover}, glibc_static: {glibc_static} }},\n");
        self.beside.push_str(&text);
        Ok(())
    }

    fn linkable(
        &mut self,
        tools: &Tools,
        recipe: Recipe,
        goal: Goal,
        source: &Source,
        path: PathBuf,
    ) -> Result<String, Failure> {
        let (version, settings) = (&source.version, recipe.linkable_settings(tools, goal));
        let object = self.file(path, recipe.name())?;
        Ok(format!("Linkable {{ version: {version:?}, settings: {settings:?}, object: {object} }}"))
    }

    /// An expression for the object in a file.
    fn file(&mut self, path: PathBuf, name: &str) -> Result<String, Failure> {
        let at = match self.files.iter().position(|(known, _)| *known == path) {
            Some(at) => at,
            None => {
                let at = self.files.len();
                let definition = format!("static FILE_{at}: Object = {};\n", object(name, &path)?);
                self.files.push((path, definition));
                at
            }
        };
        Ok(format!("&FILE_{at}"))
    }
}

fn entry(arch: &str, recipe: Recipe, goal: Goal, outcome: &Result<String, String>) -> String {
    let outcome = match outcome {
        Ok(linkable) => format!("Ok({linkable})"),
        Err(reason) => format!("Err({reason:?})"),
    };
    format!(
        "Entry {{ processor: {arch:?}, kind: AllocatorKind::{recipe:?}, goal: Goal::{goal:?}, outcome: {outcome} }},\n"
    )
}
