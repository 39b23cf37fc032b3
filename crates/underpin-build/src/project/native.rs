//! A C or C++ project with a build system.
//!
//! Files show which one, the first in this order: a `configure` that Autoconf made, `CMakeLists.txt`, `meson.build`,
//! any other `configure`, a makefile. A release that ships Autoconf's `configure` is built by it first of all; a
//! makefile often only leads to one of the others.

use super::{Context, Planned, Program, autoconf, cmake, found, listed, make, meson, shared};
use crate::toolchain::Needs;
use crate::{BuildError, Outputs};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Build systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildSystem {
    /// `configure` of Autoconf, then make.
    Autoconf,
    /// CMake.
    Cmake,
    /// meson.
    Meson,
    /// A `configure` of another make, then make.
    Configure,
    /// make alone.
    Make,
}

impl BuildSystem {
    /// All of them, in the order in which they are looked for.
    pub const ALL: [BuildSystem; 5] =
        [BuildSystem::Autoconf, BuildSystem::Cmake, BuildSystem::Meson, BuildSystem::Configure, BuildSystem::Make];

    /// The name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            BuildSystem::Autoconf => "autoconf",
            BuildSystem::Cmake => "CMake",
            BuildSystem::Meson => "meson",
            BuildSystem::Configure => "configure",
            BuildSystem::Make => "make",
        }
    }

    /// Whether a folder is built by it.
    fn builds(self, folder: &Path) -> bool {
        match self {
            BuildSystem::Autoconf => autoconf::is_made_by_autoconf(folder),
            BuildSystem::Cmake => folder.join(cmake::MARK).is_file(),
            BuildSystem::Meson => folder.join(meson::MARK).is_file(),
            BuildSystem::Configure => folder.join(autoconf::MARK).is_file(),
            BuildSystem::Make => make::makefile(folder, None).is_some(),
        }
    }
}

/// Names of files that make a folder a project, for an error message.
pub const MARKS: [&str; 6] = [autoconf::MARK, cmake::MARK, meson::MARK, "GNUmakefile", "makefile", "Makefile"];

/// A project.
#[derive(Clone, Debug)]
pub struct Native {
    folder: PathBuf,
    system: BuildSystem,
    needs: Needs,
    own_name: Option<String>,
    /// Of a makefile that make would not take by itself.
    makefile: Option<String>,
}

impl Native {
    /// The project in a folder; `None` if nothing here is known. `wanted`: the build system that the user names.
    ///
    /// # Errors
    /// If all that is missing is `configure`.
    pub(super) fn find(folder: &Path, wanted: Option<BuildSystem>) -> Result<Option<Native>, BuildError> {
        let found = match wanted {
            // Both are recognised by the same file.
            Some(BuildSystem::Autoconf) if !autoconf::is_made_by_autoconf(folder) => Some(BuildSystem::Configure),
            Some(wanted) => Some(wanted),
            None => BuildSystem::ALL.into_iter().find(|system| system.builds(folder)),
        };
        let Some(system) = found.filter(|system| system.builds(folder)) else {
            return autoconf::refuse_without_configure(folder).map(|()| None);
        };
        Ok(Some(Native::new(folder, system, None)))
    }

    /// The project of a file that its build system reads (`Makefile.linux`, `CMakeLists.txt`), in its folder; `None` if it is
    /// none of those.
    ///
    /// # Errors
    /// As [`Native::find`].
    pub(super) fn of(file: &Path) -> Result<Option<Native>, BuildError> {
        let (Some(folder), Some(name)) = (file.parent(), file.file_name().and_then(OsStr::to_str)) else {
            return Ok(None);
        };
        match name {
            autoconf::MARK => Native::find(folder, Some(BuildSystem::Autoconf)),
            cmake::MARK => Native::find(folder, Some(BuildSystem::Cmake)),
            meson::MARK => Native::find(folder, Some(BuildSystem::Meson)),
            name => Ok(make::is_makefile(name).then(|| Native::new(folder, BuildSystem::Make, Some(name)))),
        }
    }

