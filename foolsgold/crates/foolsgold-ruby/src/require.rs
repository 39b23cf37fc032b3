//! Ruby's search for `require`, `require_relative` and `load`, and the list of what was loaded already.
//!
//! CRuby 3.1's rules: a name is tried with `.rb` (or unchanged if it ends so) in each folder of `$LOAD_PATH`; a name
//! already found in one of its folders is not searched for again; a file is loaded once, whatever links name it; a file
//! that is being loaded counts as loaded, one that raised does not. Names without `.rb` never match a file without it.
//! The set is a list in the order of loading, so that restoring an interpreter restores it too ([`Features::mark`]).

use foolsgold_core::files::{Content, FileError, Files, VPath};
use std::collections::HashSet;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// To be loaded now, under this path; call [`Features::failed`] if that raises.
    Load(VPath, Content),
    /// There is nothing to do: it was loaded before, or is being loaded.
    Already,
}

/// Why nothing can be loaded.
#[derive(Debug, thiserror::Error)]
pub enum RequireError {
    /// CRuby's message, for a LoadError.
    #[error("cannot load such file -- {0}")]
    NotFound(String),
    /// The file exists but cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The features of one interpreter.
#[derive(Debug, Default)]
pub struct Features {
    /// As loaded, oldest first: `$LOADED_FEATURES`.
    order: Vec<VPath>,
    /// Names and identities of all of them.
    known: HashSet<String>,
    /// Names in `known`, in order, each with the previous length of `order`: for forgetting the newest.
    names: Vec<(String, usize)>,
}

/// How much was loaded at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

impl Features {
    /// No features except those built into the interpreter (`json`, `time`, ...): requiring these does nothing.
    #[must_use]
    pub fn with_native<'a>(names: impl IntoIterator<Item = &'a str>) -> Features {
        let mut features = Features::default();
        for name in names {
            features.known.insert(name.strip_suffix(".rb").unwrap_or(name).to_owned());
        }
        features
    }

    /// `require NAME`, with `$LOAD_PATH` and the folder against which relative names are resolved.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be read.
    pub fn require(
        &mut self,
        files: &dyn Files,
        name: &str,
        load_path: &[String],
        folder: &VPath,
    ) -> Result<Found, RequireError> {
        if self.known.contains(name.strip_suffix(".rb").unwrap_or(name)) {
            return Ok(Found::Already);
        }
        let file = if name.ends_with(".rb") { name.to_owned() } else { format!("{name}.rb") };
        let places: Vec<VPath> = if names_a_place(name) {
            folder.join(&file).into_iter().collect()
        } else {
            load_path.iter().filter_map(|entry| files.real_folder(&folder.join(entry)?).join(&file)).collect()
        };
        if places.iter().any(|place| self.known.contains(place.as_str())) {
            return Ok(Found::Already);
        }
        for place in places {
            if let Some(identity) = files.identity(&place)
                && let Some(content) = files.read(&place)?
            {
                return Ok(self.found(place, identity, content));
            }
        }
        Err(RequireError::NotFound(name.to_owned()))
    }

    /// `require_relative NAME`, called in the file `from`.
    ///
    /// # Errors
    /// As [`Features::require`].
    pub fn require_relative(&mut self, files: &dyn Files, name: &str, from: &VPath) -> Result<Found, RequireError> {
        // Links in the name of the calling file are resolved first, as in CRuby.
        let folder = files.identity(from).unwrap_or_else(|| from.clone()).parent();
        let place = folder.join(name).ok_or_else(|| RequireError::NotFound(name.to_owned()))?;
        self.require(files, place.as_str(), &[], &folder)
    }

    /// `load NAME`: exactly as named, every time; first in the load path, then in the folder.
    ///
    /// # Errors
    /// As [`Features::require`].
    pub fn load(
        files: &dyn Files,
        name: &str,
        load_path: &[String],
        folder: &VPath,
    ) -> Result<(VPath, Content), RequireError> {
        let entries = load_path.iter().filter(|_| !names_a_place(name));
        let searched = entries.filter_map(|entry| files.real_folder(&folder.join(entry)?).join(name));
        let places = searched.chain(folder.join(name));
        for place in places {
            if let Some(content) = files.read(&place)? {
                return Ok((place, content));
            }
        }
        Err(RequireError::NotFound(name.to_owned()))
    }

