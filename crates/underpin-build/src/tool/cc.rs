//! `cc` and `c++`: what a build system asks of a compiler, in the dialect of the one available.

use super::options::{Purpose, inputs, of_links, purpose};
use super::{
    Compiler, Dialect, Invocation, STATIC_PIE, Surroundings, Tool, ToolPlan, linkage_option, mapped, response,
};
use crate::{CLibrary, Linkage, Processor, Spec};
use std::ffi::{OsStr, OsString};
use zig::ZigWords;

/// The command of a call of a compiler, of which `tool` says the language.
pub fn invoke(
    plan: &ToolPlan,
    tool: Tool,
    compiler: &Compiler,
    arguments: &[OsString],
    around: Surroundings<'_>,
) -> Invocation {
    let purpose = purpose(arguments);
    if compiler.dialect == Dialect::Zig && purpose == Purpose::Question && arguments.iter().any(is_linkers_version) {
        // `zig cc` answers "zig ld 0.15.2", by which meson before 1.6 detects no linker and gives up.
        return Invocation::new(&compiler.program, ["ld.lld", "--version"].map(OsString::from).to_vec());
    }
    let mut line = Line::of(compiler);
    if purpose == Purpose::Question && arguments.iter().any(is_linkers_version) {
        // Of the linker that links, which is not the one that clang would take by itself.
        line.words(linker_choice(compiler));
    }
    if purpose != Purpose::Question {
        line.words(code_options(&plan.spec, tool, compiler, arguments));
    }
    if purpose == Purpose::Compile {
        line.words(language_of_stdin(compiler, arguments));
    }
    match purpose {
        Purpose::Program => program(&mut line, plan, compiler, arguments),
        Purpose::Library if is_unwrapped(compiler) => library(&mut line, plan, compiler, arguments),
        _ => line.rest(compiler, arguments, |_| true),
    }
    if purpose != Purpose::Question && !sources(arguments).all(is_assembly) {
        // Behind the project's own folders, which may have a header of the name. Those of a name that a C++ library has, too, are
        // for C alone: it insists that its own come first (libc++'s <cstdio>).
        let headers = plan.headers.iter().filter(|_| tool == Tool::Cc).chain(&plan.before);
        line.0.extend(headers.flat_map(|folder| ["-I".into(), folder.as_os_str().to_owned()]));
        line.0.extend(plan.behind.iter().flat_map(|folder| ["-idirafter".into(), folder.as_os_str().to_owned()]));
    }
    if purpose != Purpose::Question {
        // The last that fits wins, and a project may map a folder around this one.
        line.0.extend(mapped("-ffile-prefix-map=", around.folder));
    }
    let invocation = line.finish(compiler);
    if purpose == Purpose::Compile && compiler.dialect != Dialect::Zig { unlinked(invocation) } else { invocation }
}

/// Without what only a link reads: a recipe's folders of libraries are with its compiler's name, and so is clang's linker.
fn unlinked(mut invocation: Invocation) -> Invocation {
    let left_out = of_links(&invocation.arguments);
    invocation.first -= left_out.iter().filter(|at| **at < invocation.first).count();
    let arguments = std::mem::take(&mut invocation.arguments).into_iter().enumerate();
    invocation.arguments = arguments.filter(|(at, _)| !left_out.contains(at)).map(|(_, word)| word).collect();
    invocation
}

/// One call for each source of a compilation. `zig cc -c a.c b.c` (0.15) makes a single `a.o` of both, and with `-S` nothing at
/// all, without a word; what it only reads (`-E`, `-MM`, `-fsyntax-only`), it reads with this machine's headers. Other compilers
/// take each source for itself, and the output of one follows that of the other. `None`: one call will do.
pub fn apart(
    compiler: &Compiler,
    arguments: &[OsString],
    response: &dyn Fn(&OsStr) -> Option<Vec<u8>>,
) -> Option<Vec<Vec<OsString>>> {
    if compiler.dialect != Dialect::Zig {
        return None;
    }
    let arguments = response::expand(arguments, response);
    if purpose(&arguments) != Purpose::Compile {
        return None;
    }
    let sources = inputs(&arguments);
    let with_only = |source: usize| {
        let kept = arguments.iter().enumerate().filter(|(at, _)| *at == source || !sources.contains(at));
        kept.map(|(_, word)| word.clone()).collect()
    };
    (sources.len() > 1).then(|| sources.iter().map(|source| with_only(*source)).collect())
}

