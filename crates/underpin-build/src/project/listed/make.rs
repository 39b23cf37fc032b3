//! What make says: the commands that `make install` would run, shown and not run (`-n`).
//!
//! make runs a line that calls make again even then, so that the makefiles below are shown too. Autoconf's makefiles do
//! nothing else in such a line, and put everything below `DESTDIR`. Others are asked only if no such line does more.

use super::{Listing, Role};
use crate::Step;
use crate::project::{Program, shared};
use std::fs;
use std::path::{Path, PathBuf};

/// How many makefiles are looked at, and how deep.
const MOST: usize = 500;
const DEPTH: u8 = 5;

/// The question: it never fails, and its output is the answer. `folder` has the makefiles, `variables` are the build's own
/// behind make's name, and what a line writes after all goes below `scratch`.
pub fn question(make: &Path, folder: &Path, variables: Vec<String>, scratch: &Path) -> Step {
    const ASKED: &str = r#"make=$1; shift; "$make" -n install "$@" 2>/dev/null; exit 0"#;
    let mut arguments = vec!["-c".to_owned(), ASKED.to_owned(), "sh".to_owned(), make.display().to_string()];
    arguments.extend(variables);
    arguments.push(format!("DESTDIR={}", scratch.display()));
    Step::new("look up what is installed", PathBuf::from("/bin/sh"), arguments, folder).captured()
}

/// The programs that a line of the answer names which copies something. One that compiles or links names what it makes, and one
/// that only calls make may name a folder.
pub fn listing(answer: &str, programs: &[Program], tools: &Path) -> Listing {
    let tools = tools.display().to_string();
    let ends = |char: char| char.is_whitespace() || "'\"`;=()&|".contains(char);
    let answer = answer.replace("\\\n", " ");
    let lines = answer.lines().filter(|line| !line.contains(&tools) && copies(line));
    let words: Vec<&str> = lines.flat_map(|line| line.split(ends)).filter(|word| !word.is_empty()).collect();
    let mut listing = Listing::default();
    for program in programs {
        let named = words.iter().any(|word| names(word, program));
        listing.add(program.path.clone(), if named { Role::Installed } else { Role::Built });
    }
    listing
}

/// Whether a line of a shell copies: by install(1) or a script in its place, libtool, cp, mv or ln.
fn copies(line: &str) -> bool {
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let is_copy = |command: &str| ["install", "ginstall", "cp", "mv", "ln"].contains(&&*name(command));
    commands(line).any(is_copy)
        || line.contains("--mode=install")
        || line.split_whitespace().any(|word| ["install-sh", "install.sh"].contains(&&*name(word)))
}

/// Whether a word is a program's path or name, or a pattern for it (`bin/*`).
fn names(word: &str, program: &Program) -> bool {
    let word = word.trim_start_matches("./");
    let (folder, last) = word.rsplit_once('/').unwrap_or(("", word));
    match last.split_once('*') {
        None => last == program.name,
        Some((before, after)) => {
            // Everything of no folder is a pattern of `case` more often than programs.
            let says = !folder.is_empty() || !before.is_empty() || !after.is_empty();
            let is_there =
                program.path.parent().is_some_and(|parent| parent.ends_with(folder.trim_start_matches("./")));
            says && is_there && program.name.starts_with(before) && program.name.ends_with(after)
        }
    }
}

/// Whether there are makefiles, as [`texts`] has them, and none has a line which make would run even under `-n` and which does
/// more than to call make.
pub fn may_be_asked(texts: &[String]) -> bool {
    (1..MOST).contains(&texts.len()) && !texts.iter().any(|text| has_active_line(text))
}

/// The makefiles in a folder and below it, and what they are made from; of a large project not all.
pub fn texts(sources: &Path) -> Vec<String> {
    let mut files = Vec::new();
    collect(sources, DEPTH, &mut files);
    files.iter().map(|path| shared::text(path)).collect()
}

fn collect(folder: &Path, depth: u8, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if found.len() >= MOST {
            return;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth > 0 {
                collect(&path, depth - 1, found);
            }
        } else if name.to_ascii_lowercase().contains("makefile") || name.ends_with(".mk") || name.ends_with(".mak") {
            found.push(path);
        }
    }
}