    /// Loading the file raised: the next `require` tries again.
    pub fn failed(&mut self, path: &VPath) {
        if let Some(at) = self.order.iter().rposition(|one| one == path) {
            let gone: Vec<String> =
                self.names.iter().filter(|(_, before)| *before == at).map(|(name, _)| name.clone()).collect();
            self.known.retain(|name| !gone.contains(name));
            self.names.retain(|(_, before)| *before != at);
            self.names.iter_mut().for_each(|(_, before)| *before -= usize::from(*before > at));
            self.order.remove(at);
        }
    }

    /// `$LOADED_FEATURES`.
    #[must_use]
    pub fn loaded(&self) -> &[VPath] {
        &self.order
    }

    /// How much is loaded now.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.order.len())
    }

    /// Forgets what was loaded since, as the restored interpreter has.
    pub fn rewind(&mut self, mark: Mark) {
        while let Some((name, _)) = self.names.pop_if(|(_, before)| *before >= mark.0) {
            self.known.remove(&name);
        }
        self.order.truncate(mark.0);
    }

    fn found(&mut self, place: VPath, identity: VPath, content: Content) -> Found {
        if self.known.contains(identity.as_str()) {
            return Found::Already;
        }
        let before = self.order.len();
        for name in [place.as_str(), identity.as_str()] {
            if self.known.insert(name.to_owned()) {
                self.names.push((name.to_owned(), before));
            }
        }
        self.order.push(place.clone());
        Found::Load(place, content)
    }
}

/// Whether a name is a path to the file rather than something to search for.
fn names_a_place(name: &str) -> bool {
    name.starts_with('/') || name.starts_with("./") || name.starts_with("../")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// Every path of the list is a file.
    #[derive(Debug)]
    struct Listed(&'static [&'static str]);

    impl Files for Listed {
        fn read(&self, path: &VPath) -> Result<Option<Content>, FileError> {
            Ok(self.identity(path).map(|_| Content::Plain(Bytes::new())))
        }

        fn identity(&self, path: &VPath) -> Option<VPath> {
            self.0.contains(&path.as_str()).then(|| path.clone())
        }
    }

    const FILES: Listed = Listed(&["/app/lib/a.rb", "/app/lib/b.rb", "/app/config/c.rb"]);

    fn require(features: &mut Features, name: &str) -> Option<String> {
        let app = VPath::new("/app").unwrap();
        match features.require(&FILES, name, &["lib".to_owned()], &app) {
            Ok(Found::Load(path, _)) => Some(path.to_string()),
            Ok(Found::Already) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    #[test]
    fn what_was_loaded_since_a_mark_is_forgotten_and_loaded_again() {
        let mut features = Features::default();
        assert_eq!(require(&mut features, "a").unwrap(), "/app/lib/a.rb");
        let mark = features.mark();
        assert_eq!(require(&mut features, "b").unwrap(), "/app/lib/b.rb");
        assert_eq!(require(&mut features, "./config/c").unwrap(), "/app/config/c.rb");
        features.rewind(mark);
        assert_eq!(features.loaded().len(), 1);
        assert_eq!(require(&mut features, "b").unwrap(), "/app/lib/b.rb");
        assert_eq!(require(&mut features, "a"), None);
    }

    #[test]
    fn a_file_that_raised_is_tried_again_and_what_it_required_stays() {
        let mut features = Features::default();
        require(&mut features, "a").unwrap();
        require(&mut features, "b").unwrap();
        features.failed(&VPath::new("/app/lib/a.rb").unwrap());
        assert_eq!(require(&mut features, "b"), None);
        let mark = features.mark();
        assert_eq!(require(&mut features, "a").unwrap(), "/app/lib/a.rb");
        features.rewind(mark);
        assert_eq!(require(&mut features, "b"), None);
    }

    #[test]
    fn what_the_interpreter_brings_itself_is_never_searched() {
        let mut features = Features::with_native(["json", "digest/sha2"]);
        assert_eq!(require(&mut features, "json.rb"), None);
        assert_eq!(require(&mut features, "digest/sha2"), None);
        assert_eq!(require(&mut features, "digest/md5").unwrap(), "cannot load such file -- digest/md5");
    }
}