/// The language of a source on standard input. Without it zig passes its own target on to clang, which knows no version of glibc
/// in a target; meson asks so for the predefined macros.
fn language_of_stdin(compiler: &Compiler, arguments: &[OsString]) -> Vec<&'static str> {
    let reads_stdin = arguments.iter().any(|word| word == "-");
    let is_named = arguments.iter().any(|word| word.as_encoded_bytes().starts_with(b"-x"));
    if compiler.dialect != Dialect::Zig || !reads_stdin || is_named {
        return Vec::new();
    }
    vec!["-x", if compiler.leading.first().is_some_and(|verb| verb == "c++") { "c++" } else { "c" }]
}

fn linker_choice(compiler: &Compiler) -> impl Iterator<Item = &String> {
    compiler.start.iter().filter(|word| word.starts_with("-fuse-ld="))
}

fn is_linkers_version(word: &OsString) -> bool {
    word == "-Wl,--version"
}

/// What says that another linker links, or how: then the plan's script is left out.
const CHOOSES_SCRIPT: [&str; 6] = ["-fuse-ld", "-T", "-Wl,-T", "-Wl,--script", "-Wl,-dT", "-B"];

/// The link of a program: the objects come before anything else that defines their symbols.
fn program(line: &mut Line, plan: &ToolPlan, compiler: &Compiler, arguments: &[OsString]) {
    let linkage = plan.spec.linkage;
    match compiler.dialect {
        Dialect::Own => line.words(linkage_option(linkage).iter().copied()),
        Dialect::Zig => line.words(zig_linkage(&plan.spec).iter().copied()),
        Dialect::Foreign => foreign_start(line, compiler, linkage),
    }
    let other =
        |word: &OsString| CHOOSES_SCRIPT.iter().any(|start| word.as_encoded_bytes().starts_with(start.as_bytes()));
    // The plan's script is for GNU ld, and one language of a project may be another compiler's.
    let by_gnu_ld = compiler.dialect != Dialect::Zig && linker_choice(compiler).next().is_none();
    if let Some(script) = plan.layout.as_ref().filter(|_| by_gnu_ld && !arguments.iter().any(other)) {
        let mut word = OsString::from("-Wl,-T,");
        word.push(script);
        line.0.push(word);
    }
    line.0.extend(plan.first_of_a_link(compiler.dialect));
    line.rest(compiler, arguments, |word| !says_linkage(word));
    if compiler.dialect == Dialect::Foreign || plan.archive.is_some() {
        // What follows is not a source, whatever `-x` came before.
        line.words(["-x", "none"]);
    }
    line.0.extend(plan.archive.iter().map(|archive| archive.as_os_str().to_owned()));
    if compiler.dialect == Dialect::Foreign {
        line.words(compiler.end.iter().map(String::as_str));
    }
}

/// How large the stack of a thread is whose program does not say so: 8 MiB, as the limit of a first thread's usually is, which glibc
/// takes (pthread_create(3)). musl takes what the program's file says of its stack, up to this, and where it says nothing 128 KiB,
/// in which a program that runs on glibc may end (src/env/__init_tls.c, ldso/dynlink.c). Nothing of it is in memory before it is used.
pub(super) const THREAD_STACK: &str = "stack-size=8388608";

impl ToolPlan {
    /// What stands before everything else on a program's link line by a compiler: the size of a thread's stack (a project's own comes
    /// later, and wins; zig has one itself), and the objects.
    #[must_use]
    pub fn first_of_a_link(&self, dialect: Dialect) -> Vec<OsString> {
        let is_missing = self.spec.libc == CLibrary::Musl && dialect != Dialect::Zig;
        let stack = is_missing.then(|| format!("-Wl,-z,{THREAD_STACK}").into());
        stack.into_iter().chain(self.objects.iter().map(|object| object.as_os_str().to_owned())).collect()
    }
}

/// Whether a compiler for another C library is told its headers: it has no wrapper that knows start files.
fn is_unwrapped(compiler: &Compiler) -> bool {
    compiler.dialect == Dialect::Foreign && !compiler.leading.is_empty()
}

/// The link of a shared library: left to itself the compiler takes glibc's start files and libraries.
fn library(line: &mut Line, plan: &ToolPlan, compiler: &Compiler, arguments: &[OsString]) {
    if plan.spec.linkage.is_static() {
        // There is no shared C library that it could name; its symbols are those of whoever loads it.
        line.words(["-nostdlib"]);
        line.words(linker_choice(compiler));
        return line.rest(compiler, arguments, |_| true);
    }
    let of_programs = |word: &&String| *word == "-pie" || word.ends_with("crt1.o") || word.contains("-dynamic-linker");
    line.words(compiler.start.iter().filter(|word| !of_programs(word)));
    line.rest(compiler, arguments, |_| true);
    line.words(["-x", "none"]);
    line.words(compiler.end.iter().map(String::as_str));
}

