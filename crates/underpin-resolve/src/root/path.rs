//! Paths as text.

use bstr::{BStr, BString};

/// An absolute path without `.`, `..` and double slashes, as text: symbolic links are not looked at, so it leads to the
/// same file only if no component before a `..` is one.
#[must_use]
pub fn lexical(path: &BStr) -> BString {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    [b"/", parts.join(&b'/').as_slice()].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// POSIX.1-2017, 4.13: `..` of the root is the root, and several slashes count as one.
    #[test]
    fn dots_and_slashes_are_taken_out_as_posix_resolves_them() {
        let rows = [("/a/./b//c", "/a/b/c"), ("/a/../../b", "/b"), ("/a/b/..", "/a"), ("a/b/", "/a/b"), ("/", "/")];
        for (path, expected) in rows {
            assert_eq!(lexical(path.into()), expected, "{path}");
        }
    }
}
