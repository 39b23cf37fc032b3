//! Which of the programs that a build system made are for the user: what it would install. Tools of the build itself, tests
//! and examples are helpers.
//!
//! CMake and meson write down what they install. make is asked what `make install` would run. If nothing is installed, or
//! nobody can say, the helpers are those that other parts of the build depend on, and those whose place or name says that
//! they are tests.

pub(super) mod cmake;
pub(super) mod make;
pub(super) mod meson;

use super::Program;
use std::path::{Path, PathBuf};

/// What a build system says about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It is installed.
    Installed,
    /// It is one of the project's programs, and not installed.
    Built,
    /// Other parts of the build need it.
    Tool,
}

/// What a build system says about the programs that it made.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    roles: Vec<(PathBuf, Role)>,
}

impl Listing {
    fn add(&mut self, path: PathBuf, role: Role) {
        self.roles.push((path.canonicalize().unwrap_or(path), role));
    }

    /// The programs, with the helpers marked. `folder`: where they were found.
    pub(super) fn mark(&self, mut programs: Vec<Program>, folder: &Path) -> Vec<Program> {
        let role = |program: &Program| {
            let path = program.path.canonicalize().unwrap_or_else(|_| program.path.clone());
            self.roles.iter().find(|(known, _)| *known == path).map(|(_, role)| *role)
        };
        let installs = programs.iter().any(|program| role(program) == Some(Role::Installed));
        for program in &mut programs {
            program.helper = match role(program) {
                Some(Role::Installed) => false,
                Some(Role::Tool) => true,
                // What was built by another build system's call, if this one knows of its own programs.
                None if !self.roles.is_empty() => true,
                _ => installs || is_of_tests_or_others(&program.path, folder),
            };
        }
        // A project of nothing but tests, say: then they are what it is for.
        if programs.iter().all(|program| program.helper) {
            programs.iter_mut().for_each(|program| program.helper = false);
        }
        programs
    }
}

/// Whether a program's folder below `top`, or a word of its name, is one of tests, or its folder one of other projects.
fn is_of_tests_or_others(path: &Path, top: &Path) -> bool {
    const FOLDERS: [&str; 20] = [
        "test",
        "tests",
        "testing",
        "testsuite",
        "unittest",
        "unittests",
        "example",
        "examples",
        "bench",
        "benchmark",
        "benchmarks",
        "fuzz",
        "deps",
        "third_party",
        "thirdparty",
        "3rdparty",
        "vendor",
        "external",
        "extern",
        "subprojects",
    ];
    const WORDS: [&str; 6] = ["test", "tests", "unittest", "unittests", "benchmark", "example"];
    let below = path.strip_prefix(top).unwrap_or(path);
    let mut parts = below.components().rev().map(|part| part.as_os_str().to_string_lossy().to_ascii_lowercase());
    let name = parts.next().unwrap_or_default();
    let in_tests = parts.any(|folder| FOLDERS.contains(&folder.as_str()));
    in_tests || name.split(|char: char| !char.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(listing: &Listing, paths: &[&str]) -> Vec<String> {
        let program = |path: &&str| {
            let name = Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
            Program { name, path: path.into(), helper: false }
        };
        let programs = listing.mark(paths.iter().map(program).collect(), Path::new("/p/tests-of/r"));
        programs.into_iter().filter(|program| program.helper).map(|program| program.name).collect()
    }

    fn of(roles: &[(&str, Role)]) -> Listing {
        Listing { roles: roles.iter().map(|(path, role)| (path.into(), *role)).collect() }
    }

    #[test]
    fn what_is_not_installed_is_a_helper_where_something_is() {
        let listing = of(&[("/p/tests-of/r/a", Role::Installed), ("/p/tests-of/r/b", Role::Built)]);
        assert_eq!(marked(&listing, &["/p/tests-of/r/a", "/p/tests-of/r/b", "/p/tests-of/r/sub/c"]), ["b", "c"]);
    }

    #[test]
    fn where_nothing_is_installed_tools_and_tests_are_helpers() {
        let listing = of(&[
            ("/p/tests-of/r/a", Role::Built),
            ("/p/tests-of/r/generate", Role::Tool),
            ("/p/tests-of/r/api_test", Role::Built),
            ("/p/tests-of/r/Tests/b", Role::Built),
        ]);
        let all = ["/p/tests-of/r/a", "/p/tests-of/r/generate", "/p/tests-of/r/api_test", "/p/tests-of/r/Tests/b"];
        assert_eq!(marked(&listing, &all), ["generate", "api_test", "b"]);
        assert_eq!(marked(&Listing::default(), &all), ["api_test", "b"]);
    }

    #[test]
    fn a_project_of_nothing_but_tests_delivers_them() {
        assert!(marked(&Listing::default(), &["/p/tests-of/r/tests/a", "/p/tests-of/r/b-test"]).is_empty());
    }

    #[test]
    fn the_folder_above_the_results_says_nothing() {
        assert!(marked(&Listing::default(), &["/p/tests-of/r/contest", "/p/tests-of/r/latest"]).is_empty());
        assert!(!is_of_tests_or_others(Path::new("/test/r/a"), Path::new("/test/r")));
    }
}
