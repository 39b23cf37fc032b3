//! Paths as Ruby sees them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// An absolute path without `.`, `..`, empty parts or NUL. `..` is resolved by the letters, as `File.expand_path` does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VPath(Arc<str>);

impl VPath {
    /// A path from an absolute one; `..` at the root stays there, as the kernel has it. None if it is not absolute
    /// or holds a NUL.
    #[must_use]
    pub fn new(path: &str) -> Option<VPath> {
        path.starts_with('/').then(|| VPath::root().join(path)).flatten()
    }

    /// `/`.
    #[must_use]
    pub fn root() -> VPath {
        VPath(Arc::from("/"))
    }

    /// A path of this machine; none if it is not absolute or not UTF-8, which mruby's strings are.
    #[must_use]
    pub fn from_disk(path: &Path) -> Option<VPath> {
        VPath::new(path.to_str()?)
    }

    /// A path seen from this folder: an absolute one stands for itself. None if it holds a NUL.
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

    /// The folder that it lies in; of the root, the root.
    #[must_use]
    pub fn parent(&self) -> VPath {
        match self.0.rfind('/') {
            Some(0) | None => VPath::root(),
            Some(at) => VPath(Arc::from(&self.0[..at])),
        }
    }

    /// What of it lies below a folder, without a leading slash; none if it lies elsewhere or is that folder.
    #[must_use]
    pub fn below(&self, folder: &VPath) -> Option<&str> {
        if folder.0.len() == 1 {
            return (self.0.len() > 1).then(|| &self.0[1..]);
        }
        self.0.strip_prefix(&*folder.0)?.strip_prefix('/')
    }

    /// Its text.
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
