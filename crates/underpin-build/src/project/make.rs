//! A makefile, in a copy of the sources. The compilers are passed as variables of the command line, which win over what the
//! makefile says, and in the environment, which recipes and makefiles below see too.
//!
//! Arguments after `--` go to make: targets and variables.

use super::{Context, Copy, Planned, listed, shared};
use crate::tool::Tool;
use crate::{BuildError, Step};
use std::path::{Path, PathBuf};

/// Names of makefiles in GNU make's order (make(1)).
const MARKS: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// The makefile that make would take, or the one of another name.
pub fn makefile(folder: &Path, named: Option<&str>) -> Option<PathBuf> {
    let marks: &[&str] = named.as_ref().map_or(&MARKS, std::slice::from_ref);
    marks.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Whether a file is a makefile by its name, as `Makefile.linux` and `tools.mk` are. Those for `configure` to fill in are none yet.
pub fn is_makefile(name: &str) -> bool {
    let goes_on = |rest: &str| rest.is_empty() || rest.starts_with(['.', '-', '_']);
    let begins = MARKS.iter().any(|mark| name.strip_prefix(mark).is_some_and(goes_on));
    let ending = name.rsplit('.').next().unwrap_or_default();
    !["in", "am"].contains(&ending) && (begins || name.len() > 3 && ["mk", "mak"].contains(&ending))
}

/// Whether it compiles C++.
pub fn needs_cxx(folder: &Path, named: Option<&str>) -> bool {
    let text = makefile(folder, named).map(|path| shared::text(&path)).unwrap_or_default();
    ["CXX", "g++", "c++", ".cpp", ".cxx"].iter().any(|word| text.contains(word))
}

/// GNU make.
pub fn program() -> Result<PathBuf, BuildError> {
    shared::program(&["make", "gmake"], "make")
}

/// The call of make in a folder.
pub fn step(folder: &Path, variables: Vec<(String, String)>, arguments: Vec<String>) -> Result<Step, BuildError> {
    let mut all = vec![format!("-j{}", shared::jobs())];
    all.extend(arguments);
    Ok(Step::new("build", program()?, all, folder).with(variables))
}

/// The look at what `make install` would do.
pub fn question(
    folder: &Path,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
    context: &Context<'_>,
) -> Result<Step, BuildError> {
    let scratch = context.work.join("install");
    Ok(listed::make::question(&program()?, folder, arguments, &scratch).with(variables))
}

/// The commands, by the makefile of this name if there is one.
pub fn plan(folder: &Path, named: Option<&str>, context: &Context<'_>) -> Result<Planned, BuildError> {
    shared::is_plain(context, "make")?;
    let text = makefile(folder, named).map(|path| shared::text(&path)).unwrap_or_default();
    let all = listed::make::texts(folder);
    // What another makefile made of the same sources is no result of this one.
    let kind = named.map_or_else(|| "source".to_owned(), |name| format!("source-{name}"));
    let copy = shared::folder(context, &kind, &all);
    let mut variables = shared::variables(context);
    if context.toolchain.cxx.is_none() {
        // Ours reports why there is none; this machine's own would link for another C library.
        variables.push(("CXX".to_owned(), context.tool(Tool::Cxx)));
    }
    let mut arguments: Vec<String> = named.map_or_else(Vec::new, |name| vec!["-f".to_owned(), name.to_owned()]);
    let said = |name: &str| context.words.iter().any(|word| word.starts_with(&format!("{name}=")));
    for (name, path) in
        variables.iter().filter(|(name, _)| ["CC", "CXX", "AR", "RANLIB", "STRIP"].contains(&name.as_str()))
    {
        if !said(name) {
            arguments.push(format!("{name}={path}{}", all_options(&text, &all, name)));
        }
    }
    if let Some(tool) = linker(&text, &variables).filter(|_| !said("LD")) {
        arguments.push(format!("LD={tool}"));
    }
    let is_variable = |word: &&String| word.contains('=');
    let asked = arguments.iter().chain(context.words.iter().filter(is_variable)).cloned().collect();
    arguments.extend(context.words.iter().cloned());
    variables.push(shared::ceiling(&copy));
    let build = step(&copy, variables.clone(), arguments)?;
    let mut steps = vec![build.makes(copy.clone())];
    // Named targets may be less than what is installed, which make would then build first.
    if context.words.iter().all(|word| is_variable(&word)) && listed::make::may_be_asked(&all) {
        steps.push(question(&copy, variables, asked, context)?);
    }
    Ok(Planned {
        steps,
        copy: Some(Copy { from: folder.to_owned(), to: copy, with_results: false }),
        ..Planned::default()
    })
}

/// The value that a makefile gives a variable, the first one.
fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?.trim_start();
        let value = [":::=", "::=", ":=", "?=", "="].iter().find_map(|sign| rest.strip_prefix(sign))?;
        Some(value.split('#').next().unwrap_or_default().trim())
    })
}