/// What may stand beside a call of make: it changes nothing.
const HARMLESS: [&str; 22] = [
    "$(MAKE)", "${MAKE}", "cd", "for", "do", "done", "if", "then", "else", "elif", "fi", "test", "[", "exit", "echo",
    "set", ":", "true", "false", "while", "printf", "pwd",
];

fn has_active_line(text: &str) -> bool {
    let joined = text.replace("\\\n", " ");
    joined.lines().filter_map(recipe).any(|line| {
        let plain = line.trim_start_matches(['@', '-', ' ', '\t']);
        let runs = plain.starts_with('+') || line.contains("$(MAKE)") || line.contains("${MAKE}");
        runs && !commands(plain.trim_start_matches('+')).all(|command| HARMLESS.contains(&command))
    })
}

/// What a line of a makefile makes a shell run, if it is one of a rule: behind a tab, or behind the rule's semicolon.
fn recipe(line: &str) -> Option<&str> {
    if let Some(line) = line.strip_prefix('\t') {
        return Some(line);
    }
    let (rule, line) = line.split_once(';')?;
    (rule.contains(':') && !rule.trim_start().starts_with('#')).then_some(line)
}

/// The commands of a line, each by its first word that is neither an assignment nor a part of the shell's grammar.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    const GRAMMAR: [&str; 9] = ["do", "then", "else", "elif", "if", "while", "!", "{", "env"];
    line.split([';', '|', '&']).filter_map(|part| {
        let is_command =
            |word: &&str| !word.is_empty() && !GRAMMAR.contains(word) && (word.starts_with('$') || !word.contains('='));
        part.split_whitespace().map(|word| word.trim_start_matches(['(', '@'])).find(is_command)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_only_calls_make_is_harmless_and_one_that_copies_too_is_not() {
        for text in [
            "install: all\n\t$(MAKE) -C src install\n",
            "install:\n\tfor d in a b; do (cd $$d && $(MAKE) install) || exit 1; done\n",
            "install:\n\t@cd src && \\\n\t CC=x ${MAKE} install\n",
            "install:\n\tcp a /usr/bin\n",
            "install: ; install a /usr/bin\n",
            "MAKE=$(MAKE) -s\n",
        ] {
            assert!(!has_active_line(text), "{text}");
        }
        for text in [
            "install:\n\t$(MAKE) -C src; cp src/a /usr/bin\n",
            "install:\n\t$(MAKE) all && \\\n\tinstall -m755 a /usr/bin\n",
            "install:\n\t+cp a /usr/bin\n",
            "install:\n\t@+ install a /usr/bin\n",
            "install: ; $(MAKE) x && mv a /usr/bin\n",
            "install:\n\t$(shell rm -rf /x) $(MAKE)\n",
        ] {
            assert!(has_active_line(text), "{text}");
        }
    }

    #[test]
    fn programs_are_named_by_their_path_a_pattern_or_in_a_list_and_not_where_they_are_linked() {
        let program = |path: &str| Program {
            name: Path::new(path).file_name().unwrap().to_string_lossy().into_owned(),
            path: path.into(),
            helper: false,
        };
        let programs = ["/s/src/a", "/s/b", "/s/bin/c", "/s/gen", "/s/d"].map(program);
        // The last three as automake and redis have them: a pattern of `case`, a call of make for a folder, what is made.
        let answer = "install -m 755 src/a '/d/usr/bin'\nlist='b'; for p in $list; do \\\n  x=1 /usr/bin/install -c $p; \\\ndone\n\
                      cp ./bin/* /d/bin\n/t/cc -o gen gen.o\ncase $d in ./*) install;; *) cd $d;; esac\n\
                      cd deps && make d\necho gen; ar rcu d.a\n";
        let listing = listing(answer, &programs, Path::new("/t"));
        let marked = listing.mark(programs.to_vec(), Path::new("/s"));
        let helpers: Vec<&str> = marked.iter().filter(|one| one.helper).map(|one| one.name.as_str()).collect();
        assert_eq!(helpers, ["gen", "d"]);
    }
}
