//! What is run: a command, under a variant, with the commands around it.

use crate::error::BenchError;
use crate::load::{Load, Server};
use crate::shell_word::shell_word;
use crate::streams::OutputTo;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use underpin_sys::{RawPid, Tracee};

/// How a command given as one string becomes words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// Cut into words here, as a shell would, without expanding anything.
    #[default]
    None,
    /// Passed to this program with `-c`.
    Program(Vec<OsString>),
}

/// A command: program and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// Program and arguments; never empty.
    words: Vec<OsString>,
    /// As a person would type it.
    shown: String,
    /// Its working directory; `None`: ours.
    directory: Option<PathBuf>,
    /// Where its output goes; `None`: where the output of all commands goes.
    output: Option<OutputTo>,
}

impl CommandLine {
    /// A command that is already split into words.
    ///
    /// # Errors
    /// [`BenchError::Nothing`] if there are no words.
    pub fn of_words(words: Vec<OsString>) -> Result<CommandLine, BenchError> {
        if words.is_empty() {
            return Err(BenchError::Nothing);
        }
        let shown = words.iter().map(|word| shell_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
        Ok(CommandLine { words, shown, directory: None, output: None })
    }

    /// A command in one string.
    ///
    /// # Errors
    /// If it is empty, or a quote is not closed.
    pub fn parse(text: &str, shell: &Shell) -> Result<CommandLine, BenchError> {
        let words = match shell {
            Shell::None => split(text)?,
            Shell::Program(program) => {
                let rest = ["-c", text].map(OsString::from);
                if text.trim().is_empty() { Vec::new() } else { program.iter().cloned().chain(rest).collect() }
            }
        };
        Ok(CommandLine { shown: text.trim().to_owned(), ..CommandLine::of_words(words)? })
    }

    /// The same command in another directory.
    #[must_use]
    pub fn in_directory(self, directory: Option<&Path>) -> CommandLine {
        CommandLine { directory: directory.map(Path::to_owned), ..self }
    }

    /// The same command with its own destination for its output.
    #[must_use]
    pub fn with_output(self, output: Option<OutputTo>) -> CommandLine {
        CommandLine { output, ..self }
    }

    /// The destination of its output, if it has its own.
    #[must_use]
    pub fn output(&self) -> Option<&OutputTo> {
        self.output.as_ref()
    }

    /// Program and arguments.
    #[must_use]
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// Its working directory, if not ours.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// A program's name for the search: a relative path is relative to the command's own directory.
    #[must_use]
    pub fn from_here(&self, program: &OsStr) -> OsString {
        match &self.directory {
            Some(directory) if program.as_bytes().contains(&b'/') => directory.join(program).into_os_string(),
            _ => program.to_owned(),
        }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Words of a command line by the rules of the shell for blanks, quotes and backslashes; nothing is expanded.
fn split(text: &str) -> Result<Vec<OsString>, BenchError> {
    let open = || BenchError::Quote(text.to_owned());
    let (mut words, mut word) = (Vec::new(), None::<Vec<u8>>);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'\t' | b'\n' => words.extend(word.take().map(OsString::from_vec)),
            b'\'' => loop {
                let target = word.get_or_insert_default();
                match bytes.next().ok_or_else(open)? {
                    b'\'' => break,
                    other => target.push(other),
                }
            },
            b'"' => double_quoted(&mut bytes, word.get_or_insert_default()).ok_or_else(open)?,
            b'\\' => word.get_or_insert_default().push(bytes.next().ok_or_else(open)?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word.take().map(OsString::from_vec));
    Ok(words)
}

/// The rest of a string in double quotes; `None` if it does not end.
fn double_quoted(bytes: &mut std::str::Bytes<'_>, word: &mut Vec<u8>) -> Option<()> {
    loop {
        match bytes.next()? {
            b'"' => return Some(()),
            b'\\' => match bytes.next()? {
                escaped @ (b'"' | b'\\' | b'$' | b'`') => word.push(escaped),
                other => word.extend([b'\\', other]),
            },
            other => word.push(other),
        }
    }
}

/// How far a proof has followed a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// Its exec is still to come: its memory is not yet that of the program.
    BeforeExec,
    /// The program has begun.
    PastExec,
}

/// Finds out from a process whether a variant is in effect in it. It is used once, in a watched run before the first
/// timed one; implementations omit the methods that they do not need.
pub trait Proof: fmt::Debug + Send + Sync {
    /// Follows a traced task from right before its exec for as long as it needs, and leaves it stopped.
    ///
    /// # Errors
    /// The reason why the variant is not in effect, a clause.
    fn follow(&self, task: Tracee) -> Result<Followed, String> {
        let _ = task;
        Ok(Followed::BeforeExec)
    }

    /// Looks at the first process of the command at its end, while it still has its memory.
    ///
    /// # Errors
    /// As for [`Proof::follow`].
    fn took(&self, pid: RawPid) -> Result<(), String> {
        let _ = pid;
        Ok(())
    }

    /// The same for a running process that may not be traced, for which [`Proof::follow`] is never called.
    ///
    /// # Errors
    /// As for [`Proof::follow`]; it may be too early, so the caller tries again.
    fn seen(&self, pid: RawPid) -> Result<(), String> {
        self.took(pid)
    }
}

/// How a command is varied: changes to the environment, a wrapper, and a proof that they took effect.
#[derive(Clone, Debug, Default)]
pub struct Variant {
    /// Its name; empty if nothing is changed.
    pub name: String,
    /// Variables set, or removed.
    pub changes: Vec<(OsString, Option<OsString>)>,
    /// Words before the command.
    pub wrapper: Vec<OsString>,
    /// The file that is executed in place of the command's program, under the name that the command has for it.
    pub program: Option<PathBuf>,
    /// How to prove that it is in effect.
    pub proof: Option<Arc<dyn Proof>>,
}

impl Variant {
    /// Another environment with its changes applied.
    #[must_use]
    pub fn environment(&self, inherited: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let changed = |name: &OsStr| self.changes.iter().any(|(other, _)| other == name);
        let kept = inherited.into_iter().filter(|(name, _)| !changed(name));
        // The last change of a variable counts.
        let last = |index: usize, name: &OsStr| !self.changes[index + 1..].iter().any(|(other, _)| other == name);
        let set = self.changes.iter().enumerate();
        let set = set.filter(|(index, (name, _))| last(*index, name));
        kept.chain(set.filter_map(|(_, (name, value))| Some((name.clone(), value.clone()?)))).collect()
    }
}

/// Commands around the runs; none is timed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Once before everything.
    pub setup: Option<CommandLine>,
    /// Before each run.
    pub prepare: Option<CommandLine>,
    /// After each run.
    pub conclude: Option<CommandLine>,
    /// Once after everything, also after a failure.
    pub cleanup: Option<CommandLine>,
}

/// One column of the comparison: a command, or a server under load, under a variant.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name in the report.
    pub name: String,
    /// What runs; for a server that underpin does not start, the request.
    pub command: CommandLine,
    /// The load, if the command is a server; `None`: the command ends by itself.
    pub load: Option<Arc<Load>>,
    /// The variant that it runs under.
    pub variant: Variant,
    /// The commands around its runs.
    pub hooks: Hooks,
    /// It is the reference once more, to show the noise.
    pub is_copy: bool,
    /// The file that its output goes to, if it is a program that reports its figures itself.
    pub reports: Option<PathBuf>,
}

