//! Texts of manuals that make wants and the sources lack. Distributions remove those whose licence they reject (Debian the
//! manuals of bison and gawk, under the GFDL); make has no rule for what is gone, and stops. No program is made of them: in the
//! private copy of the sources each gets an empty file in its place, and make goes on.

use crate::work::write;
use crate::{BuildError, Plan, Step};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// Names of the files, one to a line, in the build's own folder: the next build of it finds nothing lacking.
const LIST: &str = "stand-ins";
/// A makefile that lacks more has other troubles.
const MOST: usize = 64;
/// What GNU make says of a file that it has no way to make, and of what is made of it (make(1), "Errors").
const NO_RULE: &str = "*** No rule to make target '";
const NEEDED_BY: &str = "', needed by '";
/// Ends of names of texts in Texinfo, and of what is made of them.
const TEXTS: [&str; 4] = ["texi", "texinfo", "txi", "info"];
/// What is made of a manual to be printed.
const PRINTED: [&str; 3] = ["dvi", "pdf", "ps"];

impl Plan {
    /// Puts an empty file in place of each text of a manual that a failed command lacked, by what it said: the command to be
    /// tried now, and the names. `None` if it lacked none, or none that an empty file would help.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn without_manual(&self, step: &Step, said: &str) -> Result<Option<(Step, Vec<String>)>, BuildError> {
        let Some(copy) = self.planned.copy.as_ref().filter(|_| is_make(step)) else { return Ok(None) };
        let mut before = self.stand_ins();
        let is_new = |name: &PathBuf| fs::symlink_metadata(copy.to.join(name)).is_err();
        // Several makes within make may lack the same.
        let lacking: BTreeSet<PathBuf> = lacking(said, &step.directory, &copy.to).into_iter().filter(is_new).collect();
        if lacking.is_empty() || before.len().saturating_add(lacking.len()) > MOST {
            return Ok(None);
        }
        for name in &lacking {
            empty(&copy.to.join(name))?;
        }
        before.extend(lacking.iter().cloned());
        let text: String = before.iter().map(|name| format!("{}\n", name.display())).collect();
        write(&self.work.join(LIST), text.as_bytes())?;
        Ok(Some((without_makeinfo(step), lacking.iter().map(|name| name.display().to_string()).collect())))
    }

    /// A command as it is to be run where an earlier build has put empty files in place of texts.
    #[must_use]
    pub fn as_remembered<'s>(&self, step: &'s Step) -> Cow<'s, Step> {
        if is_make(step) && !self.stand_ins().is_empty() {
            Cow::Owned(without_makeinfo(step))
        } else {
            Cow::Borrowed(step)
        }
    }

    /// What the user should know of the files that are empty, if there are such.
    #[must_use]
    pub fn manual_remark(&self) -> Option<String> {
        let names = self.stand_ins();
        let first = names.first()?.display();
        let more = if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
        Some(format!("the sources lack texts of their manual ({first}{more}): built with empty files in their place"))
    }

    /// The files that are there and empty: sources may have been completed since.
    fn stand_ins(&self) -> Vec<PathBuf> {
        let Some(copy) = &self.planned.copy else { return Vec::new() };
        let text = fs::read_to_string(self.work.join(LIST)).unwrap_or_default();
        let is_empty = |name: &PathBuf| fs::metadata(copy.to.join(name)).is_ok_and(|data| data.len() == 0);
        text.lines().map(PathBuf::from).filter(is_empty).collect()
    }
}

/// Whether a command takes variables as make does.
fn is_make(step: &Step) -> bool {
    step.program.file_name().is_some_and(|name| name == "make" || name == "gmake")
}

/// A manual of nothing is not worth an error of the program that formats it.
fn without_makeinfo(step: &Step) -> Step {
    let mut step = step.clone();
    if !step.arguments.iter().any(|word| word.starts_with("MAKEINFO=")) {
        step.arguments.push("MAKEINFO=true".to_owned());
    }
    step
}

