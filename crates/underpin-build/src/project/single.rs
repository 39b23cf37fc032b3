//! One file of C or C++.

use super::{Context, Planned, Program};
use crate::tool::Tool;
use crate::toolchain::Needs;
use crate::{BuildError, Outputs, Step};
use std::path::{Path, PathBuf};

/// Endings of C++; `.C` is one of them by gcc's rules.
pub(super) const CXX: [&str; 5] = ["cc", "cpp", "cxx", "c++", "C"];

/// The link to the folder of a file whose path is not UTF-8.
const LINKED: &str = "linked";

/// One source file.
#[derive(Clone, Debug)]
pub struct Single {
    path: PathBuf,
    cxx: bool,
}

impl Single {
    /// The file, by its name.
    pub(super) fn new(path: &Path) -> Result<Single, BuildError> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let cxx = CXX.contains(&ending);
        if !cxx && ending != "c" {
            let expected = format!(".c, .{}", CXX.join(", ."));
            return Err(BuildError::NotSource { path: path.to_owned(), expected });
        }
        Ok(Single { path: path.to_owned(), cxx })
    }

    /// The file itself: a folder of sources has no build system.
    pub(super) fn folder(&self) -> &Path {
        &self.path
    }

    pub(super) const fn language(&self) -> &'static str {
        if self.cxx { "C++" } else { "C" }
    }

    pub(super) const fn needs(&self) -> Needs {
        Needs { rust: false, c: !self.cxx, cxx: self.cxx }
    }

    fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The file under a path that a compiler can take; through links if its own is not UTF-8.
    fn source(&self, context: &Context<'_>) -> (String, Vec<(PathBuf, PathBuf)>) {
        if let Some(text) = self.path.to_str() {
            return (text.to_owned(), Vec::new());
        }
        let file = context.work.join(if self.cxx { "linked.cc" } else { "linked.c" });
        let beside = self.path.parent().unwrap_or(Path::new("/")).to_owned();
        let links = vec![(file.clone(), self.path.clone()), (context.work.join(LINKED), beside)];
        (file.display().to_string(), links)
    }

    pub(super) fn plan(&self, context: &Context<'_>) -> Planned {
        let result = context.work.join(self.name());
        let tool = if self.cxx { Tool::Cxx } else { Tool::Cc };
        let (source, links) = self.source(context);
        let mut arguments = vec!["-O2".to_owned()];
        if !links.is_empty() {
            arguments.extend(["-iquote".to_owned(), context.work.join(LINKED).display().to_string()]);
        }
        arguments.push(source);
        // After the source, so that libraries among them are searched for its undefined symbols.
        arguments.extend(context.words.iter().cloned());
        arguments.extend(["-o".to_owned(), result.display().to_string()]);
        let step = Step::new("compile", context.tools.join(tool.name()), arguments, &context.places.current);
        Planned { steps: vec![step.makes(result)], links, inside: PathBuf::from("."), ..Planned::default() }
    }

    pub(super) fn programs(&self, outputs: &Outputs) -> Result<Vec<Program>, BuildError> {
        let made = outputs.made().filter(|path| path.is_file());
        let programs: Vec<Program> =
            made.map(|path| Program { name: self.name(), path: path.to_owned(), helper: false }).collect();
        if programs.is_empty() {
            let hint = "an option such as -c or -E was passed to it".to_owned();
            return Err(BuildError::NoProgram { tool: "the compiler", hint });
        }
        Ok(programs)
    }
}