impl Candidate {
    /// A command without a variant or hooks.
    #[must_use]
    pub fn new(name: impl Into<String>, command: CommandLine) -> Candidate {
        let (variant, hooks) = (Variant::default(), Hooks::default());
        Candidate { name: name.into(), command, load: None, variant, hooks, is_copy: false, reports: None }
    }

    /// The same, as a program that reports its figures itself, into a file of its own.
    #[must_use]
    pub fn reporting(self, file: PathBuf) -> Candidate {
        let command = self.command.with_output(Some(OutputTo::File(file.clone())));
        Candidate { command, reports: Some(file), ..self }
    }

    /// Whether underpin starts it.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.load.as_ref().is_none_or(|load| load.server == Server::Started)
    }

    /// Program and arguments with the wrapper before them. A wrapper is given the file that it is to execute.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = self.variant.wrapper.iter().chain(self.command.words()).cloned().collect();
        if let (Some(program), false) = (&self.variant.program, self.variant.wrapper.is_empty()) {
            words[self.variant.wrapper.len()] = program.clone().into();
        }
        words
    }

    /// The file to execute if it is not the one that the first word names.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.variant.program.as_deref().filter(|_| self.variant.wrapper.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let command = CommandLine::parse(text, &Shell::None).unwrap();
        command.words().iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn words_are_cut_as_a_shell_cuts_them() {
        // Each line was given to `sh -c 'printf "%s\n" ...'`.
        assert_eq!(words("a  b\tc"), ["a", "b", "c"]);
        assert_eq!(words("'a b' \"c d\"e f\\ g"), ["a b", "c de", "f g"]);
        assert_eq!(words(r#""a\"b" "a\nb" 'a\b' """#), ["a\"b", "a\\nb", "a\\b", ""]);
    }

    #[test]
    fn an_open_quote_and_an_empty_line_are_refused() {
        for text in ["'a", "\"a", "a\\"] {
            assert!(matches!(CommandLine::parse(text, &Shell::None), Err(BenchError::Quote(_))), "{text}");
        }
        assert!(matches!(CommandLine::parse("  ", &Shell::None), Err(BenchError::Nothing)));
        let shell = Shell::Program(vec!["sh".into()]);
        assert!(matches!(CommandLine::parse(" ", &shell), Err(BenchError::Nothing)));
        assert_eq!(CommandLine::parse("a | b", &shell).unwrap().words(), ["sh", "-c", "a | b"]);
    }

    #[test]
    fn words_are_shown_so_that_they_can_be_typed() {
        let command = CommandLine::of_words(["echo", "a b", "it's", ""].map(OsString::from).to_vec()).unwrap();
        assert_eq!(command.to_string(), r"echo 'a b' 'it'\''s' ''");
    }

    #[test]
    fn the_last_change_of_a_variable_counts() {
        let change = |name: &str, value: Option<&str>| (name.into(), value.map(OsString::from));
        let changes = vec![change("A", Some("1")), change("A", Some("2")), change("B", None), change("C", Some("3"))];
        let variant = Variant { changes, ..Variant::default() };
        let inherited = [("A", "0"), ("B", "0"), ("D", "0")].map(|(name, value)| (name.into(), value.into()));
        let expected = [("D", "0"), ("A", "2"), ("C", "3")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(variant.environment(inherited), expected);
    }
}
