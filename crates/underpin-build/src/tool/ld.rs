//! What rustc links with: the user's linker, or the plan's, with the objects first.

use super::cc::{Line, THREAD_STACK, foreign_start, says_linkage, zig_linkage};
use super::options::{Purpose, purpose};
use super::{Compiler, Dialect, Invocation, RustLinker, RustPlan, STATIC_PIE, Surroundings, Tool, ToolPlan};
use crate::{CLibrary, Linkage};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The command of a call of the linker.
pub fn invoke(
    plan: &ToolPlan,
    rust: &RustPlan,
    tool: Tool,
    arguments: &[OsString],
    around: Surroundings<'_>,
) -> Invocation {
    let linker = match (around.linker, tool) {
        (Some(linker), Tool::Ld) => RustLinker::Ld(linker.into(), flavor(linker, arguments)),
        (Some(linker), _) => RustLinker::Compiler(users(linker)),
        (None, _) => rust.linker.clone(),
    };
    let is_program = purpose(arguments) == Purpose::Program;
    let mut arguments = arguments.to_vec();
    let told_otherwise = matches!(&linker, RustLinker::Compiler(compiler) if compiler.dialect != Dialect::Own);
    if is_program && !told_otherwise {
        as_asked(plan.spec.linkage, &linker, &mut arguments);
    }
    if is_program && plan.spec.linkage.is_static() && !told_otherwise {
        // Crates of C++ (snmalloc-sys) ask for it by name. It is a shared library, which a static program cannot have; the
        // unwinder that rustc links in has its functions.
        arguments.retain(|word| word != "-lgcc_s");
    }
    if is_program {
        cxx_library(plan, &linker, &mut arguments, around);
    }
    match &linker {
        RustLinker::Ld(program, leading) => {
            let mut line: Vec<OsString> = leading.iter().map(OsString::from).collect();
            // `-flavor gnu` stays first.
            let flavor = if arguments.first().is_some_and(|word| word == "-flavor") { 2 } else { 0 };
            line.extend(arguments.drain(..flavor.min(arguments.len())));
            let first = line.len();
            line.extend(first_of_a_raw_link(plan).filter(|_| is_program));
            line.extend(rust.objects.iter().filter(|_| is_program).map(|object| object.as_os_str().to_owned()));
            line.append(&mut arguments);
            Invocation { first, ..Invocation::new(program, line) }
        }
        RustLinker::Compiler(compiler) if is_program => program(plan, rust, compiler, &arguments),
        RustLinker::Compiler(compiler) => {
            let mut line = Line::of(compiler);
            line.rest(compiler, &arguments, |_| true);
            line.finish(compiler)
        }
    }
}

/// If gcc has no C++ for the C library, zig compiles a crate's C++. Another compiler links it, which would take gcc's
/// C++ library or none: zig's archives are named instead.
fn cxx_library(plan: &ToolPlan, linker: &RustLinker, arguments: &mut Vec<OsString>, around: Surroundings<'_>) {
    let by_zig = |compiler: &Compiler| compiler.dialect == Dialect::Zig;
    let Some(compiler) = plan.cxx.as_ref().filter(|compiler| by_zig(compiler)) else { return };
    let is_wanted = |word: &OsString| word == "-lc++" || word == "-lstdc++";
    if matches!(linker, RustLinker::Compiler(linker) if by_zig(linker)) || !arguments.iter().any(is_wanted) {
        return;
    }
    let archives = (around.cxx_library)(compiler);
    if archives.is_empty() {
        return;
    }
    arguments.retain(|word| word != "-lc++abi");
    // In the place of the last: what refers to it comes before.
    let Some(at) = arguments.iter().rposition(is_wanted) else { return };
    arguments.splice(at..=at, archives);
    arguments.retain(|word| !is_wanted(word));
}

/// The link of a program by a compiler.
fn program(plan: &ToolPlan, rust: &RustPlan, compiler: &Compiler, arguments: &[OsString]) -> Invocation {
    let (linkage, dialect) = (plan.spec.linkage, compiler.dialect);
    let mut line = Line::of(compiler);
    match dialect {
        Dialect::Own => {}
        // Left to itself zig makes a static program for musl, whatever rustc says about the target's features.
        Dialect::Zig => line.words(zig_linkage(&plan.spec).iter().copied()),
        Dialect::Foreign => foreign_start(&mut line, compiler, linkage),
    }
    line.0.extend(plan.first_of_a_link(dialect));
    line.0.extend(rust.objects.iter().map(|object| object.as_os_str().to_owned()));
    let decided = dialect != Dialect::Own && linkage.is_static();
    let is_unwinder = |word: &str| word == "-lgcc_s" || word == "-lunwind";
    line.rest(compiler, arguments, |word| {
        // libgcc_s is glibc's; the unwinder of a foreign compiler is among what a link ends with.
        let is_replaced = decided && says_linkage(word) || dialect == Dialect::Foreign && is_unwinder(word);
        !is_replaced
    });
    if dialect == Dialect::Foreign {
        line.words(compiler.end.iter().map(String::as_str));
    }
    line.finish(compiler)
}