/// The options of the makefile itself, or else those on which all makefiles agree that set the variable: what the command line
/// sets wins in each of them.
fn all_options(text: &str, all: &[String], name: &str) -> String {
    let own = own_options(text, name);
    let mut others = all.iter().filter(|text| value(text, name).is_some()).map(|text| own_options(text, name));
    let first = others.next().unwrap_or_default();
    if own.is_empty() && others.all(|other| other == first) { first } else { own }
}

/// `CC = gcc -std=c99`: the options stay, though the compiler is another.
fn own_options(text: &str, name: &str) -> String {
    let words = value(text, name).unwrap_or_default().split_whitespace().skip(1);
    let options =
        words.filter(|word| word.starts_with('-') && !word.contains('$') && *word != "-m64" && *word != "-m32");
    options.map(|word| format!(" {word}")).collect()
}

/// `LD` in a makefile is often the name of a compiler.
fn linker<'v>(text: &str, variables: &'v [(String, String)]) -> Option<&'v str> {
    let said = value(text, "LD")?.split_whitespace().next()?;
    let name = match said.rsplit('/').next()? {
        "gcc" | "cc" | "clang" => "CC",
        "g++" | "c++" | "clang++" => "CXX",
        _ => return None,
    };
    variables.iter().find(|(variable, _)| variable == name).map(|(_, path)| path.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makefiles_are_known_by_their_names() {
        for name in
            ["Makefile", "GNUmakefile", "Makefile.cmdline", "makefile.unix", "Makefile-static", "unix.mk", "a.mak"]
        {
            assert!(is_makefile(name), "{name}");
        }
        for name in ["Makefile.in", "Makefile.am", "Makefiles", "a.c", "mk", ".mk", "Makefile.linux.in"] {
            assert!(!is_makefile(name), "{name}");
        }
    }

    #[test]
    fn options_behind_the_makefiles_compiler_stay() {
        assert_eq!(own_options("CC = gcc -std=c99 -Wall # fast\n", "CC"), " -std=c99 -Wall");
        assert_eq!(own_options("CC?=ccache gcc -m64 $(X)\n", "CC"), "");
        assert_eq!(own_options("CCX = gcc -a\nCFLAGS=-b\n", "CC"), "");
        assert_eq!(own_options("", "CC"), "");
    }

    #[test]
    fn options_in_makefiles_below_stay_if_they_agree() {
        let top = "all:\n\tcd src && $(MAKE)\n".to_owned();
        let of = |below: &[&str]| {
            let below: Vec<String> =
                std::iter::once(top.clone()).chain(below.iter().map(ToString::to_string)).collect();
            all_options(&top, &below, "CC")
        };
        // Lua 5.4's src/Makefile.
        assert_eq!(of(&["CC= gcc -std=gnu99\n"]), " -std=gnu99");
        assert_eq!(of(&["CC=gcc -std=c99\n", "CFLAGS=-O2\n", "CC = cc -std=c99\n"]), " -std=c99");
        assert_eq!(of(&["CC=gcc -std=c99\n", "CC = cc\n"]), "");
        assert_eq!(of(&[]), "");
        assert_eq!(all_options("CC=cc -a\n", &["CC=cc -b\n".to_owned()], "CC"), " -a");
    }

    #[test]
    fn a_makefiles_ld_that_is_a_compiler_becomes_ours_and_a_linker_stays() {
        let variables = [("CC".to_owned(), "/t/cc".to_owned()), ("CXX".to_owned(), "/t/c++".to_owned())];
        assert_eq!(linker("LD=gcc\n", &variables), Some("/t/cc"));
        assert_eq!(linker("LD := /usr/bin/g++ -O2\n", &variables), Some("/t/c++"));
        assert_eq!(linker("LD = $(CC)\n", &variables), None);
        assert_eq!(linker("LD = ld\n", &variables), None);
        assert_eq!(linker("LDFLAGS = gcc\n", &variables), None);
    }
}
