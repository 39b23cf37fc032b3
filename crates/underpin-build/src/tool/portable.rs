//! Tools in a folder that may be moved: its name in their plan is a mark, which becomes the folder's path when one is started.

use super::{Compiler, RustLinker, ToolPlan};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The mark: no path begins with it.
pub const HERE: &str = "@SDK@";

/// What only an SDK has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Portable {
    /// What starts a program of the target; empty if it starts by itself.
    pub run: Vec<String>,
}

impl ToolPlan {
    /// The plan with a folder's path, which it was made with, as the mark.
    #[must_use]
    pub fn marked(self, folder: &Path) -> ToolPlan {
        let folder = folder.display().to_string();
        self.mapped(&|text| text.replace(&folder, HERE))
    }

    /// The plan as it is where it was moved to. A program that is not at its path is looked for by its name.
    #[must_use]
    pub fn placed(self, folder: &Path) -> ToolPlan {
        if self.portable.is_none() {
            return self;
        }
        let folder = folder.display().to_string();
        let mut placed = self.mapped(&|text| text.replace(HERE, &folder));
        placed.programs(&|program| {
            let path = Path::new(&program);
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(&program);
            if path.exists() { program } else { name.to_owned() }
        });
        placed
    }

    /// Every absolute path of the plan, of whatever kind.
    #[must_use]
    pub fn outside(&self) -> Vec<String> {
        let found = std::cell::RefCell::new(Vec::new());
        let _ = self.clone().mapped(&|text| {
            let path = text.strip_prefix("-L").unwrap_or(text);
            if path.starts_with('/') {
                found.borrow_mut().push(path.to_owned());
            }
            text.to_owned()
        });
        let mut found = found.into_inner();
        found.sort();
        found.dedup();
        found
    }

    fn mapped(mut self, map: &dyn Fn(&str) -> String) -> ToolPlan {
        let words = |list: &mut Vec<String>| list.iter_mut().for_each(|word| *word = map(word));
        let path = |path: &mut PathBuf| *path = map(&path.display().to_string()).into();
        let compiler = |one: &mut Compiler| {
            path(&mut one.program);
            [&mut one.leading, &mut one.start, &mut one.end].into_iter().for_each(words);
        };
        self.cc.as_mut().map(compiler);
        self.cxx.as_mut().map(compiler);
        [&mut self.ar, &mut self.ranlib, &mut self.ld].into_iter().for_each(words);
        self.objects.iter_mut().for_each(path);
        let others = [&mut self.headers, &mut self.before, &mut self.behind, &mut self.layout, &mut self.archive];
        others.into_iter().flatten().for_each(path);
        if let Some(rust) = &mut self.rust {
            match &mut rust.linker {
                RustLinker::Compiler(one) => compiler(one),
                RustLinker::Ld(program, leading) => {
                    path(program);
                    words(leading);
                }
            }
            words(&mut rust.flags);
            rust.objects.iter_mut().for_each(path);
        }
        if let Some(portable) = &mut self.portable {
            words(&mut portable.run);
        }
        self
    }

    fn programs(&mut self, map: &dyn Fn(String) -> String) {
        let path = |path: &mut PathBuf| *path = map(path.display().to_string()).into();
        let linker = self.rust.as_mut().map(|rust| match &mut rust.linker {
            RustLinker::Compiler(one) => &mut one.program,
            RustLinker::Ld(program, _) => program,
        });
        let compilers = [&mut self.cc, &mut self.cxx].into_iter().flatten().map(|one| &mut one.program);
        compilers.chain(linker).for_each(path);
        let run = self.portable.as_mut().map(|portable| &mut portable.run);
        for list in [&mut self.ar, &mut self.ranlib, &mut self.ld].into_iter().chain(run) {
            if let Some(first) = list.first_mut() {
                *first = map(std::mem::take(first));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::no_tools;
    use super::*;
    use crate::tool::{Dialect, Tool};
    use crate::{Allocator, CLibrary, Goal, Linkage, Processor, Spec};

    fn plan() -> ToolPlan {
        let spec = Spec {
            processor: Processor::Aarch64,
            libc: CLibrary::Musl,
            linkage: Linkage::Dynamic,
            allocator: Allocator::System,
            goal: Goal::Balanced,
            overlay: false,
        };
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let cc = Compiler {
            program: "/absent/folder/sh".into(),
            leading: words(&["-isystem", "/made/sdk/sysroot/usr/include"]),
            dialect: Dialect::Foreign,
            start: words(&["-L/made/sdk/sysroot/usr/lib", "/made/sdk/sysroot/usr/lib/crti.o"]),
            end: words(&["-lc", "/bin/sh"]),
        };
        let portable = Portable { run: words(&["/bin/sh", "-L", "/made/sdk/sysroot"]) };
        let objects = vec!["/made/sdk/tools/note.o".into()];
        ToolPlan { cc: Some(cc), ar: words(&["/absent/ar"]), objects, portable: Some(portable), ..no_tools(spec) }
    }

    #[test]
    fn a_plan_that_was_moved_names_the_new_folder_and_finds_programs_by_name() {
        let marked = plan().marked(Path::new("/made/sdk"));
        assert_eq!(marked.outside(), ["/absent/ar", "/absent/folder/sh", "/bin/sh"]);
        let placed = marked.placed(Path::new("/new place"));
        let cc = placed.cc.unwrap();
        assert_eq!(cc.program, Path::new("sh"), "it is not at its path");
        assert_eq!(cc.leading[1], "/new place/sysroot/usr/include");
        assert_eq!(cc.start, ["-L/new place/sysroot/usr/lib", "/new place/sysroot/usr/lib/crti.o"]);
        assert_eq!(placed.ar, ["ar"]);
        assert_eq!(placed.objects, [Path::new("/new place/tools/note.o")]);
        assert_eq!(placed.portable.unwrap().run, ["/bin/sh", "-L", "/new place/sysroot"]);
        // Of a build in underpin's cache every path stays as it is.
        let fixed = ToolPlan { portable: None, ..plan() };
        assert_eq!(fixed.clone().placed(Path::new("/new")), fixed);
    }

    #[test]
    fn a_name_with_the_target_before_it_is_the_same_tool() {
        assert_eq!(Tool::of_name("aarch64-underpin-linux-musl-c++".as_ref()), Some(Tool::Cxx));
        assert_eq!(Tool::of_name("x86_64-underpin-linux-gnu-ld.lld".as_ref()), Some(Tool::Ld));
        assert_eq!(Tool::of_name("aarch64-linux-musl-cc".as_ref()), None);
    }
}
