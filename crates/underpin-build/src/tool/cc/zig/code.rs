//! What zig hears with every source, so that a project gets from it what it gets from the compiler its authors used. The
//! project's own options come later and win.

use super::super::{is_assembly, sources};
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

/// The options of one call.
pub fn options(spec: &Spec, cxx: bool, arguments: &[OsString]) -> Vec<&'static str> {
    let says = |prefix: &str| arguments.iter().any(|word| word.as_encoded_bytes().starts_with(prefix.as_bytes()));
    let has_code = !sources(arguments).any(is_assembly);
    let mut options = Vec::new();
    // zig switches off each feature that its baseline lacks, this one too, without which clang 18 to 21 take no function whose
    // own attribute asks for AVX-512 (libdeflate, simdjson). Alone it adds no instruction; other versions do not know it.
    if spec.processor == Processor::X86_64 && has_code {
        options.extend(["-Xclang", "-target-feature", "-Xclang", "+evex512"]);
    }
    // zig turns the sanitizer on wherever nothing is optimised; a released program should not trap.
    if !says("-fsanitize") {
        options.push("-fno-sanitize=undefined");
    }
    // zig writes debugging information unless it is told not to: zstd is 5.4 MiB with it and 1.3 without. It cannot be told
    // otherwise by a later `-g`, so a project that says anything about it decides alone.
    if !says("-g") {
        options.push("-g0");
    }
    if cxx && has_code {
        options.extend(REMOVED_NAMES);
        // gcc warns of the keyword, in every standard.
        options.push("-Wno-error=register");
    }
    options
}
