//! Where musl looks for a name: `path_open`, `fixup_rpath`, the path file (musl ldso/dynlink.c).

use super::{APP, DsoId, Engine, LDSO, Step};
use crate::calls::CallName;
use crate::closure::{FatalReason, Found, ObjectId, SearchDirectory, Try, TryResult};
use crate::resolution::DeadDirectory;
use crate::root::{FileKind, PathError};
use bstr::{BStr, BString, ByteSlice};

/// `char buf[2*NAME_MAX+2]`: longer candidates are passed over without a call.
const PATH_BUFFER: usize = 2 * super::NAME_MAX + 2;

impl Engine<'_> {
    pub(super) fn search(&mut self, from: DsoId, name: &BStr, tries: &mut Vec<Try>) -> Step {
        if let Some(list) = self.environment.effective_library_path().filter(|_| !self.secure).cloned() {
            match self.path_open(name, &list, &Found::LibraryPath, tries) {
                Step::Next => {}
                end => return end,
            }
        }
        let mut next = Some(from);
        while let Some(dso) = next {
            if let Some(list) = self.fixup_rpath(dso) {
                let found = self.rpath_source(dso);
                match self.path_open(name, &list, &found, tries) {
                    Step::Next => {}
                    end => return end,
                }
            }
            next = self.dsos[dso].needed_by;
        }
        let (list, found) = self.system_path();
        self.path_open(name, &list, &found, tries)
    }

    fn rpath_source(&self, dso: DsoId) -> Found {
        let of = ObjectId(dso);
        let dynamic = self.dsos[dso].facts.as_ref().and_then(|facts| facts.elf.as_ref().ok()?.dynamic.as_ref());
        match dynamic.and_then(|dynamic| dynamic.runpath.as_ref()) {
            Some(_) => Found::Runpath { of },
            None => Found::Rpath { of },
        }
    }

    /// The path of an object with `$ORIGIN` replaced; any other `$` discards it. DT_RUNPATH wins over DT_RPATH.
    fn fixup_rpath(&mut self, dso: DsoId) -> Option<BString> {
        if let Some(known) = &self.dsos[dso].rpath {
            return known.clone();
        }
        let dynamic = self.dsos[dso].facts.as_ref().and_then(|facts| facts.elf.as_ref().ok()?.dynamic.as_ref());
        let written = dynamic.and_then(|dynamic| dynamic.runpath.clone().or_else(|| dynamic.rpath.clone()));
        let fixed = written.and_then(|text| self.replace_origin(dso, &text));
        self.dsos[dso].rpath = Some(fixed.clone());
        fixed
    }

    fn replace_origin(&mut self, dso: DsoId, text: &[u8]) -> Option<BString> {
        if !text.contains(&b'$') {
            return Some(text.into());
        }
        let known = |at: usize| text[at..].starts_with(b"$ORIGIN") || text[at..].starts_with(b"${ORIGIN}");
        if !text.find_iter(b"$").all(known) || dso == APP && self.secure {
            return None;
        }
        let path = if dso == APP {
            let name = if self.has_old_calls() { CallName::Readlink } else { CallName::Readlinkat };
            self.calls.push(name, b"/proc/self/exe", false);
            self.executable.clone()
        } else {
            self.dsos[dso].path.clone()
        };
        let origin: BString = match path.rfind_byte(b'/') {
            Some(slash) => path[..slash].into(),
            None => ".".into(),
        };
        if self.secure && !path.starts_with(b"/") {
            return None;
        }
        Some(text.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).into())
    }

    /// The path file beside the loader, or the compiled-in path. Unreadable (not missing) means an empty path.
    fn system_path(&mut self) -> (BString, Found) {
        let path = self.loader.configuration.clone().unwrap_or_default();
        if let Some(known) = &self.system_path {
            let found = if self.files.stat(path.as_ref()).is_ok() { Found::PathFile } else { Found::DefaultDirectory };
            return (known.clone(), found);
        }
        let opened = self.files.open(path.as_ref());
        self.call_open(path.as_ref(), opened.is_err());
        let (list, found) = match opened {
            Ok(_) => {
                self.calls.push(CallName::Fstat, &path, false);
                let text = self.files.root().read(path.as_ref(), 1 << 20).unwrap_or_default();
                self.calls.push(CallName::Read, &path, false);
                self.calls.push(CallName::Close, &path, false);
                let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
                (BString::from(text), Found::PathFile)
            }
            Err(PathError::NotFound) => {
                (bstr::join(":", &self.loader.system_directories).into(), Found::DefaultDirectory)
            }
            Err(_) => (BString::default(), Found::PathFile),
        };
        self.system_path = Some(list.clone());
        (list, found)
    }

    fn path_open(&mut self, name: &BStr, list: &[u8], found: &Found, tries: &mut Vec<Try>) -> Step {
        for directory in list.split(|byte| b":\n".contains(byte)).filter(|directory| !directory.is_empty()) {
            let path: BString = [directory, b"/", name].concat().into();
            if path.len() >= PATH_BUFFER {
                continue;
            }
            match self.attempt(path, found, tries) {
                Step::Next => {}
                end => return end,
            }
        }
        Step::Next
    }

    pub(super) fn attempt(&mut self, path: BString, found: &Found, tries: &mut Vec<Try>) -> Step {
        let opened = self.files.open(path.as_ref());
        let fifo = opened.as_ref().is_ok_and(|facts| facts.meta.kind == FileKind::Fifo);
        if !fifo {
            self.call_open(path.as_ref(), opened.is_err());
        }
        let (result, step) = match opened {
            Ok(_) if fifo => {
                let reason = FatalReason::WouldBlock;
                (TryResult::Fatal { reason: reason.clone() }, Step::Fatal(path.clone(), reason))
            }
            Ok(facts) => (TryResult::Taken, Step::Taken(path.clone(), found.clone(), facts)),
            Err(PathError::NotFound | PathError::NotDirectory) => (TryResult::NotFound, Step::Next),
            Err(PathError::PermissionDenied) => (TryResult::PermissionDenied, Step::Next),
            Err(error @ PathError::NameTooLong) => (TryResult::Failed { error: error.to_string() }, Step::Next),
            Err(error) => (TryResult::Failed { error: error.to_string() }, Step::Inhibit),
        };
        tries.push(Try { path, source: found.clone(), result });
        step
    }

    /// Where a request of `dso` would be searched, in order.
    pub(super) fn search_order(&self, dso: DsoId, renumber: &dyn Fn(ObjectId) -> ObjectId) -> Vec<SearchDirectory> {
        let mut order = Vec::new();
        let mut add = |list: &[u8], source: &Found| {
            for directory in list.split(|byte| b":\n".contains(byte)).filter(|directory| !directory.is_empty()) {
                let exists = Some(self.files.stat(directory.as_bstr()).is_ok());
                let directory = [directory, b"/"].concat().into();
                order.push(SearchDirectory { directory, source: source.clone(), exists });
            }
        };
        if let Some(list) = self.environment.effective_library_path().filter(|_| !self.secure) {
            add(list, &Found::LibraryPath);
        }
        let mut next = Some(dso);
        while let Some(one) = next {
            if let Some(Some(list)) = &self.dsos[one].rpath {
                add(list, &self.rpath_source(one).renumbered(renumber));
            }
            next = self.dsos[one].needed_by;
        }
        if let Some(list) = &self.system_path {
            add(list, &Found::DefaultDirectory);
        }
        order
    }

    /// musl remembers nothing about directories; those of rpaths are checked afterwards.
    pub(super) fn dead_directories(&self, renumber: &dyn Fn(ObjectId) -> ObjectId) -> Vec<DeadDirectory> {
        let mut dead = Vec::new();
        for &dso in self.chain.iter().filter(|&&dso| dso != LDSO) {
            let Some(Some(list)) = &self.dsos[dso].rpath else { continue };
            let source = self.rpath_source(dso).renumbered(renumber);
            for directory in list.split(|byte| b":\n".contains(byte)).filter(|directory| !directory.is_empty()) {
                let current = !directory.starts_with(b"/");
                let missing = self.files.stat(directory.as_bstr()).is_err();
                if current || missing {
                    let directory = directory.into();
                    dead.push(DeadDirectory { directory, source: source.clone(), depends_on_cwd: current });
                }
            }
        }
        dead
    }
}
