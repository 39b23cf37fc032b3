//! The first line of a script: the one other kind of file that the kernel starts by itself.

use bstr::{BStr, ByteSlice};

/// What the kernel reads of a script (execve(2), "Interpreter scripts"; `fs/binfmt_script.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptLine<'a> {
    /// The line without `#!` and the blanks around the rest.
    pub text: &'a BStr,
    /// The program that is started. Empty if the line names none: such a file is not started.
    pub interpreter: &'a BStr,
    /// Its first argument, blanks in it included; the script's path is the next.
    pub argument: Option<&'a BStr>,
}

impl<'a> ScriptLine<'a> {
    /// The kernel reads no more of a file (`BINPRM_BUF_SIZE`).
    pub const HEAD: usize = 256;

    /// The line at the start of a file; `None` if the file is no script.
    #[must_use]
    pub fn read(head: &'a [u8]) -> Option<ScriptLine<'a>> {
        let head = head.get(..Self::HEAD).unwrap_or(head).strip_prefix(b"#!")?;
        let text = head.lines().next().unwrap_or_default().trim_with(is_blank);
        let end = text.find_byteset(b" \t").unwrap_or(text.len());
        let (interpreter, rest) = text.split_at(end);
        let argument = rest.trim_with(is_blank);
        let argument = (!argument.is_empty()).then(|| argument.as_bstr());
        Some(ScriptLine { text: text.as_bstr(), interpreter: interpreter.as_bstr(), argument })
    }

    /// The command that env(1) looks for in `PATH`, if it is the interpreter and is told one. Without `-S` the whole argument is its
    /// name, blanks included.
    #[must_use]
    pub fn through_env(&self) -> Option<&'a BStr> {
        let argument = self.argument?;
        if self.interpreter.rsplit(|byte| *byte == b'/').next() != Some(b"env") {
            return None;
        }
        let is_name = |word: &&[u8]| !word.is_empty() && !word.starts_with(b"-") && !word.contains(&b'=');
        let several =
            ["-S", "-vS", "--split-string"].iter().find_map(|option| argument.strip_prefix(option.as_bytes()));
        match several {
            Some(rest) => {
                rest.trim_start_with(|char| char == '=').fields_with(is_blank).find(is_name).map(ByteSlice::as_bstr)
            }
            None => Some(argument).filter(|argument| is_name(&argument.as_bytes())),
        }
    }
}

const fn is_blank(char: char) -> bool {
    matches!(char, ' ' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<(String, Option<String>, Option<String>)> {
        let line = ScriptLine::read(text.as_bytes())?;
        let owned = |text: &BStr| text.to_string();
        Some((owned(line.interpreter), line.argument.map(owned), line.through_env().map(owned)))
    }

    #[test]
    fn the_rest_of_the_line_is_one_argument() {
        let of = |interpreter: &str, argument: Option<&str>| {
            Some((interpreter.to_owned(), argument.map(str::to_owned), None))
        };
        assert_eq!(line("#!/bin/sh\n"), of("/bin/sh", None));
        assert_eq!(line("#! \t/bin/sh -e  -u \t\nexit"), of("/bin/sh", Some("-e  -u")));
        assert_eq!(line("#!/bin/sh"), of("/bin/sh", None));
        assert_eq!(line("#!\n/bin/sh\n"), of("", None));
        assert_eq!(line("#!"), of("", None));
        assert_eq!(line("# !/bin/sh\n"), None);
        assert_eq!(line(""), None);
        let long = format!("#!/{}", "x".repeat(300));
        assert_eq!(line(&long).unwrap().0.len(), ScriptLine::HEAD - 2);
    }

    #[test]
    fn env_finds_a_command_and_splits_its_argument_only_if_it_is_told_to() {
        let of = |argument: &str| line(&format!("#!/usr/bin/env {argument}\n")).unwrap().2;
        assert_eq!(of("python3").as_deref(), Some("python3"));
        assert_eq!(of("python3 -u").as_deref(), Some("python3 -u"));
        assert_eq!(of("-S python3 -u").as_deref(), Some("python3"));
        assert_eq!(of("-SA=1 -i perl").as_deref(), Some("perl"));
        assert_eq!(of("--split-string=ruby -w").as_deref(), Some("ruby"));
        for none in ["", "-i", "A=1", "-S A=1"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(line("#!/usr/bin/printenv x\n").unwrap().2, None);
    }
}