    fn new(folder: &Path, system: BuildSystem, makefile: Option<&str>) -> Native {
        let cxx = match system {
            BuildSystem::Autoconf | BuildSystem::Configure => autoconf::needs_cxx(folder),
            BuildSystem::Cmake => cmake::needs_cxx(folder),
            BuildSystem::Meson => meson::needs_cxx(folder),
            BuildSystem::Make => make::needs_cxx(folder, makefile) && shared::has_cxx(folder),
        };
        let own_name = match system {
            BuildSystem::Autoconf => autoconf::name(folder),
            BuildSystem::Cmake => cmake::name(folder),
            BuildSystem::Meson => meson::name(folder),
            BuildSystem::Configure | BuildSystem::Make => None,
        };
        let needs = Needs { rust: false, c: true, cxx };
        Native { folder: folder.to_owned(), system, needs, own_name, makefile: makefile.map(str::to_owned) }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) const fn kind(&self) -> &'static str {
        self.system.name()
    }

    pub(super) const fn needs(&self) -> Needs {
        self.needs
    }

    /// The same project without a C++ compiler: a makefile may name one for a test or an example only.
    pub(super) fn without_cxx(&self) -> Option<Native> {
        let is_optional = self.system == BuildSystem::Make && self.needs.cxx;
        is_optional.then(|| Native { needs: Needs { cxx: false, ..self.needs }, ..self.clone() })
    }

    pub(super) fn names(&self) -> Vec<String> {
        found::names_of(&self.folder, self.own_name.clone())
    }

    pub(super) fn plan(&self, context: &Context<'_>) -> Result<Planned, BuildError> {
        let mut planned = match self.system {
            BuildSystem::Autoconf => autoconf::plan(&self.folder, context, true),
            BuildSystem::Configure => autoconf::plan(&self.folder, context, false),
            BuildSystem::Cmake => cmake::plan(&self.folder, context),
            BuildSystem::Meson => meson::plan(&self.folder, context),
            BuildSystem::Make => make::plan(&self.folder, self.makefile.as_deref(), context),
        }?;
        planned.folders.push(PathBuf::from(shared::empty_root(context)));
        // Beside the sources, which must not be written to.
        let inside = context.work.join("out");
        Ok(Planned { inside, ..planned })
    }

    pub(super) fn programs(&self, outputs: &Outputs, tools: &Path) -> Result<Vec<Program>, BuildError> {
        let folder = outputs.made().last().unwrap_or(&self.folder).to_owned();
        found::programs(&folder, self.system.name(), |programs| {
            let listing = match self.system {
                BuildSystem::Cmake => listed::cmake::listing(&folder),
                BuildSystem::Meson => listed::meson::listing(&folder),
                BuildSystem::Autoconf | BuildSystem::Configure | BuildSystem::Make => {
                    listed::make::listing(outputs.text(), &programs, tools)
                }
            };
            listing.mark(programs, &folder)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Option<&'static str>, String>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let found = Native::find(folder.path(), None);
        let kind = found.map(|found| found.map(|native| native.kind())).map_err(|error| error.to_string());
        (folder, kind)
    }

    #[test]
    fn the_first_build_system_of_the_order_is_taken() {
        let generated = ("configure", "#! /bin/sh\n# Generated by GNU Autoconf 2.71.\n");
        let own = ("configure", "#!/bin/sh\n");
        let (cmake, meson, make) = (("CMakeLists.txt", ""), ("meson.build", ""), ("Makefile", ""));
        let of = |files: &[(&str, &str)]| project(files).1;
        assert_eq!(of(&[generated, cmake, meson, make]), Ok(Some("autoconf")));
        assert_eq!(of(&[own, cmake, meson, make]), Ok(Some("CMake")));
        assert_eq!(of(&[own, meson, make]), Ok(Some("meson")));
        assert_eq!(of(&[own, make]), Ok(Some("configure")));
        assert_eq!(of(&[make]), Ok(Some("make")));
        assert_eq!(of(&[("GNUmakefile", "")]), Ok(Some("make")));
        assert_eq!(of(&[("README", "")]), Ok(None));
    }

    #[test]
    fn sources_without_configure_name_the_command_that_makes_it() {
        let (folder, refused) = project(&[("configure.ac", ""), ("Makefile.am", "")]);
        let refused = refused.unwrap_err();
        assert!(refused.contains("autoreconf -fi") && refused.contains(folder.path().to_str().unwrap()), "{refused}");
        let (_folder, refused) = project(&[("configure.ac", ""), ("autogen.sh", "")]);
        assert!(refused.unwrap_err().contains("./autogen.sh"));
    }

    #[test]
    fn a_compiler_of_cxx_is_wanted_only_if_the_project_names_the_language() {
        let cxx = |name: &str, text: &str| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(name), text).unwrap();
            fs::create_dir(folder.path().join("research")).unwrap();
            fs::write(folder.path().join("research/a.cc"), "").unwrap();
            Native::find(folder.path(), None).unwrap().unwrap().needs().cxx
        };
        assert!(!cxx("CMakeLists.txt", "# one\nproject(brotli C)\n"));
        assert!(cxx("CMakeLists.txt", "project(cmark VERSION 0.30.2\n LANGUAGES C CXX)"));
        assert!(cxx("CMakeLists.txt", "project(x C)\nenable_language( CXX )"));
        // Without a language CMake means both; there is a C++ file.
        assert!(cxx("CMakeLists.txt", "PROJECT(x)"));
        assert!(cxx("meson.build", "project('x', ['c', 'cpp'])"));
        assert!(!cxx("meson.build", "project('x', 'c')"));
        assert!(cxx("Makefile", "a: a.o\n\t$(CXX) -o a a.o\n"));
        let (folder, _) = project(&[("Makefile", "test: ; $(CXX) -v\n"), ("a.c", "")]);
        assert!(!Native::find(folder.path(), None).unwrap().unwrap().needs().cxx, "no file is C++");
        assert!(!cxx("Makefile", "a: a.o\n\t$(CC) -o a a.o\n"));
    }
}
