//! `/etc/ld.so.conf`, the text that ldconfig reads (glibc elf/ldconfig.c `parse_conf`, `parse_conf_include`).
//!
//! No loader reads it. It shows where a library is that ldconfig would have put into a missing ld.so.cache.

use crate::root::Root;
use bstr::{BStr, BString, ByteSlice};

/// How deep `include` may nest; ldconfig itself has no limit, and a cycle would hang it.
const MAX_DEPTH: usize = 10;
/// A larger file is not taken for a configuration file.
const MAX_SIZE: u64 = 1 << 20;

/// One line of an ld.so.conf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A directory to search.
    Directory(BString),
    /// `include PATTERN...`: the patterns.
    Include(Vec<BString>),
}

/// Reads the text; comments, blank lines and `hwcap` lines (obsolete, ignored by ldconfig) are dropped.
#[must_use]
pub fn parse(text: &[u8]) -> Vec<Line> {
    text.lines()
        .filter_map(|line| {
            let line = line.split(|&byte| byte == b'#').next().unwrap_or_default().trim();
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            match words.next()? {
                b"include" => Some(Line::Include(words.map(BString::from).collect())),
                b"hwcap" => None,
                _ => {
                    let path = line.split(|&byte| byte == b'=').next().unwrap_or_default();
                    let path = path.trim().trim_end_with(|letter| letter == '/');
                    Some(Line::Directory(if path.is_empty() { "/".into() } else { path.into() }))
                }
            }
        })
        .collect()
}

/// The directories of `/etc/ld.so.conf` and all that it includes, in order, each once.
pub(crate) fn directories(root: &dyn Root, path: &BStr) -> Vec<BString> {
    let mut found = Vec::new();
    collect(root, path, 0, &mut found);
    found
}

fn collect(root: &dyn Root, path: &BStr, depth: usize, found: &mut Vec<BString>) {
    let Ok(text) = root.read(path, MAX_SIZE) else { return };
    for line in parse(&text) {
        match line {
            Line::Directory(directory) if directory.starts_with(b"/") => {
                if !found.contains(&directory) {
                    found.push(directory);
                }
            }
            Line::Include(patterns) if depth < MAX_DEPTH => {
                for pattern in patterns {
                    for file in expand(root, path, pattern.as_ref()) {
                        collect(root, file.as_ref(), depth + 1, found);
                    }
                }
            }
            Line::Directory(_) | Line::Include(_) => {}
        }
    }
}

/// The files that a pattern names, as glob(3) sorts them in the C locale.
fn expand(root: &dyn Root, from: &BStr, pattern: &BStr) -> Vec<BString> {
    let absolute: BString = if pattern.starts_with(b"/") {
        pattern.into()
    } else {
        let mut path = crate::tokens::directory_of(from);
        path.push(b'/');
        path.extend_from_slice(pattern);
        path
    };
    let mut found = vec![BString::default()];
    for part in absolute.split(|&byte| byte == b'/').filter(|part| !part.is_empty()) {
        let parents = std::mem::take(&mut found);
        for parent in parents {
            found.extend(names(root, &parent, part).into_iter().map(|name| {
                let path: BString = [parent.as_slice(), b"/", &name].concat().into();
                path
            }));
        }
    }
    found.sort();
    found
}

/// The names in a directory that match one component of a pattern; one without wildcards is taken literally.
fn names(root: &dyn Root, directory: &BString, part: &[u8]) -> Vec<BString> {
    if !part.iter().any(|byte| b"*?[\\".contains(byte)) {
        return vec![part.into()];
    }
    let directory: &BStr = if directory.is_empty() { "/".into() } else { directory.as_ref() };
    let mut names = root.list(directory).unwrap_or_default();
    names.retain(|name| matches(part, name) && (!name.starts_with(b".") || part.starts_with(b".")));
    names
}

/// glob(7): `*`, `?`, brackets, and a backslash before a literal character.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if let Some(length) = one_matches(&pattern[p..], name[n]) {
            p += length;
            n += 1;
        } else if let Some((after, from)) = star {
            p = after + 1;
            n = from + 1;
            star = Some((after, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// The length of the pattern's first element, if it matches `byte`.
fn one_matches(pattern: &[u8], byte: u8) -> Option<usize> {
    match *pattern.first()? {
        b'?' => Some(1),
        b'\\' if pattern.len() > 1 => (pattern[1] == byte).then_some(2),
        b'[' => match bracket(&pattern[1..], byte) {
            Some((holds, length)) => holds.then_some(length + 1),
            // An unclosed bracket is an ordinary character.
            None => (byte == b'[').then_some(1),
        },
        letter => (letter == byte).then_some(1),
    }
}

/// What follows a `[`: whether the set contains `byte`, and its length including the closing bracket. Classes such as
/// `[:alpha:]` are not supported.
fn bracket(set: &[u8], byte: u8) -> Option<(bool, usize)> {
    let negated = matches!(set.first(), Some(b'!' | b'^'));
    let start = usize::from(negated);
    let mut holds = false;
    let mut at = start;
    loop {
        let first = *set.get(at)?;
        if first == b']' && at > start {
            return Some((holds != negated, at + 1));
        }
        let range = set.get(at + 1) == Some(&b'-') && set.get(at + 2).is_some_and(|&last| last != b']');
        let last = if range { set[at + 2] } else { first };
        holds |= (first..=last).contains(&byte);
        at += if range { 3 } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::MemoryRoot;

    #[test]
    fn includes_are_expanded_in_sorted_order() {
        let mut root = MemoryRoot::new();
        root.file("/etc/ld.so.conf", "include ld.so.conf.d/*.conf\n/opt/last/ # why\n")
            .file("/etc/ld.so.conf.d/b.conf", "/opt/b\n")
            .file("/etc/ld.so.conf.d/a.conf", "/opt/a=libc6\nhwcap 1 x\n")
            .file("/etc/ld.so.conf.d/.hidden.conf", "/opt/hidden\n");
        assert_eq!(directories(&root, "/etc/ld.so.conf".into()), ["/opt/a", "/opt/b", "/opt/last"]);
    }

    #[test]
    fn patterns_are_those_of_glob() {
        for (pattern, name, expected) in [
            ("[a-c].conf", "b.conf", true),
            ("[!a-c].conf", "b.conf", false),
            ("[]x]*", "]y", true),
            ("[a", "[a", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("*.d", "x.d.d", true),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_cycle_of_includes_ends() {
        let mut root = MemoryRoot::new();
        root.file("/etc/ld.so.conf", "include /etc/ld.so.conf\n/opt\n");
        assert_eq!(directories(&root, "/etc/ld.so.conf".into()), ["/opt"]);
    }
}