/// What a link by a compiler of another C library begins with.
pub(super) fn foreign_start(line: &mut Line, compiler: &Compiler, linkage: Linkage) {
    if !linkage.is_static() {
        // A wrapper's specs name them; without one they are named here.
        return line.words(compiler.start.iter().map(String::as_str));
    }
    // gcc leaves the table of frames out of static programs, and libgcc's unwinder aborts without it.
    line.words(["-static", "-nostdlib", "-Wl,--eh-frame-hdr"]);
    if linkage == Linkage::StaticPie {
        line.words([format!("-Wl,{}", STATIC_PIE[1..].join(","))]);
    }
    line.words(compiler.start.iter().map(String::as_str));
}

/// zig links musl statically unless told otherwise, and does not know `-static-pie`.
pub(super) fn zig_linkage(spec: &Spec) -> &'static [&'static str] {
    match (spec.linkage, spec.libc) {
        (Linkage::StaticPie, _) => &["-static", "-pie"],
        (Linkage::Static, _) => &["-static", "-no-pie"],
        (Linkage::Dynamic, CLibrary::Musl) => &["-dynamic"],
        (Linkage::Dynamic, CLibrary::Glibc(_)) => &[],
    }
}

/// What each source needs for this kind of program; the user's options come later and win.
fn code_options(spec: &Spec, tool: Tool, compiler: &Compiler, arguments: &[OsString]) -> Vec<&'static str> {
    let mut options = Vec::new();
    match spec.linkage {
        Linkage::Static => options.push("-fno-pie"),
        _ if !says(arguments, "-fPIC") && !says(arguments, "-fpic") => options.push("-fPIE"),
        _ => {}
    }
    // Outline atomics are calls of functions that only libgcc and some compiler-rt define, and that read glibc's
    // `__getauxval` before anything has started.
    if spec.processor == Processor::Aarch64 && compiler.dialect != Dialect::Zig {
        options.push("-mno-outline-atomics");
    }
    if compiler.dialect == Dialect::Zig {
        options.extend(zig::code::options(spec, tool == Tool::Cxx, arguments));
    }
    options
}

/// Whether an argument begins so.
fn says(arguments: &[OsString], prefix: &str) -> bool {
    arguments.iter().any(|word| word.as_encoded_bytes().starts_with(prefix.as_bytes()))
}

fn sources(arguments: &[OsString]) -> impl Iterator<Item = &OsString> {
    inputs(arguments).into_iter().map(|at| &arguments[at])
}

/// Whether a source is assembly that no preprocessor sees: clang and zig warn of folders for it, and of some options for code.
fn is_assembly(source: &OsString) -> bool {
    source.as_encoded_bytes().ends_with(b".s")
}

/// Options for the kind of program, which the plan decides.
pub(super) fn says_linkage(word: &str) -> bool {
    matches!(word, "-static" | "--static" | "-static-pie" | "-pie" | "-no-pie" | "-nopie" | "-Wl,-static" | "-Wl,-pie")
}

/// Of those, what says that the program is for one address.
pub(super) fn says_fixed(word: &OsStr) -> bool {
    word == "-no-pie" || word == "-nopie"
}

/// A command line that grows.
pub(super) struct Line(pub Vec<OsString>);

impl Line {
    pub fn of(compiler: &Compiler) -> Line {
        Line(compiler.leading.iter().map(OsString::from).collect())
    }

    pub fn words<W: AsRef<OsStr>>(&mut self, words: impl IntoIterator<Item = W>) {
        self.0.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
    }

    /// The arguments that the compiler knows and that are kept.
    pub fn rest(&mut self, compiler: &Compiler, arguments: &[OsString], keep: impl Fn(&str) -> bool) {
        let (mut skip, mut zig) = (false, ZigWords::new(arguments));
        for argument in arguments {
            if std::mem::take(&mut skip) {
                continue;
            }
            match argument.to_str() {
                // A target named beside the one of `leading`: `cc` (the crate) passes clang's, which zig does not know.
                Some("-target" | "--target") if compiler.dialect != Dialect::Own => skip = true,
                Some(word) if compiler.dialect != Dialect::Own && word.starts_with("--target=") => {}
                Some(word) if compiler.dialect == Dialect::Zig => {
                    self.words(zig.word(word).into_iter().filter(|word| keep(word)));
                }
                Some(word) if !keep(word) => {}
                _ => self.0.push(argument.clone()),
            }
        }
    }

    pub fn finish(self, compiler: &Compiler) -> Invocation {
        Invocation { first: compiler.leading.len(), ..Invocation::new(&compiler.program, self.0) }
    }
}

mod zig;

#[cfg(test)]
mod tests;
