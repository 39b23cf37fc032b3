//! What zig hears with every source, so that a project gets from it what it gets from the compiler its authors used. The
//! project's own options come later and win.

use super::super::{is_assembly, says, sources};
use crate::{Processor, Spec};
use std::ffi::OsString;

/// Names that C++17 and C++20 removed from the standard library. libstdc++ has all of them in every standard, so projects that
/// name none are compiled with them (aria2's `std::binary_function`); libc++ hides each until it is asked (its "Removed features").
const REMOVED_NAMES: [&str; 12] = [
    "-D_LIBCPP_ENABLE_CXX17_REMOVED_AUTO_PTR",
    "-D_LIBCPP_ENABLE_CXX17_REMOVED_BINDERS",
    "-D_LIBCPP_ENABLE_CXX17_REMOVED_RANDOM_SHUFFLE",
    "-D_LIBCPP_ENABLE_CXX17_REMOVED_UNARY_BINARY_FUNCTION",
    "-D_LIBCPP_ENABLE_CXX17_REMOVED_UNEXPECTED_FUNCTIONS",
    "-D_LIBCPP_ENABLE_CXX20_REMOVED_BINDER_TYPEDEFS",
    "-D_LIBCPP_ENABLE_CXX20_REMOVED_NEGATORS",
    "-D_LIBCPP_ENABLE_CXX20_REMOVED_RAW_STORAGE_ITERATOR",
    "-D_LIBCPP_ENABLE_CXX20_REMOVED_SHARED_PTR_UNIQUE",
    "-D_LIBCPP_ENABLE_CXX20_REMOVED_TEMPORARY_BUFFER",
    "-D_LIBCPP_ENABLE_CXX20_REMOVED_TYPE_TRAITS",
    "-D_LIBCPP_ENABLE_CXX20_REMOVED_UNCAUGHT_EXCEPTION",
];

/// What gcc before release 14 warns of in C, and clang since 16 to 22 makes errors of. Two are left out, as what they let pass
/// may be wrong without a word: a call of what nothing declares, whose result is taken for an int, and a pointer put into one.
const WARNINGS_OF_GCC: [&str; 4] = [
    "-Wno-error=implicit-int",
    "-Wno-error=return-mismatch",
    "-Wno-error=incompatible-pointer-types",
    "-Wno-error=incompatible-function-pointer-types",
];

/// The options of one call.
pub fn options(spec: &Spec, cxx: bool, arguments: &[OsString]) -> Vec<&'static str> {
    let says = |prefix| says(arguments, prefix);
    let level = asked(arguments);
    let mut options = Vec::new();
    // zig turns the sanitizer on wherever nothing is optimised; a released program should not trap.
    if !says("-fsanitize") {
        options.push("-fno-sanitize=undefined");
    }
    // zig writes debugging information unless it is told not to: zstd is 5.4 MiB with it and 1.6 without. It cannot be told
    // otherwise by a later `-g`, so a project that says anything about it decides alone.
    if !says("-g") {
        options.push("-g0");
    }
    // zig keeps frame pointers, as neither gcc nor clang does where it optimises for this processor.
    let optimises = level.is_some_and(|level| !matches!(level, "-O0" | "-Og"));
    if optimises && spec.processor == Processor::X86_64 {
        options.push("-fomit-frame-pointer");
    }
    // zig makes an error of `__DATE__` where it optimises.
    if !says("-Wdate-time") && !says("-Werror=date-time") {
        options.push("-Wno-date-time");
    }
    let sources: Vec<_> = sources(arguments).collect();
    let is_all_assembly = !sources.is_empty() && sources.iter().all(|source| is_assembly(source));
    if is_all_assembly {
        return options;
    }
    if sources.iter().any(|source| is_assembly(source)) {
        // Of what is for code alone.
        options.push("-Wno-unused-command-line-argument");
    }
    options.extend(for_code(spec, level));
    if cxx || sources.iter().any(|source| is_cxx(source)) {
        options.extend(REMOVED_NAMES);
        // gcc warns of the keyword, in every standard.
        options.push("-Wno-error=register");
    } else {
        options.extend(WARNINGS_OF_GCC);
    }
    options
}

/// Whether a compiler takes a source for C++ whatever its own name is, as makefiles do that have one name for both (gcc(1)).
fn is_cxx(source: &OsString) -> bool {
    const ENDS: [&str; 8] = [".cc", ".cp", ".cxx", ".cpp", ".CPP", ".c++", ".C", ".ii"];
    ENDS.iter().any(|end| source.as_encoded_bytes().ends_with(end.as_bytes()))
}

/// What no assembler hears.
fn for_code(spec: &Spec, level: Option<&str>) -> Vec<&'static str> {
    let mut options = Vec::new();
    // zig switches off each feature that its baseline lacks, this one too, without which clang 18 to 21 take no function whose
    // own attribute asks for AVX-512 (libdeflate, simdjson). Alone it adds no instruction; other versions do not know it.
    if spec.processor == Processor::X86_64 {
        options.extend(["-Xclang", "-target-feature", "-Xclang", "+evex512"]);
    }
    // zig defines it where it optimises: every assertion of a project would be gone, without a word.
    options.push("-UNDEBUG");
    options.extend(meant(level));
    options
}

/// The last level of optimisation that a call asks for.
fn asked(arguments: &[OsString]) -> Option<&str> {
    arguments.iter().rev().filter_map(|word| word.to_str()).find(|word| word.starts_with("-O"))
}

/// zig has four modes, and each of clang's levels becomes one of them: `-O1`, `-O3` and `-Ofast` are `-O2`, `-Oz` is `-Os`, and
/// `-Og` is `-O0`. Its clang takes the level that was meant.
fn meant(level: Option<&str>) -> &'static [&'static str] {
    match level {
        Some("-O1") => &["-Xclang", "-O1"],
        Some("-O3" | "-O4") => &["-Xclang", "-O3"],
        Some("-Ofast") => &["-Xclang", "-O3", "-ffast-math"],
        Some("-Oz") => &["-Xclang", "-Oz"],
        Some("-Og") => &["-Xclang", "-Og"],
        _ => &[],
    }
}
