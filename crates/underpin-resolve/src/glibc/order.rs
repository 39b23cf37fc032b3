//! `_dl_map_object_deps`: breadth-first over DT_NEEDED, with DT_FILTER and DT_AUXILIARY put before their object.

use super::search::Answer;
use super::{Engine, MAIN, MapId, Stop};
use crate::closure::{EdgeKind, FatalReason, ObjectId, Outcome};
use crate::tokens::contains_token;
use bstr::{BStr, BString, ByteSlice};
use underpin_elf::DependencyTag;

/// One entry of the search list in the making (`struct list`).
struct Known {
    map: MapId,
    done: bool,
}

impl Engine<'_> {
    /// Loads everything that the program and its preloads need; returns the search list.
    pub(super) fn load_dependencies(&mut self, preloads: &[MapId]) -> Result<Vec<MapId>, Stop> {
        let mut known: Vec<Known> = vec![Known { map: MAIN, done: false }];
        known.extend(preloads.iter().map(|&map| Known { map, done: false }));
        let mut current = 0;
        while current < known.len() {
            if known[current].done {
                current += 1;
                continue;
            }
            known[current].done = true;
            let map = known[current].map;
            // Where the current object is: filters push it back.
            let mut own = current;
            let dependencies = self.maps[map].dynamic().map(|dynamic| dynamic.dependencies.clone()).unwrap_or_default();
            for (tag, name) in dependencies {
                let Some(dependency) = self.request(map, tag, name.as_ref())? else { continue };
                match tag {
                    DependencyTag::Needed => {
                        if !known.iter().any(|entry| entry.map == dependency) {
                            known.push(Known { map: dependency, done: false });
                        }
                    }
                    DependencyTag::Filter | DependencyTag::Auxiliary => {
                        self.insert_filter(&mut known, &mut own, map, dependency);
                    }
                }
            }
        }
        Ok(known.into_iter().map(|entry| entry.map).collect())
    }

    /// One dependency; `None` if the loader goes on without it.
    fn request(&mut self, from: MapId, tag: DependencyTag, name: &BStr) -> Result<Option<MapId>, Stop> {
        let mut tries = Vec::new();
        let kind = EdgeKind::from(tag);
        let expanded = match self.expand_dependency(from, name) {
            Ok(expanded) => expanded,
            Err(reason) if tag == DependencyTag::Auxiliary && reason == FatalReason::EmptyToken => {
                self.edge(from, kind, name, Outcome::Ignored { reason: reason.to_string() }, tries);
                return Ok(None);
            }
            Err(reason) => {
                self.edge(from, kind, name, Outcome::Fatal { path: name.into(), reason }, tries);
                return Err(Stop);
            }
        };
        let (outcome, next) = match self.map_object(from, expanded.as_ref(), false, &mut tries) {
            Answer::Mapped(map, found) => (Outcome::Loaded { object: ObjectId(map), found }, Ok(Some(map))),
            Answer::Missing if tag == DependencyTag::Auxiliary => {
                (Outcome::Ignored { reason: "not found".into() }, Ok(None))
            }
            Answer::Missing => (Outcome::Missing, Ok(None)),
            Answer::Fatal(path, reason) if tag == DependencyTag::Auxiliary => {
                (Outcome::Ignored { reason: format!("{path}: {reason}") }, Ok(None))
            }
            Answer::Fatal(path, reason) => (Outcome::Fatal { path, reason }, Err(Stop)),
        };
        self.edge(from, kind, name, outcome, tries);
        next
    }

    /// `expand_dst` of elf/dl-deps.c: no tokens at all in secure-execution mode.
    fn expand_dependency(&mut self, map: MapId, name: &BStr) -> Result<BString, FatalReason> {
        if !contains_token(name) {
            return Ok(name.into());
        }
        if self.secure {
            return Err(FatalReason::TokenInSecureMode);
        }
        self.expand(name, map).filter(|expanded| !expanded.as_bytes().is_empty()).ok_or(FatalReason::EmptyToken)
    }

    /// Puts a filtee before the object that names it, in the search list and in the chain.
    fn insert_filter(&mut self, known: &mut Vec<Known>, own: &mut usize, map: MapId, filtee: MapId) {
        let place = known.iter().position(|entry| entry.map == filtee);
        match place {
            Some(earlier) if earlier <= *own => return,
            Some(later) => {
                known.remove(later);
            }
            None => {}
        }
        known.insert(*own, Known { map: filtee, done: false });
        *own += 1;
        self.chain.retain(|&entry| entry != filtee);
        let at = self.chain.iter().position(|&entry| entry == map).unwrap_or(self.chain.len());
        self.chain.insert(at, filtee);
    }
}
