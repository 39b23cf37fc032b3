//! A second thread that opens what a large closure will most likely need, before the loader's model asks for it.
//!
//! It guesses by the cache alone, from the end of the lists while the model works from their start. Whatever it opens is
//! only remembered in [`Files`]: a wrong guess costs its time and changes nothing.

use crate::cache::CacheView;
use crate::environment::Environment;
use crate::files::Files;
use crate::loader::{Loader, LoaderKind};
use bstr::{BString, ByteSlice};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use underpin_elf::Elf;

/// Below this many direct dependencies a second thread costs more than it saves.
const WORTH_A_THREAD: usize = 8;
/// A cache larger than this is none.
const LIMIT: u64 = 64 << 20;

/// What the second thread works with.
pub(crate) struct Ahead<'a> {
    pub files: &'a Files<'a>,
    pub loader: &'a Loader,
    pub environment: &'a Environment,
    pub program: &'a Elf,
    /// Whether the findings will be wanted too.
    pub deep: bool,
}

impl Ahead<'_> {
    /// Whether the program is large enough, and its objects come by way of a cache.
    pub fn is_worth_it(&self) -> bool {
        let needed = self.program.dynamic.as_ref().map_or(0, |dynamic| dynamic.needed.len());
        needed >= WORTH_A_THREAD && self.loader.kind == LoaderKind::Glibc
    }

    /// Opens objects until there are no more, or until it is told to stop.
    pub fn run(&self, stop: &AtomicBool) {
        let Some(path) = &self.loader.configuration else { return };
        let Ok(bytes) = self.files.root().read(path.as_ref(), LIMIT) else { return };
        let Ok(cache) = CacheView::new(bytes, &self.program.ident, self.loader, self.environment) else { return };
        let mut pending: Vec<BString> = needed(self.program);
        let mut seen: HashSet<BString> = pending.iter().cloned().collect();
        while let Some(name) = pending.pop().filter(|_| !stop.load(Ordering::Relaxed)) {
            let Some(path) = cache.lookup(&name) else { continue };
            let Ok(facts) = self.files.open(path.as_bytes().as_bstr()) else { continue };
            if self.deep {
                let _ = facts.link();
            }
            if let Ok(elf) = &facts.elf {
                pending.extend(needed(elf).into_iter().filter(|name| seen.insert(name.clone())));
            }
        }
    }
}

fn needed(elf: &Elf) -> Vec<BString> {
    elf.dynamic.as_ref().map(|dynamic| dynamic.needed.clone()).unwrap_or_default()
}
