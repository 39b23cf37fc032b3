//! Programs that a build system left somewhere, found by looking.
//!
//! What the plan's linker made has our note: that tells a program from a helper that was built for this machine, from a
//! wrapper script of libtool, and from any other executable.

use super::Program;
use crate::BuildError;
use crate::note::read_note;
use std::fs;
use std::path::Path;

/// Folders in which build systems try compilers.
const OF_TESTS: [&str; 6] = ["CMakeFiles", "CMakeTmp", "meson-private", "meson-logs", ".git", "confdir3"];

/// What was found.
#[derive(Debug, Default)]
struct Found {
    programs: Vec<Program>,
    /// A program without our note, by its name.
    without_note: Option<String>,
}

/// The programs below a folder. `mark`: which of them are helpers.
///
/// # Errors
/// [`BuildError::NoProgram`], with what was found instead.
pub fn programs(
    folder: &Path,
    tool: &'static str,
    mark: impl FnOnce(Vec<Program>) -> Vec<Program>,
) -> Result<Vec<Program>, BuildError> {
    let mut found = Found::default();
    look(folder, &mut found);
    let mut programs = mark(found.programs);
    let depth = |program: &Program| program.path.components().count();
    programs.sort_by_key(|program| (program.name.clone(), program.helper, depth(program), program.path.clone()));
    // An installed copy, or libtool's own beside its wrapper.
    programs.dedup_by(|later, first| later.name == first.name);
    if !programs.is_empty() {
        return Ok(programs);
    }
    let hint = match found.without_note {
        Some(name) => format!(
            "{name} was linked by another compiler than the one passed in CC; a name of a compiler is written into the \
             build files (see {})",
            folder.display()
        ),
        None => "nothing that it made can be started; name a target or an option behind `--`".to_owned(),
    };
    Err(BuildError::NoProgram { tool, hint })
}

/// One open folder at a time: a tree may be deeper than a process may have files open.
fn look(folder: &Path, found: &mut Found) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !OF_TESTS.contains(&name.as_str()) {
                folders.push(path);
            } else if kind.is_file() && !name.starts_with("conftest") && !name.starts_with("sanitycheck") {
                match is_noted(&path) {
                    Some(true) => {
                        let name = name.strip_prefix("lt-").map_or(name.clone(), str::to_owned);
                        found.programs.push(Program { name, path, helper: false });
                    }
                    Some(false) => found.without_note = Some(name),
                    None => {}
                }
            }
        }
    }
}

/// Whether a program has our note; `None` for a file that cannot be executed.
fn is_noted(path: &Path) -> Option<bool> {
    use std::os::unix::fs::PermissionsExt;
    let data = fs::metadata(path).ok()?;
    if data.permissions().mode() & 0o111 == 0 {
        return None;
    }
    let (elf, noted) = read_note(path)?;
    // A shared library can have the bit too.
    let starts = elf.interpreter.is_some() || elf.ident.file_type == underpin_elf::FileType::Executable;
    (noted || starts).then_some(noted)
}

/// Which of several programs are wanted: those that the user names, else all but helpers if they go to a folder, else the one
/// named like the project. The names of the others are for a remark.
///
/// # Errors
/// If a named one does not exist, or there are several and nothing selects one.
pub fn choose(
    programs: Vec<Program>,
    wanted: &[String],
    all: bool,
    project: &[String],
) -> Result<(Vec<Program>, Vec<String>), BuildError> {
    let names: Vec<String> = programs.iter().map(|program| program.name.clone()).collect();
    if let Some(missing) = wanted.iter().find(|name| !names.contains(name)) {
        return Err(BuildError::NoSuchProgram { name: missing.clone(), names: names.join(", ") });
    }
    let usual: Vec<String> =
        programs.iter().filter(|program| !program.helper).map(|program| program.name.clone()).collect();
    let meant: Vec<String> = if !wanted.is_empty() {
        wanted.to_vec()
    } else if all || usual.len() < 2 {
        usual
    } else {
        let called = |name: &&String| project.iter().any(|project| project.eq_ignore_ascii_case(name));
        match usual.iter().find(called) {
            Some(name) => vec![name.clone()],
            None => return Err(BuildError::SeveralPrograms { names: usual.join(", ") }),
        }
    };
    let others = names.into_iter().filter(|name| !meant.contains(name)).collect();
    Ok((programs.into_iter().filter(|program| meant.contains(&program.name)).collect(), others))
}

/// Names that a project goes by: that of its folder, without a version.
pub fn names_of(folder: &Path, own: Option<String>) -> Vec<String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_version = |rest: &str| rest.starts_with(|char: char| char.is_ascii_digit());
    let cut = name.match_indices(['-', '_']).find(|(at, _)| is_version(name.get(at + 1..).unwrap_or_default()));
    let short = cut.and_then(|(at, _)| name.get(..at)).map(str::to_owned);
    own.into_iter().chain(short).chain([name]).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs by their names; `-` is in front of a helper's.
    fn of(names: &[&str]) -> Vec<Program> {
        let program = |name: &str, helper| Program { name: name.to_owned(), path: name.into(), helper };
        names
            .iter()
            .map(|name| name.strip_prefix('-').map_or_else(|| program(name, false), |name| program(name, true)))
            .collect()
    }

    fn chosen(names: &[&str], wanted: &[&str], all: bool, folder: &str) -> Result<Vec<String>, String> {
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        choose(of(names), &wanted, all, &names_of(Path::new(folder), None))
            .map(|(programs, _)| programs.into_iter().map(|program| program.name).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn one_program_is_meant_whatever_the_project_is_called() {
        assert_eq!(chosen(&["a"], &[], false, "/b"), Ok(vec!["a".to_owned()]));
    }

    #[test]
    fn of_several_the_one_called_like_the_project_is_meant() {
        for folder in ["/cmark-0.30.2", "/cmark", "/cmark_0.30"] {
            assert_eq!(chosen(&["api_test", "cmark"], &[], false, folder), Ok(vec!["cmark".to_owned()]));
        }
        let refused = chosen(&["api_test", "cmark"], &[], false, "/x").unwrap_err();
        assert!(refused.contains("api_test, cmark") && refused.contains("--bin"), "{refused}");
    }

    #[test]
    fn a_helper_is_delivered_only_if_the_user_names_it() {
        assert_eq!(chosen(&["a", "-gen"], &[], false, "/x"), Ok(vec!["a".to_owned()]));
        assert_eq!(chosen(&["a", "b", "-gen"], &[], true, "/x"), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(chosen(&["a", "-gen"], &["gen"], true, "/x"), Ok(vec!["gen".to_owned()]));
        let refused = chosen(&["a", "b", "-gen"], &[], false, "/gen").unwrap_err();
        assert!(refused.contains("a, b") && !refused.contains("gen"), "{refused}");
    }

    #[test]
    fn a_name_or_a_folder_for_all_decides() {
        assert_eq!(chosen(&["a", "b"], &["b"], false, "/x"), Ok(vec!["b".to_owned()]));
        assert_eq!(chosen(&["a", "b"], &[], true, "/x").map(|all| all.len()), Ok(2));
        let refused = chosen(&["a", "b"], &["c"], true, "/x").unwrap_err();
        assert!(refused.contains("no program `c`") && refused.contains("a, b"), "{refused}");
    }
}
