//! `rustc`, as the wrapper that cargo calls: appends what the target needs, and remembers the user's linker.

use super::{Invocation, LINKER_VARIABLE, RustLinker, RustPlan, Surroundings, Tool, ToolError, mapped};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The command of a call of rustc; the first argument is the real one.
pub fn invoke(rust: &RustPlan, arguments: &[OsString], around: Surroundings<'_>) -> Result<Invocation, ToolError> {
    let (real, rest) = arguments.split_first().ok_or(ToolError::NoRustc)?;
    let mut line = rest.to_vec();
    let mut environment = Vec::new();
    if target(rest).is_some_and(|target| target == rust.triple.as_str()) {
        let users = linker(rest);
        let tool = match &users {
            Some(linker) if is_ld(linker) => Tool::Ld,
            Some(_) => Tool::Linker,
            None if matches!(rust.linker, RustLinker::Ld(..)) => Tool::Ld,
            None => Tool::Linker,
        };
        line.extend(rust.flags.iter().map(OsString::from));
        line.extend(mapped("--remap-path-prefix=", around.folder));
        // The last one counts, and this one comes after whatever a configuration or RUSTFLAGS said.
        let mut own = OsString::from("-Clinker=");
        own.push(around.folder.join(tool.name()));
        line.push(own);
        environment.extend(users.map(|linker| (LINKER_VARIABLE, linker)));
    }
    let program = match &rust.wrapper {
        Some(wrapper) => {
            line.insert(0, real.clone());
            wrapper.clone()
        }
        None => real.into(),
    };
    Ok(Invocation { environment, ..Invocation::new(program, line) })
}

/// The value of an option in each of its forms, the last one.
fn last_value(arguments: &[OsString], is: impl Fn(&str, Option<&str>) -> Option<String>) -> Option<OsString> {
    let mut found = None;
    for (at, argument) in arguments.iter().enumerate() {
        let next = arguments.get(at.saturating_add(1)).and_then(|next| next.to_str());
        if let Some(value) = argument.to_str().and_then(|word| is(word, next)) {
            found = Some(value.into());
        }
    }
    found
}

/// `--target T` or `--target=T`.
fn target(arguments: &[OsString]) -> Option<OsString> {
    last_value(arguments, |word, next| match word {
        "--target" => next.map(str::to_owned),
        _ => word.strip_prefix("--target=").map(str::to_owned),
    })
}

/// `-C linker=L`, `-Clinker=L` or `--codegen linker=L`, wherever cargo took it from.
fn linker(arguments: &[OsString]) -> Option<OsString> {
    last_value(arguments, |word, next| match word {
        "-C" | "--codegen" => next?.strip_prefix("linker=").map(str::to_owned),
        _ => word.strip_prefix("-Clinker=").or_else(|| word.strip_prefix("--codegen=linker=")).map(str::to_owned),
    })
}

/// Whether rustc takes a program of this name for a linker and not for a compiler (`rustc_target::spec::LinkerFlavor`).
fn is_ld(linker: &OsStr) -> bool {
    let stem = Path::new(linker).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let name = Path::new(linker).file_name().and_then(OsStr::to_str).unwrap_or_default();
    matches!(stem, "ld" | "lld" | "rust-lld") || stem.ends_with("-ld") || name.ends_with("ld.lld") || name == "mold"
}

#[cfg(test)]
mod tests;
