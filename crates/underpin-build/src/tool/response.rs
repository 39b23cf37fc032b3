//! Response files: `@FILE` on a command line stands for the words in the file, by the rules of GNU's tools (libiberty's
//! `expandargv`), which clang, lld and zig follow too.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Files may name files; a file that names itself ends here, as it does in GNU's tools.
const MOST_FILES: usize = 2000;

/// The command line with the words of its response files in their place. What cannot be read stays as it is: a compiler
/// takes it for a file of that name. Borrowed if there was none.
pub(super) fn expand<'a>(
    arguments: &'a [OsString],
    response: &dyn Fn(&OsStr) -> Option<Vec<u8>>,
) -> Cow<'a, [OsString]> {
    if !arguments.iter().any(|argument| argument.as_bytes().starts_with(b"@")) {
        return Cow::Borrowed(arguments);
    }
    let mut waiting: Vec<OsString> = arguments.iter().rev().cloned().collect();
    let (mut line, mut files) = (Vec::new(), 0);
    while let Some(argument) = waiting.pop() {
        let named = argument.as_bytes().strip_prefix(b"@").filter(|_| files < MOST_FILES);
        match named.and_then(|file| response(OsStr::from_bytes(file))) {
            Some(text) => {
                files += 1;
                waiting.extend(words(&text).into_iter().rev());
            }
            None => line.push(argument),
        }
    }
    if files == 0 { Cow::Borrowed(arguments) } else { Cow::Owned(line) }
}

/// The words of a response file: white space separates, either quote groups, a backslash takes the next byte literally,
/// within quotes too.
fn words(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => word.get_or_insert_default().extend(bytes.next()),
            _ if quote == Some(byte) => quote = None,
            b'\'' | b'"' if quote.is_none() => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            // C's isspace: the vertical tab too.
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c if quote.is_none() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

/// The text of a response file with these words.
#[must_use]
pub fn response_file(words: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        if word.is_empty() {
            text.extend(b"\"\"");
        }
        for byte in word.as_bytes() {
            if b" \t\n\r\x0b\x0c'\"\\".contains(byte) {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn of(text: &str) -> Vec<String> {
        words(text.as_bytes()).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn words_are_separated_and_quoted_by_gnus_rules() {
        assert_eq!(of(" a\tb\n\x0bc\r\n"), ["a", "b", "c"]);
        assert_eq!(of("'a b' \"c 'd'\" e\\ f g\\\"h"), ["a b", "c 'd'", "e f", "g\"h"]);
        assert_eq!(of("x'y z'w \"\" '' \"a\\\"b\" 'c\\'d'"), ["xy zw", "", "", "a\"b", "c'd"]);
        assert_eq!(of("  \n"), Vec::<String>::new());
    }

    #[test]
    fn files_stand_for_their_words_where_they_are_named_and_within_each_other() {
        let response = |file: &OsStr| match file.to_str() {
            Some("one") => Some(b"a @two d".to_vec()),
            Some("two") => Some(b"b\n'c c'\n".to_vec()),
            Some("itself") => Some(b"x @itself".to_vec()),
            _ => None,
        };
        let line = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            expand(&words, &response).into_owned()
        };
        assert_eq!(line(&["-O2", "@one", "@none", "e"]), ["-O2", "a", "b", "c c", "d", "@none", "e"]);
        // It ends, with the word that is one file too many.
        assert_eq!(line(&["@itself"]).last().unwrap(), "@itself");
    }

    /// gcc prints the macros that it was given: what it reads from a file written here must be what went in.
    #[test]
    fn gcc_reads_from_a_written_file_what_went_in() {
        let Ok(version) = Command::new("cc").arg("--version").output() else { return };
        assert!(version.status.success());
        let folder = tempfile::tempdir().unwrap();
        for value in ["a b", "q\"q", "it's", "back\\slash", "tab\there", "", "\\", "'", "a'b\"c\\d e"] {
            let path = folder.path().join("args");
            let given: Vec<OsString> = ["-E", "-dM", "-x", "c", "/dev/null"]
                .iter()
                .map(OsString::from)
                .chain([format!("-DV={value}").into()])
                .collect();
            std::fs::write(&path, response_file(&given)).unwrap();
            let ask = |words: &[OsString]| {
                let output = Command::new("cc").args(words).output().unwrap();
                assert!(output.status.success(), "{value}: {}", String::from_utf8_lossy(&output.stderr));
                output.stdout
            };
            let file = OsString::from(format!("@{}", path.display()));
            assert_eq!(ask(std::slice::from_ref(&file)), ask(&given), "{value}");
            let read = |_: &OsStr| std::fs::read(&path).ok();
            assert_eq!(expand(&[file], &read).as_ref(), given.as_slice(), "{value}");
        }
    }
}
