//! Scripts that start a program and set variables for it, as `R` does for `/usr/lib/R/bin/exec/R`.

use super::model::file_name;
use bstr::{BStr, BString, ByteSlice};
use std::collections::BTreeMap;
use underpin_resolve::Root;
use underpin_resolve::root::FileKind;

/// A larger script does more than start a program.
const LIMIT: u64 = 1 << 20;
/// Directories of the scripts that users start.
const PATH: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/games"];

/// A script, and the variables that it exports whose values are existing directories.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrapper {
    pub script: BString,
    pub variables: Vec<(BString, BString)>,
}

/// Finds a script of the program's name that ends in an `exec` and exports paths: in PATH, or above the program.
pub(super) fn find(root: &dyn Root, program: &BStr) -> Option<Wrapper> {
    let program = root.real_path(program).unwrap_or_else(|_| program.into());
    let name = file_name(program.as_ref());
    let above = program.char_indices().filter(|(_, _, letter)| *letter == '/').map(|(at, _, _)| &program[..at]);
    let above = above.filter(|directory| directory.ends_with(b"/bin")).map(<[u8]>::to_vec);
    let directories = PATH.iter().map(|path| path.as_bytes().to_vec()).chain(above);
    for directory in directories {
        let script = BString::from([directory.as_slice(), b"/", name].concat());
        let is_other = root.real_path(script.as_ref()).is_ok_and(|real| real != program);
        let text = if is_other { root.read(script.as_ref(), LIMIT).unwrap_or_default() } else { Vec::new() };
        if !text.starts_with(b"#!") || !text.contains_str("exec") {
            continue;
        }
        let variables = exported(&text, &|path| root.stat(path).is_ok_and(|meta| meta.kind == FileKind::Directory));
        if !variables.is_empty() {
            return Some(Wrapper { script, variables });
        }
    }
    None
}

/// Variables that a script exports, each with its first value that is an existing path.
fn exported(text: &[u8], is_there: &dyn Fn(&BStr) -> bool) -> Vec<(BString, BString)> {
    let mut values: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut exported: Vec<Vec<u8>> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let words = line.strip_prefix(b"export ");
        for word in words.into_iter().flat_map(|words| words.fields()) {
            exported.push(word.split_str("=").next().unwrap_or_default().to_vec());
        }
        let Some((name, value)) = words.unwrap_or(line).split_once_str("=") else { continue };
        if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            continue;
        }
        let value = value.split_str(";").next().unwrap_or_default().trim();
        let value = value.trim_with(|letter| letter == '"' || letter == '\'');
        let value = substituted(value, &values);
        if value.starts_with(b"/") && is_there(value.as_bstr()) {
            values.entry(name.to_vec()).or_insert(value);
        }
    }
    let paths = values.into_iter().filter(|(name, _)| exported.contains(name) && name != b"PATH");
    paths.map(|(name, value)| (name.into(), value.into())).collect()
}

/// A value with the variables at its beginning substituted: `${HOME_DIR}/lib`.
fn substituted(value: &[u8], values: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<u8> {
    let Some(rest) = value.strip_prefix(b"$") else { return value.to_vec() };
    let (name, rest) = match rest.strip_prefix(b"{").and_then(|rest| rest.split_once_str("}")) {
        Some(parts) => parts,
        None => rest.split_at(rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()),
    };
    values.get(name).map_or_else(Vec::new, |value| [value, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::exported;

    #[test]
    fn exported_paths_are_found_through_other_variables() {
        let text =
            b"#!/bin/sh\nTOP=/usr/lib/app\nif x; then\n  TOP=/other\nfi\nAPP_HOME=\"${TOP}/home\"\nexport APP_HOME\n\
                     export APP_SHARE=/usr/share/app\nexport APP_NAME=app\nexec ${APP_HOME}/bin/app\n";
        let found = exported(text, &|_| true);
        let found: Vec<_> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(found, ["APP_HOME=/usr/lib/app/home", "APP_SHARE=/usr/share/app"]);
    }
}
