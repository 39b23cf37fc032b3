//! What may be bound, and in which shape: a policy file and its defaults.

use crate::edits::Strategy;
use bstr::BStr;
use serde::{Deserialize, Serialize};

/// The shape in which a binding is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Every object names its own dependencies by absolute path.
    #[default]
    PerObject,
    /// The program alone names its whole closure by absolute path, in load order.
    Flatten,
    /// A directory of symbolic links per program, and a search path to it in the program.
    Farm,
    /// As a farm, with relative links and `$ORIGIN`: the tree may be moved.
    Relative,
}

/// A pattern as in a shell: `*` (also over `/`), `?`, `[a-z]`, `[!a-z]`. One with a `/` is matched against whole
/// paths, any other against sonames, requested names and file names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(pub String);

/// The built-in lists of what is left alone; each is on unless the policy turns it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BuiltIn {
    /// GL, EGL, GLX, Vulkan, CUDA, OpenCL, VA-API and VDPAU: their libraries belong to the driver of each machine.
    pub drivers: bool,
    /// Libraries in directories named `stubs`: they are there to link against, not to run.
    pub stubs: bool,
    /// Files of a glibc-hwcaps or legacy capability directory, and names for which such a file exists.
    pub hwcaps: bool,
    /// MPI libraries that a site replaces with its own.
    pub mpi: bool,
    /// What is found only through LD_LIBRARY_PATH.
    pub library_path: bool,
}

/// What may be bound, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Names to leave alone.
    pub exclude: Vec<Pattern>,
    /// If not empty, only these names are bound.
    pub only: Vec<Pattern>,
    /// The built-in lists.
    pub built_in: BuiltIn,
    /// Whether libc.so.6 and its companions are bound.
    pub glibc: bool,
    /// In which shape.
    pub shape: Shape,
    /// Only this placement of the strings, or a refusal.
    pub strategy: Option<Strategy>,
    /// Whether search paths are narrowed: to directories that hold libraries, and to a farm if there is more than one
    /// of those.
    pub narrow_search: bool,
    /// Where farms are made; `None`: in the directory that the user named, and beside each program for the shape of
    /// farms.
    pub farm_directory: Option<String>,
}

/// Why a policy file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Not TOML, an unknown key, or a value of the wrong kind.
    #[error("invalid policy: {0}")]
    Toml(String),
}

impl Default for BuiltIn {
    fn default() -> BuiltIn {
        BuiltIn { drivers: true, stubs: true, hwcaps: true, mpi: true, library_path: true }
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            exclude: Vec::new(),
            only: Vec::new(),
            built_in: BuiltIn::default(),
            glibc: true,
            shape: Shape::default(),
            strategy: None,
            narrow_search: true,
            farm_directory: None,
        }
    }
}

impl Policy {
    /// A policy file with the defaults, every key with a comment.
    pub const EXAMPLE: &str = include_str!("policy.toml");

    /// Reads a policy file (TOML with the names of the fields here).
    ///
    /// # Errors
    /// [`PolicyError`] with the message of the TOML parser, including the line.
    pub fn from_toml(text: &str) -> Result<Policy, PolicyError> {
        toml::from_str(text).map_err(|error| PolicyError::Toml(error.to_string()))
    }
}

impl Pattern {
    /// Whether the pattern covers a library requested as `name`, found at `path`, with the soname `soname`.
    #[must_use]
    pub fn covers(&self, name: &BStr, soname: Option<&BStr>, path: &BStr) -> bool {
        covers(self.0.as_bytes(), name, soname, path)
    }
}

/// [`Pattern::covers`] of the built-in lists' patterns.
pub(super) fn covers(pattern: &[u8], name: &BStr, soname: Option<&BStr>, path: &BStr) -> bool {
    if pattern.contains(&b'/') {
        return matches(pattern, path) || matches(pattern, name);
    }
    let file_name = |path: &BStr| matches(pattern, path.rsplit(|&byte| byte == b'/').next().unwrap_or_default());
    file_name(name) || file_name(path) || soname.is_some_and(|soname| matches(pattern, soname))
}

/// Shell matching that only backtracks to the last star, so that no pattern takes more than |pattern| x |text|.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while position < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at + 1, position));
            at += 1;
        } else if let Some(length) = one(&pattern[at.min(pattern.len())..], text[position]) {
            at += length;
            position += 1;
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (at, position) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

/// The length of the pattern's next element, if that matches one byte.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern.first()? {
        b'?' => Some(1),
        b'[' => match bracket(pattern, byte) {
            Some((length, hit)) => hit.then_some(length),
            None => (byte == b'[').then_some(1),
        },
        literal => (*literal == byte).then_some(1),
    }
}

/// A bracket expression: its length and whether it contains the byte; `None` if it is never closed.
fn bracket(pattern: &[u8], byte: u8) -> Option<(usize, bool)> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let start = 1 + usize::from(negated);
    // A bracket right at the start is a member, not the end.
    let end = start + 1 + pattern.get(start + 1..)?.iter().position(|&byte| byte == b']')?;
    let members = &pattern[start..end];
    let mut index = 0;
    let mut hit = false;
    while index < members.len() {
        if members.get(index + 1) == Some(&b'-') && index + 2 < members.len() {
            hit |= (members[index]..=members[index + 2]).contains(&byte);
            index += 3;
        } else {
            hit |= members[index] == byte;
            index += 1;
        }
    }
    Some((end + 1, hit != negated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_as_in_a_shell() {
        let rows = [
            ("libGL.so*", "libGL.so.1", true),
            ("libGL.so*", "libGLU.so.1", false),
            ("lib?.so", "libx.so", true),
            ("lib[a-c]*.so", "libbz.so", true),
            ("lib[!a-c]*.so", "libbz.so", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "ab ba", false),
            ("[", "[", true),
            ("[]x]", "]", true),
            ("", "", true),
            ("", "x", false),
            ("a**", "a", true),
        ];
        for (pattern, text, expected) in rows {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_policy_file_says_only_what_differs_and_unknown_keys_are_errors() {
        let policy = Policy::from_toml("exclude = [\"libfoo*\"]\nglibc = false\n[built_in]\nmpi = false\n").unwrap();
        assert!(!policy.glibc && !policy.built_in.mpi && policy.built_in.drivers);
        assert_eq!(policy.exclude, [Pattern("libfoo*".into())]);
        let error = Policy::from_toml("excludes = []").unwrap_err().to_string();
        assert!(error.contains("excludes"), "{error}");
        assert_eq!(Policy::from_toml("").unwrap(), Policy::default());
    }

    #[test]
    fn the_example_holds_every_key_with_its_default() {
        assert_eq!(Policy::from_toml(Policy::EXAMPLE).unwrap(), Policy::default());
        let all = serde_json::to_value(Policy::default()).unwrap();
        let built_in = all["built_in"].as_object().unwrap().keys();
        for key in all.as_object().unwrap().keys().chain(built_in) {
            assert!(Policy::EXAMPLE.contains(key.as_str()), "{key}");
        }
    }
}
