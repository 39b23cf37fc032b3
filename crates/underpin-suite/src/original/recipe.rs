//! How an original is built and run, as data.

use super::RowName;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// What a recipe depends on besides the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Processors that a program may use.
    pub processors: usize,
    /// The short form: fewer repetitions and shorter runs.
    pub is_quick: bool,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { processors: 1, is_quick: false }
    }
}

/// How an original is built and run.
///
/// The folder of the sources is copied, `written` is written into the copy, and each program is built there. Then a
/// folder for the runs gets the programs, the `copied` and the `work_files`; every step of every run starts in it as
/// `./PROGRAM`.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Files that are written into the copy of the sources before the build.
    pub written: Vec<Written>,
    /// What is built. None of the makefiles is used: they choose a compiler, a linkage or a processor by themselves.
    pub programs: Vec<Program>,
    /// Files of the sources that the programs need when they run.
    pub copied: Vec<SourceCopy>,
    /// Files that are made for the programs.
    pub work_files: Vec<WorkFile>,
    /// Variables that every step gets besides the environment.
    pub environment: Vec<(&'static str, &'static str)>,
    /// What is run.
    pub runs: Vec<Run>,
}

/// A file that is not in the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its path below the sources.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// A program: `underpin build FIRST --as BUILD -o FOLDER/NAME -- WORDS`, in the copy of the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Its files, below the sources. The first is the project.
    pub sources: Vec<&'static str>,
    /// Whether every other C file beside the first one belongs to it too: forks have more tests than the original.
    pub takes_the_folder: bool,
    /// Options and libraries, which come behind the first file.
    pub options: Vec<String>,
}

/// A file of the sources that a run needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceCopy {
    /// Its path below the sources.
    pub from: &'static str,
    /// Its name beside the programs.
    pub to: &'static str,
    /// It is a script.
    pub is_executable: bool,
}

/// A file that the programs read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkFile {
    /// Its name beside the programs.
    pub name: &'static str,
    /// Its size. Its bytes are written, so that it is no hole.
    pub bytes: u64,
    /// The bytes of one write. It decides how large the pieces of the page cache are, and so what a fault in a mapping
    /// of the file costs: 10 ns if it was written at once, 700 ns in pieces of 8 kB (Linux 6.18, ext4).
    pub piece: usize,
}

/// One run: what is started in which order, and the rows that it has figures for.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its name, which [`parse`](super::OriginalSuite::parse) takes.
    pub name: &'static str,
    /// Our rows.
    pub rows: Vec<RowName>,
    /// What is started, in this order.
    pub steps: Vec<Step>,
    /// A program that has to lie at an absolute path while it runs, because the original names it so: program and path.
    /// If there is a file already, the run is refused.
    pub installed: Option<(&'static str, &'static str)>,
    /// How long one run usually takes.
    pub usual: Duration,
    /// How long each step may take. After it the run has failed, and all that it started is ended.
    pub deadline: Duration,
}

/// One command of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The program.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What it is for.
    pub role: Role,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It prints figures. If there are several in a run, their outputs are joined in order, and their times summed.
    Measures,
    /// It starts a server, which goes on in the background when the command has ended; it is ready after a moment.
    Serves {
        /// How long to wait for it.
        ready: Duration,
    },
    /// It ends the server. It is run also if what is between has failed.
    Ends,
}

impl Recipe {
    /// The files that the folder of the sources must have, below it: by these it is recognised.
    #[must_use]
    pub fn files(&self) -> Vec<&'static str> {
        let mut seen = BTreeSet::new();
        let sources = self.programs.iter().flat_map(|program| program.sources.iter().copied());
        let copied = self.copied.iter().map(|copy| copy.from);
        sources.chain(copied).filter(|path| seen.insert(*path)).collect()
    }

    /// A run by its name.
    #[must_use]
    pub fn run(&self, name: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.name == name)
    }

    /// The run that has a figure for a row.
    #[must_use]
    pub fn run_of(&self, row: RowName) -> Option<&Run> {
        self.runs.iter().find(|run| run.rows.contains(&row))
    }
}

impl Program {
    /// The first source: what is given to `underpin build`.
    #[must_use]
    pub fn project(&self) -> &'static str {
        self.sources.first().copied().unwrap_or_default()
    }

    /// The words for the compiler, after `--`. Paths in them are relative to the sources, where the build must be
    /// started. `beside` are the names of the files in the first one's folder.
    #[must_use]
    pub fn words(&self, beside: &[String]) -> Vec<String> {
        // Libraries come last: an archive is searched for what is missing so far.
        let (libraries, options): (Vec<&String>, Vec<&String>) =
            self.options.iter().partition(|option| option.starts_with("-l"));
        let sources = self.sources.iter().skip(1).map(|path| (*path).to_owned());
        let sources = sources.chain(self.further(beside));
        options.into_iter().cloned().chain(sources).chain(libraries.into_iter().cloned()).collect()
    }

    /// The C files beside the first one that are not named, if the program takes them, in the order of their names.
    fn further(&self, beside: &[String]) -> BTreeSet<String> {
        let folder = Path::new(self.project()).parent().unwrap_or(Path::new(""));
        let of_c = beside.iter().filter(|name| self.takes_the_folder && name.ends_with(".c"));
        let paths = of_c.filter_map(|name| folder.join(name).into_os_string().into_string().ok());
        paths.filter(|path| !self.sources.contains(&path.as_str())).collect()
    }
}

impl Step {
    /// A step that prints figures.
    pub(super) fn measures(program: &'static str, words: &[&str]) -> Step {
        Step { program, arguments: words.iter().map(|word| (*word).to_owned()).collect(), role: Role::Measures }
    }
}

/// Owned copies of words.
pub(super) fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