/// The command of a linker that is called by itself: the objects come first in a program.
pub fn raw(plan: &ToolPlan, arguments: &[OsString]) -> Option<Invocation> {
    let (program, leading) = plan.ld.split_first()?;
    let mut line: Vec<OsString> = leading.iter().map(OsString::from).collect();
    if purpose(arguments) == Purpose::Program {
        line.extend(first_of_a_raw_link(plan));
    }
    line.extend(arguments.iter().cloned());
    if purpose(arguments) == Purpose::Program {
        // Its last words are often the C library's.
        let at = line.iter().position(|word| word == "-lc" || word == "--start-group").unwrap_or(line.len());
        line.splice(at..at, plan.archive.iter().map(|archive| archive.as_os_str().to_owned()));
    }
    Some(Invocation { first: leading.len(), ..Invocation::new(program, line) })
}

/// [`ToolPlan::first_of_a_link`] for a linker that is called by itself.
fn first_of_a_raw_link(plan: &ToolPlan) -> impl Iterator<Item = OsString> {
    let stack = ["-z", THREAD_STACK].into_iter().filter(|_| plan.spec.libc == CLibrary::Musl);
    stack.map(OsString::from).chain(plan.objects.iter().map(|object| object.as_os_str().to_owned()))
}

/// The user's compiler, unchanged.
fn users(linker: &OsStr) -> Compiler {
    let plain = |program: &OsStr| Compiler {
        program: program.into(),
        leading: Vec::new(),
        dialect: Dialect::Own,
        start: Vec::new(),
        end: Vec::new(),
    };
    plain(linker)
}

/// lld has to be given its flavor unless it is started under a name that implies it.
fn flavor(linker: &OsStr, arguments: &[OsString]) -> Vec<String> {
    let name = Path::new(linker).file_stem().unwrap_or_default();
    let told = arguments.first().is_some_and(|word| word == "-flavor");
    if !told && (name == "rust-lld" || name == "lld") { vec!["-flavor".into(), "gnu".into()] } else { Vec::new() }
}

/// rustc's arguments for the kind of program that was asked for.
fn as_asked(linkage: Linkage, linker: &RustLinker, arguments: &mut Vec<OsString>) {
    if linkage != Linkage::StaticPie {
        return;
    }
    let has = |arguments: &[OsString], word: &str| arguments.iter().any(|argument| argument == word);
    // For some targets rustc has no static PIE (aarch64-unknown-linux-musl), though their code and start files are for
    // one.
    if has(arguments, "-static") && !has(arguments, "-pie") && !has(arguments, "-static-pie") {
        for argument in arguments.iter_mut() {
            start_file(argument);
        }
        let at = arguments.iter().position(|argument| argument == "-static").unwrap_or(0);
        match linker {
            RustLinker::Ld(..) => drop(arguments.splice(at..=at, STATIC_PIE.map(OsString::from))),
            RustLinker::Compiler(_) => {
                arguments[at] = "-static-pie".into();
                arguments.retain(|argument| argument != "-no-pie");
            }
        }
    }
    // musl's wrapper of gcc always passes `-dynamic-linker` and does not know `-static-pie`: it silently makes a
    // program that names a loader.
    if let RustLinker::Compiler(compiler) = linker
        && compiler.program.as_os_str().as_encoded_bytes().ends_with(b"musl-gcc")
        && let Some(at) = arguments.iter().position(|argument| argument == "-static-pie")
    {
        let words = ["-static".to_owned(), format!("-Wl,{}", STATIC_PIE[1..].join(","))];
        arguments.splice(at..=at, words.map(OsString::from));
    }
}

/// Start and end files for fixed addresses, replaced by those for any.
fn start_file(argument: &mut OsString) {
    let names = [("/crt1.o", "/rcrt1.o"), ("/crtbegin.o", "/crtbeginS.o"), ("/crtend.o", "/crtendS.o")];
    let Some(text) = argument.to_str() else { return };
    let replaced = names.iter().find_map(|(from, to)| text.strip_suffix(from).map(|folder| format!("{folder}{to}")));
    if let Some(replaced) = replaced {
        *argument = replaced.into();
    }
}

#[cfg(test)]
mod tests;
