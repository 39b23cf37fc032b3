//! All packages of an image: each when what it needs is there, and together on no more processors than there are.

use super::{Package, Tools, build, keys, unpack};
use crate::ImageError;
use crate::recipe::Resolved;
use crate::store::{Access, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What happens, for progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The sources of a package are fetched if they are not there.
    Fetching(&'a str),
    /// A package is built; so many are not done yet.
    Building(&'a str, usize),
    /// It is there, or was.
    Done(&'a str),
}

struct State {
    /// Not begun.
    waiting: BTreeSet<usize>,
    done: BTreeMap<usize, Package>,
    free: usize,
    running: usize,
    failed: Option<ImageError>,
}

struct Work<'a> {
    store: &'a Store,
    tools: &'a Tools,
    access: Access,
    recipes: &'a [Resolved],
    keys: Vec<String>,
    /// All that each needs, directly or not.
    needs: Vec<BTreeSet<usize>>,
    fetched: BTreeMap<usize, Option<PathBuf>>,
    state: Mutex<State>,
    changed: Condvar,
    tell: &'a (dyn Fn(Event<'_>) + Sync),
}

/// Builds packages that are not in the store; each recipe is after what it needs.
///
/// # Errors
/// The first that fails; what was built until then is kept.
pub fn build_all(
    store: &Store,
    recipes: &[Resolved],
    tools: &Tools,
    access: Access,
    processors: usize,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Vec<Package>, ImageError> {
    let keys = keys(recipes, tools)?;
    let mut state =
        State { waiting: BTreeSet::new(), done: BTreeMap::new(), free: processors.max(1), running: 0, failed: None };
    let mut fetched = BTreeMap::new();
    for (index, recipe) in recipes.iter().enumerate() {
        if let Some(package) = build::there(store, recipe, &keys[index]) {
            state.done.insert(index, package);
            tell(Event::Done(&recipe.name));
            continue;
        }
        tell(Event::Fetching(&recipe.name));
        fetched.insert(index, unpack::fetch(recipe, &tools.debian, store, access)?);
        state.waiting.insert(index);
    }
    let threads = state.waiting.len().min(processors.max(1));
    let needs = all_needs(recipes);
    let work = Work {
        store,
        tools,
        access,
        recipes,
        keys,
        needs,
        fetched,
        state: Mutex::new(state),
        changed: Condvar::new(),
        tell,
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work.run());
        }
    });
    let state = work.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    match state.failed {
        Some(error) => Err(error),
        None => Ok(state.done.into_values().collect()),
    }
}

fn all_needs(recipes: &[Resolved]) -> Vec<BTreeSet<usize>> {
    let mut all: Vec<BTreeSet<usize>> = Vec::new();
    for recipe in recipes {
        let mut needs = BTreeSet::new();
        for need in &recipe.needs {
            if let Some(index) =
                recipes.iter().position(|other| other.name == need.value).filter(|index| *index < all.len())
            {
                needs.insert(index);
                needs.extend(all[index].iter().copied());
            }
        }
        all.push(needs);
    }
    all
}

impl Work<'_> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one package after the other until none is left, or one has failed.
    fn run(&self) {
        while let Some((index, jobs)) = self.next() {
            let needs: Vec<Package> = {
                let state = self.lock();
                self.needs[index].iter().filter_map(|need| state.done.get(need).cloned()).collect()
            };
            let needs: Vec<&Package> = needs.iter().collect();
            let recipe = &self.recipes[index];
            let fetched = self.fetched.get(&index).and_then(|file| file.as_deref());
            let how = build::How { fetched, jobs, access: self.access };
            let result = build::build(self.store, recipe, &self.keys[index], &needs, self.tools, &how);
            let mut state = self.lock();
            state.free += jobs;
            state.running -= 1;
            match result {
                Ok(package) => {
                    state.done.insert(index, package);
                    (self.tell)(Event::Done(&recipe.name));
                }
                Err(error) => drop(state.failed.get_or_insert(error)),
            }
            self.changed.notify_all();
        }
    }

    /// The next package whose needs are there, and its share of the processors.
    fn next(&self) -> Option<(usize, usize)> {
        let mut state = self.lock();
        loop {
            if state.failed.is_some() || state.waiting.is_empty() {
                return None;
            }
            let is_ready = |index: &&usize| self.needs[**index].iter().all(|need| state.done.contains_key(need));
            let ready: Vec<usize> = state.waiting.iter().filter(is_ready).copied().collect();
            if let (Some(index), true) = (ready.first().copied(), state.free > 0) {
                let jobs = state.free.div_ceil(ready.len().min(state.free));
                state.waiting.remove(&index);
                state.free -= jobs;
                state.running += 1;
                (self.tell)(Event::Building(&self.recipes[index].name, state.waiting.len() + state.running));
                return Some((index, jobs));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
