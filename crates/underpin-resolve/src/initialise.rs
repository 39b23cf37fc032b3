//! The order in which constructors run, as the loaders sort it, from the edges of a closure.
//!
//! glibc sorts its list by dependencies: up to 2.34 by moving objects behind those that need them, since 2.35 by a
//! depth-first walk from the back (elf/dl-sort-maps.c); with cycles the two differ. musl walks depth-first from the
//! program (ldso/dynlink.c `queue_ctors`); before 1.1.22 it went backwards through the load order. Whether an object
//! has a constructor at all is not considered.

use crate::closure::{Closure, EdgeKind, Found, ObjectId, Outcome};
use crate::libc_version::LibcVersion;
use crate::loader::LoaderKind;

/// How a loader sorts initialisers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InitialiserSort {
    /// glibc up to 2.34, and with `GLIBC_TUNABLES=glibc.rtld.dynamic_sort=1`.
    Moving,
    /// glibc since 2.35.
    DepthFirst,
    /// musl since 1.1.22.
    MuslQueue,
    /// musl before that: the load order backwards.
    Backwards,
}

impl Closure {
    /// The objects in the order in which their constructors run, the program last.
    #[must_use]
    pub fn initialisation_order(&self) -> Vec<ObjectId> {
        let version = |major, minor, patch| LibcVersion { major, minor, patch };
        let before = |limit| self.loader.version.is_some_and(|own| own < limit);
        let sort = match self.loader.kind {
            LoaderKind::Glibc if before(version(2, 35, 0)) => InitialiserSort::Moving,
            LoaderKind::Glibc => InitialiserSort::DepthFirst,
            LoaderKind::Musl if before(version(1, 1, 22)) => InitialiserSort::Backwards,
            LoaderKind::Musl => InitialiserSort::MuslQueue,
            LoaderKind::None => InitialiserSort::Backwards,
        };
        self.initialisation_order_by(sort)
    }

    /// The order that another loader, or the same one with another setting, would use.
    #[must_use]
    pub fn initialisation_order_by(&self, sort: InitialiserSort) -> Vec<ObjectId> {
        let graph = Graph::of(self);
        let mut order = match sort {
            InitialiserSort::Moving => graph.moving(),
            InitialiserSort::DepthFirst => graph.depth_first(),
            InitialiserSort::MuslQueue => graph.musl_queue(),
            InitialiserSort::Backwards => graph.search_list.clone(),
        };
        if sort != InitialiserSort::MuslQueue {
            order.reverse();
        }
        // `GL(dl_initfirst)`: the last object loaded with that flag runs before all others.
        let first = |id: &usize| self.objects[*id].initialise_first;
        if self.loader.kind == LoaderKind::Glibc
            && let Some(chosen) = graph.search_list.iter().copied().rfind(first)
        {
            order.retain(|&id| id != chosen);
            order.insert(0, chosen);
        }
        order.into_iter().map(ObjectId).collect()
    }
}

struct Graph {
    /// The program, then everything else in load order.
    search_list: Vec<usize>,
    /// Per object, what it requested, in file order (`l_initfini` without the object itself, `deps`).
    needs: Vec<Vec<usize>>,
}

impl Graph {
    fn of(closure: &Closure) -> Graph {
        let count = closure.objects.len();
        let program = closure.objects.iter().position(|object| object.found == Found::Program).unwrap_or(0);
        let search_list = std::iter::once(program).chain((0..count).filter(|&id| id != program)).take(count).collect();
        let mut needs = vec![Vec::new(); count];
        let musl = closure.loader.kind == LoaderKind::Musl;
        for edge in &closure.edges {
            // musl makes preloads dependencies of the program; glibc only puts them into the list.
            let counts = match edge.kind {
                EdgeKind::Needed => true,
                EdgeKind::Filter | EdgeKind::Auxiliary => !musl,
                EdgeKind::LdPreload => musl,
                EdgeKind::EtcPreload | EdgeKind::Interpreter => false,
            };
            if let (true, Outcome::Loaded { object, .. }) = (counts, &edge.outcome) {
                needs[edge.from.0].push(object.0);
            }
        }
        Graph { search_list, needs }
    }

    /// `_dl_sort_maps_original`: each object goes behind the last one that needs it; the program is left out. The
    /// counts of visits stop it in a cycle.
    fn moving(&self) -> Vec<usize> {
        let mut maps = self.search_list.clone();
        let Some((_, list)) = maps.split_first_mut() else { return maps };
        let count = list.len();
        let mut seen = vec![0usize; count];
        let mut at = 0;
        while at < count {
            seen[at] += 1;
            let own = list[at];
            let last = (at + 1..count).rev().find(|&place| self.needs[list[place]].contains(&own));
            if let Some(place) = last {
                list[at..=place].rotate_left(1);
                if seen[at + 1] <= count - at {
                    seen[at..=place].rotate_left(1);
                    continue;
                }
            }
            at += 1;
            seen[at..].fill(0);
        }
        maps
    }

    /// `_dl_sort_maps_dfs`: reverse post-order, started from the back of the list; the program comes last of all.
    fn depth_first(&self) -> Vec<usize> {
        let mut visited = vec![false; self.needs.len()];
        let mut post_order = Vec::with_capacity(self.needs.len());
        let program = self.search_list.first().copied();
        for &root in self.search_list.iter().rev() {
            self.visit(root, program, &mut visited, &mut post_order);
        }
        post_order.reverse();
        post_order
    }

    /// Without recursion: a chain of objects may be longer than the stack allows.
    fn visit(&self, root: usize, program: Option<usize>, visited: &mut [bool], post_order: &mut Vec<usize>) {
        if std::mem::replace(&mut visited[root], true) {
            return;
        }
        let mut stack = vec![(root, 0)];
        while let Some((id, next)) = stack.last_mut() {
            // `l_initfini` of the program is not set yet when the list is sorted.
            let needs: &[usize] = if Some(*id) == program { &[] } else { &self.needs[*id] };
            match needs.get(*next).copied() {
                Some(need) => {
                    *next += 1;
                    if Some(need) != program && !std::mem::replace(&mut visited[need], true) {
                        stack.push((need, 0));
                    }
                }
                None => {
                    post_order.push(*id);
                    stack.pop();
                }
            }
        }
    }

    /// `queue_ctors` of musl: post-order from the program; a marked object is not entered again.
    fn musl_queue(&self) -> Vec<usize> {
        let mut visited = vec![false; self.needs.len()];
        let mut queue = Vec::with_capacity(self.needs.len());
        if let Some(&program) = self.search_list.first() {
            self.visit(program, None, &mut visited, &mut queue);
        }
        queue
    }
}
