//! What a command line of a C compiler means, as far as a wrapper has to know.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// What a call of a compiler or linker is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A program.
    Program,
    /// A shared library.
    Library,
    /// One object made of several (`-r`).
    Partial,
    /// No link: preprocess, compile, assemble.
    Compile,
    /// A question, such as `--version`: nothing is made.
    Question,
}

/// Options whose value is the next argument.
const WITH_VALUE: [&str; 34] = [
    "-o",
    "-x",
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-isysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xclang",
    "-Xassembler",
    "-Xpreprocessor",
    "-T",
    "-u",
    "-z",
    "-e",
    "-target",
    "-arch",
    "-B",
    "-A",
    "--param",
    "-wrapper",
    "-aux-info",
    "-m",
    "-h",
];

/// What a call is for. Response files are expanded before.
pub fn purpose(arguments: &[OsString]) -> Purpose {
    let mut seen = Seen::default();
    for (_, word) in words(arguments) {
        match word {
            Word::Option(word) => {
                seen.input |= word.starts_with("-l");
                seen.word(word);
            }
            Word::Input => seen.input = true,
        }
    }
    seen.purpose()
}

/// Where the files that are compiled or linked stand among the arguments.
pub fn inputs(arguments: &[OsString]) -> Vec<usize> {
    words(arguments).filter(|(_, word)| matches!(word, Word::Input)).map(|(at, _)| at).collect()
}

/// Where the words stand that only a link reads, with their values. GCC passes over them where it only compiles; clang warns of each,
/// and meson makes an error of that warning.
pub fn of_links(arguments: &[OsString]) -> Vec<usize> {
    let is_so = |word: &str| word == "-s" || ["-L", "-Wl,", "-fuse-ld="].iter().any(|start| word.starts_with(start));
    let places = words(arguments).filter_map(|(at, word)| match word {
        Word::Option("-L" | "-Xlinker") => Some(at..at + 2),
        Word::Option(word) if is_so(word) => Some(at..at + 1),
        _ => None,
    });
    places.flatten().collect()
}

/// Options whose value is a folder to look into, joined to it or the next word.
const FOLDERS: [&str; 6] = ["-isystem", "-idirafter", "-iquote", "-I", "-L", "-B"];

/// Of a word that is such an option: the option, and what is joined to it, which is empty if the folder is the next word.
pub fn of_folder(word: &OsStr) -> Option<(&'static str, &[u8])> {
    FOLDERS.iter().find_map(|option| Some((*option, word.as_bytes().strip_prefix(option.as_bytes())?)))
}

enum Word<'a> {
    Option(&'a str),
    Input,
}

/// The arguments without the values of options, with their places.
fn words(arguments: &[OsString]) -> impl Iterator<Item = (usize, Word<'_>)> {
    let mut takes_value = false;
    arguments.iter().enumerate().filter_map(move |(at, argument)| {
        if std::mem::take(&mut takes_value) {
            return None;
        }
        match argument.to_str() {
            Some(word) if word.starts_with('-') && word.len() > 1 => {
                takes_value = WITH_VALUE.contains(&word);
                Some((at, Word::Option(word)))
            }
            _ => Some((at, Word::Input)),
        }
    })
}

#[derive(Default)]
struct Seen {
    compile: bool,
    shared: bool,
    partial: bool,
    input: bool,
}

impl Seen {
    fn word(&mut self, word: &str) {
        match word {
            "-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only" => self.compile = true,
            "-shared" | "--shared" | "-Bshareable" => self.shared = true,
            "-r" | "--relocatable" => self.partial = true,
            _ => {
                for part in word.strip_prefix("-Wl,").into_iter().flat_map(|rest| rest.split(',')) {
                    self.shared |= matches!(part, "-shared" | "--shared");
                    self.partial |= matches!(part, "-r" | "--relocatable");
                }
            }
        }
    }

    fn purpose(&self) -> Purpose {
        match self {
            _ if self.compile => Purpose::Compile,
            _ if !self.input => Purpose::Question,
            _ if self.partial => Purpose::Partial,
            _ if self.shared => Purpose::Library,
            _ => Purpose::Program,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Purpose {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        purpose(&words)
    }

    #[test]
    fn only_the_link_of_a_program_is_one() {
        assert_eq!(of("a.c -o a"), Purpose::Program);
        assert_eq!(of("-O2 -o a a.o -lm"), Purpose::Program);
        assert_eq!(of("-x c -"), Purpose::Program);
        assert_eq!(of("-c a.c -o a.o"), Purpose::Compile);
        assert_eq!(of("-E -"), Purpose::Compile);
        assert_eq!(of("-MM a.c"), Purpose::Compile);
        assert_eq!(of("-shared -fPIC a.o -o liba.so"), Purpose::Library);
        assert_eq!(of("-Wl,-O1,-shared a.o"), Purpose::Library);
        assert_eq!(of("-r a.o b.o -o c.o"), Purpose::Partial);
        assert_eq!(of("-Wl,-r a.o"), Purpose::Partial);
        for question in ["--version", "-v", "-print-search-dirs", "-dumpmachine", "-o a"] {
            assert_eq!(of(question), Purpose::Question, "{question}");
        }
    }

    #[test]
    fn inputs_are_neither_options_nor_their_values() {
        let at = |line: &str| inputs(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(at("-c a.c -I include b.c -O2"), [1, 4]);
        assert_eq!(at("-c -MF a.d -x c -"), [5]);
        assert_eq!(at("-lm --version"), [0; 0]);
    }

    #[test]
    fn the_value_of_an_option_is_no_option() {
        assert_eq!(of("-o -c a.c"), Purpose::Program);
        assert_eq!(of("-MF -S a.c"), Purpose::Program);
    }
}