/// Older than everything: what was made of the text when the sources had it, examples among them, is not made again.
fn empty(path: &Path) -> Result<(), BuildError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(BuildError::io(folder))?;
    }
    let made = fs::File::create_new(path).map_err(BuildError::io(path))?;
    made.set_modified(SystemTime::UNIX_EPOCH).map_err(BuildError::io(path))
}

/// The texts of manuals that make had no rule for, below `copy`.
fn lacking(said: &str, directory: &Path, copy: &Path) -> Vec<PathBuf> {
    // By the name under which a make within make speaks: `make[2]`.
    let mut entered: BTreeMap<&str, &Path> = BTreeMap::new();
    let mut found = Vec::new();
    for line in said.lines() {
        let Some((make, says)) = line.trim_end().split_once(": ") else { continue };
        if let Some(folder) = says.strip_prefix("Entering directory '").and_then(|rest| rest.strip_suffix('\'')) {
            entered.insert(make, Path::new(folder));
        }
        let Some((name, by)) = says.strip_prefix(NO_RULE).and_then(|rest| rest.split_once(NEEDED_BY)) else {
            continue;
        };
        let by = by.split('\'').next().unwrap_or_default();
        let path = entered.get(make).copied().unwrap_or(directory).join(name);
        let is_plain = path.components().all(|one| matches!(one, Component::Normal(_) | Component::RootDir));
        if let (true, true, Ok(below)) = (is_plain, is_of_manual(name, by), path.strip_prefix(copy)) {
            found.push(below.to_owned());
        }
    }
    found
}

/// Whether a file is a text of a manual, or something is made of it that can only be one: a page for man(1), a text that Texinfo
/// includes, a document to be printed.
fn is_of_manual(name: &str, by: &str) -> bool {
    let ending = |name: &str| Path::new(name).extension().map(|ending| ending.to_string_lossy().into_owned());
    let is = |name: &str, more: &[&str]| {
        let ending = ending(name).unwrap_or_default();
        let is_page = ending.len() == 1 && ending.bytes().all(|byte| (b'1'..=b'8').contains(&byte));
        is_page || TEXTS.iter().chain(more).any(|text| ending == *text)
    };
    is(name, &[]) || is(by, &PRINTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(said: &str) -> Vec<String> {
        lacking(said, Path::new("/c"), Path::new("/c")).into_iter().map(|name| name.display().to_string()).collect()
    }

    #[test]
    fn what_make_lacks_is_found_in_the_folder_of_the_make_that_says_it() {
        // As bison and gawk say it.
        let said = "make[1]: Entering directory '/c'\nmake[2]: Entering directory '/c/doc'\n\
                    make[2]: *** No rule to make target 'gawktexi.in', needed by 'gawk.texi'.  Stop.\n\
                    make[1]: *** No rule to make target 'doc/figs/example.txt', needed by 'doc/bison.info'.  Stop.\n";
        assert_eq!(names(said), ["doc/gawktexi.in", "doc/figs/example.txt"]);
        let top = "make: *** No rule to make target 'doc/bison.texi', needed by 'examples/extracted.stamp'.  Stop.\n";
        assert_eq!(names(top), ["doc/bison.texi"]);
    }

    #[test]
    fn a_page_for_man_is_of_a_manual_and_a_source_of_a_program_is_not() {
        let asked = |name: &str, by: &str| {
            names(&format!("make: *** No rule to make target '{name}', needed by '{by}'.  Stop.\n")).len()
        };
        assert_eq!(asked("prog.1", "all"), 1);
        assert_eq!(asked("prog.1.in", "prog.1"), 1);
        for (name, by) in
            [("a.c", "a.o"), ("libx.so.9", "prog"), ("page.html", "page.h"), ("text.txt", "all-am"), ("1", "2")]
        {
            assert_eq!(asked(name, by), 0, "{name}");
        }
    }

    #[test]
    fn nothing_is_put_outside_the_copy() {
        for name in ["../a.texi", "/etc/a.texi", "/d/a.texi", "x/../../a.texi"] {
            assert_eq!(
                names(&format!("make: *** No rule to make target '{name}', needed by 'all'.  Stop.\n")),
                [""; 0]
            );
        }
    }
}
