//! Paths as Ruby sees them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// An absolute path without `.`, `..`, empty parts or NUL. `..` is resolved lexically, as `File.expand_path` does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VPath(Arc<str>);

impl VPath {
    /// Normalises an absolute path; `..` at the root stays there, as in the kernel. `None` if it is not absolute or
    /// contains a NUL.
    #[must_use]
    pub fn new(path: &str) -> Option<VPath> {
        path.starts_with('/').then(|| VPath::root().join(path)).flatten()
    }

    /// The root, `/`.
    #[must_use]
    pub fn root() -> VPath {
        VPath(Arc::from("/"))
    }

    /// From a path of the operating system; `None` if it is not absolute, or not UTF-8 as mruby's strings are.
    #[must_use]
    pub fn from_disk(path: &Path) -> Option<VPath> {
        VPath::new(path.to_str()?)
    }

    /// Resolves a path relative to this folder; an absolute one is kept. `None` if it contains a NUL.
    #[must_use]
    pub fn join(&self, path: &str) -> Option<VPath> {
        if path.contains('\0') {
            return None;
        }
        let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { self.parts().collect() };
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        Some(VPath(Arc::from(format!("/{}", parts.join("/")))))
    }

    /// The parent folder; for the root, the root.
    #[must_use]
    pub fn parent(&self) -> VPath {
        match self.0.rfind('/') {
            Some(0) | None => VPath::root(),
            Some(at) => VPath(Arc::from(&self.0[..at])),
        }
    }

    /// The path relative to a folder, without a leading slash; `None` if it is not below that folder.
    #[must_use]
    pub fn below(&self, folder: &VPath) -> Option<&str> {
        if folder.0.len() == 1 {
            return (self.0.len() > 1).then(|| &self.0[1..]);
        }
        self.0.strip_prefix(&*folder.0)?.strip_prefix('/')
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }
}

impl fmt::Display for VPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::VPath;

    fn path(text: &str) -> VPath {
        VPath::new(text).unwrap()
    }

    #[test]
    fn dots_and_double_slashes_are_resolved() {
        for (given, meant) in
            [("/a//b/./c/", "/a/b/c"), ("/a/../../b", "/b"), ("/..", "/"), ("//", "/"), ("/a/...", "/a/...")]
        {
            assert_eq!(path(given).as_str(), meant, "{given}");
        }
    }

    #[test]
    fn a_relative_path_and_a_nul_are_no_paths() {
        assert!(VPath::new("a").is_none() && VPath::new("").is_none() && VPath::new("/a\0b").is_none());
    }

    #[test]
    fn joined_paths_start_from_the_folder_unless_they_are_absolute() {
        let folder = path("/app/lib");
        assert_eq!(folder.join("x/../y.rb").unwrap().as_str(), "/app/lib/y.rb");
        assert_eq!(folder.join("../../../etc").unwrap().as_str(), "/etc");
        assert_eq!(folder.join("/etc").unwrap().as_str(), "/etc");
    }

    #[test]
    fn only_whole_names_lie_below_a_folder() {
        assert_eq!(path("/app/lib/x").below(&path("/app")), Some("lib/x"));
        assert_eq!(path("/apple").below(&path("/app")), None);
        assert_eq!(path("/app").below(&path("/app")), None);
        assert_eq!(path("/app").below(&VPath::root()), Some("app"));
    }

    #[test]
    fn the_parent_of_the_root_is_the_root() {
        assert_eq!(path("/a/b").parent().as_str(), "/a");
        assert_eq!(path("/a").parent().parent().as_str(), "/");
    }
}
