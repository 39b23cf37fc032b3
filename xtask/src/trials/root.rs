//! Where the programs run: an empty folder as root, and a root with an old glibc. A folder with the work is bound to the root's
//! `/tmp`, in namespaces of the run's own, so that nothing is written to a root.

use super::projects::{BIDI_TXT, Project, WORD_C, WORDS_AWK};
use super::sources;
use crate::build::Processor;
use crate::run;
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Binds the folder, changes the root and starts the words behind both.
const ENTER: &str =
    r#"mount --bind "$1" "$2/tmp" && root=$2 && shift 2 && exec unshare --root="$root" --wd=/tmp -- "$@""#;
/// The statically linked emulator, which is copied beside the program.
const QEMU: &str = "qemu-aarch64-static";

/// The roots.
pub struct Roots {
    scratch: PathBuf,
    /// With nothing in it.
    pub empty: PathBuf,
    /// With an old glibc.
    pub old: Option<PathBuf>,
    work: PathBuf,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The same bytes.
    Same(usize),
    /// Other bytes, or an unsuccessful end.
    Other(String),
}

/// A run's output.
pub struct Ran(Output);

impl Roots {
    /// Prepares the work.
    ///
    /// # Errors
    /// If a compiler or the emulator is missing, or files cannot be written.
    pub fn new(old: Option<PathBuf>) -> anyhow::Result<Roots> {
        let scratch = run::scratch("build-trials")?;
        let (empty, work) = (scratch.join("empty"), scratch.join("work"));
        fs::create_dir_all(empty.join("tmp"))?;
        fs::create_dir_all(work.join("tree"))?;
        if let Some(old) = &old {
            ensure!(old.join("tmp").is_dir(), "the root needs a folder `tmp`, on which the work is mounted");
        }
        let roots = Roots { scratch, empty, old, work };
        roots.prepare()?;
        Ok(roots)
    }

    /// A tree from the workspace's own files, texts for the tools that take one, and the program for hyperfine to start.
    fn prepare(&self) -> anyhow::Result<()> {
        let work = &self.work;
        let place = work.display().to_string();
        for folder in ["crates", "docs", "workloads"] {
            run::must("cp", &["-r", folder, &format!("{place}/tree/")])?;
        }
        let mut text = String::new();
        for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/bench/tree.md"] {
            text += &fs::read_to_string(name)?;
        }
        fs::write(work.join("text.md"), text)?;
        fs::write(work.join("words.awk"), WORDS_AWK)?;
        fs::write(work.join("bidi.txt"), BIDI_TXT)?;
        run::compile_with("musl-gcc", work, "word", WORD_C, &["-static"])?;
        let qemu =
            sources::installed(QEMU).context("the programs of aarch64 need qemu: apt-get install qemu-user-static")?;
        fs::copy(qemu, work.join(QEMU))?;
        Ok(())
    }

    /// What the build of the distribution or of cargo prints, outside of any root.
    ///
    /// # Errors
    /// If it fails.
    pub fn expected(&self, project: &Project, program: &Path) -> anyhow::Result<Vec<u8>> {
        let output = self.clean(&mut Command::new(program)).args(project.work).current_dir(&self.work).output()?;
        ensure!(output.status.success(), "{} fails: {}", program.display(), String::from_utf8_lossy(&output.stderr));
        ensure!(!output.stdout.is_empty(), "{} prints nothing", program.display());
        Ok(in_order(project, output.stdout))
    }

    /// Puts a program into the work, and says how it is started there.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub fn take(&self, project: &Project, processor: Processor, program: &Path) -> anyhow::Result<Vec<String>> {
        fs::copy(program, self.work.join(project.program))?;
        let foreign = processor.of_kernel() != std::env::consts::ARCH;
        let mut words = if foreign { vec![format!("./{QEMU}")] } else { Vec::new() };
        words.push(format!("./{}", project.program));
        Ok(words)
    }

    /// Does the work in a root.
    ///
    /// # Errors
    /// If no namespaces can be made.
    pub fn run(&self, root: &Path, project: &Project, program: &[String]) -> anyhow::Result<Ran> {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", ENTER, "sh"]).arg(&self.work).arg(root);
        command.args(program).args(project.work);
        self.clean(&mut command).output().map(Ran).context("cannot start unshare")
    }

    /// The same environment for all: no locale, no colours, nothing of this machine.
    fn clean<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C")
    }

    /// Removes what was made.
    ///
    /// # Errors
    /// If it cannot.
    pub fn remove(self) -> anyhow::Result<()> {
        fs::remove_dir_all(&self.scratch).context("cannot remove the roots")
    }
}

impl Ran {
    /// Compares it with what is expected.
    pub fn judged(self, project: &Project, expected: &[u8]) -> Outcome {
        let Ran(output) = self;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or_default();
            return Outcome::Other(format!("{}: {last}", output.status));
        }
        let printed = in_order(project, output.stdout);
        if printed == expected {
            return Outcome::Same(printed.len());
        }
        let first = printed.iter().zip(expected).take_while(|(one, other)| one == other).count();
        Outcome::Other(format!("{} bytes, the first difference at {first} of {}", printed.len(), expected.len()))
    }
}

/// The lines of several threads come in any order.
fn in_order(project: &Project, output: Vec<u8>) -> Vec<u8> {
    if !project.any_order {
        return output;
    }
    let mut lines: Vec<&[u8]> = output.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::super::projects::{FD, PROJECTS};
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn ran(code: i32, stdout: &str) -> Ran {
        Ran(Output { status: ExitStatus::from_raw(code << 8), stdout: stdout.into(), stderr: b"a\nwhy".to_vec() })
    }

    #[test]
    fn the_same_bytes_are_the_same_and_nothing_else_is() {
        let cmark = PROJECTS.iter().find(|project| project.name == "cmark").unwrap();
        assert_eq!(ran(0, "b\na\n").judged(cmark, b"b\na\n"), Outcome::Same(4));
        assert!(matches!(ran(0, "a\nb\n").judged(cmark, b"b\na\n"), Outcome::Other(_)));
        assert!(matches!(ran(0, "").judged(cmark, b"b\n"), Outcome::Other(_)));
        assert_eq!(ran(1, "b\n").judged(cmark, b"b\n"), Outcome::Other("exit status: 1: why".to_owned()));
    }

    #[test]
    fn lines_of_several_threads_may_come_in_any_order_but_all_must_come() {
        let expected = in_order(&FD, b"b\na\n".to_vec());
        assert_eq!(ran(0, "a\nb\n").judged(&FD, &expected), Outcome::Same(4));
        assert!(matches!(ran(0, "a\na\n").judged(&FD, &expected), Outcome::Other(_)));
    }
}
