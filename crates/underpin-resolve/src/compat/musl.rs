//! Which functions musl has, and since when: the floor of a program for musl.
//!
//! musl has no symbol versions. Its loader binds every symbol before the program starts and stops at the first strong
//! one that nothing defines, so a function newer than the target's musl is a floor like a version of glibc.

use super::subject::ObjectFacts;
use super::version::Number;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The list as it is compiled in.
const EMBEDDED: &str = include_str!("../../data/musl-symbols.txt");

/// Earlier releases are not distinguished: no system of the table has one.
const OLDEST: [u32; 3] = [1, 2, 2];

/// Since when musl has a symbol; `None` if no musl up to 1.2.6 has it.
pub(super) fn since(symbol: &[u8]) -> Option<Number> {
    static LIST: OnceLock<HashMap<&'static [u8], Number>> = OnceLock::new();
    let list = LIST.get_or_init(|| EMBEDDED.lines().filter_map(parse_line).collect());
    list.get(symbol).cloned()
}

fn parse_line(line: &'static str) -> Option<(&'static [u8], Number)> {
    if line.starts_with('#') {
        return None;
    }
    let (name, version) = match line.split_once(' ') {
        Some((name, version)) => (name, Number::parse(version)?),
        None => (line, Number::new(&OLDEST)),
    };
    Some((name.as_bytes(), version))
}

/// Whether everything that an object imports must come from musl: it needs no other library. Known for x86-64 only,
/// for which the list was made.
pub(super) fn imports_from_musl_only(object: &ObjectFacts) -> bool {
    object.arch == Some(super::platform::Arch::X86_64)
        && !object.needed.is_empty()
        && object.needed.iter().all(|name| super::platform::is_musl_builtin(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_what_releases_added() {
        for (symbol, expected) in
            [("malloc", Some("1.2.2")), ("qsort_r", Some("1.2.3")), ("statx", Some("1.2.5")), ("strfromd", None)]
        {
            assert_eq!(since(symbol.as_bytes()).map(|version| version.to_string()).as_deref(), expected, "{symbol}");
        }
    }

    #[test]
    fn every_line_of_the_list_is_read() {
        let lines = EMBEDDED.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(EMBEDDED.lines().filter_map(parse_line).count(), lines);
        assert!(lines > 1500);
    }
}
