//! One node's kernel: the calls of a start become operations as far as its caches do not answer them.
//!
//! Paths are walked component by component, links followed, as the kernel does (path_resolution(7)); the answers come
//! from a [`Root`]. The first start finds empty caches, the next ones what it left in them. Times to live are assumed
//! longer than a start; [`super::estimate`] adds what a long start requests again.

use super::client::{Client, Mountpoints, Operations};
use crate::calls::{Call, CallName};
use crate::closure::Closure;
use crate::root::{FileKind, Root};
use bstr::{BStr, BString, ByteSlice};
use std::collections::{HashMap, HashSet};

/// More links than this and the kernel gives up (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// The kernel of one node and what it remembers.
pub struct Node<'a> {
    root: &'a dyn Root,
    client: &'a Client,
    scope: &'a Mountpoints,
    /// Share of each mapped file that a start reads.
    touched: f64,
    /// Bytes that one read brings.
    read_size: u64,
    names: HashMap<BString, Name>,
    remembered: HashSet<(Kind, BString)>,
    open: HashMap<BString, usize>,
    operations: Operations,
}

/// What a path leads to, links not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Absent,
    Link(BString),
    Directory,
    File { size: u64 },
}

/// What a kernel remembers of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Name,
    Absence,
    Attributes,
    Link,
    Opened,
    Access,
    Pages,
}

/// Why a path is walked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Open,
    Look,
    /// The last component is not followed.
    Link,
}

impl<'a> Node<'a> {
    /// A node that has just mounted the file system.
    ///
    /// `touched` is the share of each mapped file that a start reads, `read_size` the bytes that one read brings.
    #[must_use]
    pub fn new(
        root: &'a dyn Root,
        client: &'a Client,
        scope: &'a Mountpoints,
        touched: f64,
        read_size: u64,
    ) -> Node<'a> {
        Node {
            root,
            client,
            scope,
            touched: touched.clamp(0.0, 1.0),
            read_size: read_size.max(1),
            names: HashMap::new(),
            remembered: HashSet::new(),
            open: HashMap::new(),
            operations: Operations::default(),
        }
    }

    /// One start of the program: execve(2), then every predicted call. `None` if the closure was resolved without
    /// its sequence of calls ([`crate::Resolver::with_sequence`]).
    pub fn start(&mut self, closure: &Closure) -> Option<Operations> {
        let sequence = closure.calls.sequence.as_ref()?;
        self.operations = Operations::default();
        self.open.clear();
        self.execute(closure.program.as_ref());
        if !closure.loader.path.is_empty() {
            self.execute(closure.loader.path.as_ref());
        }
        for call in sequence {
            self.call(call);
        }
        Some(self.operations)
    }

    /// More calls of the process that was started last: what it opens while it runs.
    pub fn go_on(&mut self, calls: &[Call]) -> Operations {
        self.operations = Operations::default();
        calls.iter().for_each(|call| self.call(call));
        self.operations
    }

    /// Directories of which the kernel remembers something: each is requested again when its time to live is over.
    #[must_use]
    pub fn directories(&self) -> u64 {
        let named = self.remembered.iter().filter(|(kind, _)| matches!(kind, Kind::Name | Kind::Absence));
        named.map(|(_, path)| parent(path.as_ref())).collect::<HashSet<_>>().len() as u64
    }

    /// execve(2) opens a file, checks that it may be executed, reads its head and maps it.
    fn execute(&mut self, path: &BStr) {
        if let Some(file) = self.walk(path, Purpose::Open) {
            self.attributes(&file);
            self.opened(&file);
            self.pages(&file);
        }
    }

    fn call(&mut self, call: &Call) {
        let path = call.path.as_ref();
        match call.name {
            CallName::Open | CallName::Openat => {
                let file = self.walk(path, Purpose::Open);
                if let Some(file) = file.filter(|_| !call.failed) {
                    self.opened(&file);
                    *self.open.entry(call.path.clone()).or_default() += 1;
                }
            }
            CallName::Stat | CallName::Fstat | CallName::Newfstatat => {
                let is_open = self.open.get(&call.path).is_some_and(|times| *times > 0);
                let file = if is_open { self.resolved(path) } else { self.walk(path, Purpose::Look) };
                if let Some(file) = file {
                    self.attributes(&file);
                }
            }
            CallName::Access | CallName::Faccessat => {
                self.walk(path, Purpose::Look);
            }
            CallName::Readlink | CallName::Readlinkat => {
                if let Some(link) = self.walk(path, Purpose::Link)
                    && matches!(self.name(&link), Name::Link(_))
                {
                    self.link(&link);
                }
            }
            CallName::Read | CallName::Pread64 | CallName::Mmap => {
                if let Some(file) = self.resolved(path) {
                    self.pages(&file);
                }
            }
            CallName::Close => {
                if let Some(times) = self.open.get_mut(&call.path) {
                    *times = times.saturating_sub(1);
                }
            }
            CallName::Fcntl | CallName::Mprotect | CallName::Munmap => {}
        }
    }

    /// Walks a path and requests every component that is not remembered. Returns the path without links that it leads
    /// to; `None` if it does not exist.
    fn walk(&mut self, path: &BStr, purpose: Purpose) -> Option<BString> {
        self.follow(path, purpose, true)
    }

    /// The same without a request: the file is known already.
    fn resolved(&mut self, path: &BStr) -> Option<BString> {
        self.follow(path, Purpose::Look, false)
    }

    fn follow(&mut self, path: &BStr, purpose: Purpose, ask: bool) -> Option<BString> {
        let mut here = if path.starts_with(b"/") { BString::default() } else { self.root.current_directory() };
        let mut rest = components(path);
        let mut links = 0;
        while let Some(component) = rest.pop() {
            if component == ".." {
                // The kernel goes back up the path that it came by, without a request.
                here = parent(here.as_ref());
                continue;
            }
            let next = join(here.as_ref(), component.as_ref());
            let is_last = rest.is_empty();
            if ask {
                self.look_up(&here, &next, is_last && purpose == Purpose::Open);
            }
            match self.name(&next) {
                Name::Absent => return None,
                Name::Link(target) if !(is_last && purpose == Purpose::Link) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    if ask {
                        self.link(&next);
                    }
                    if target.starts_with(b"/") {
                        here.clear();
                    }
                    rest.extend(components(target.as_ref()));
                }
                Name::File { .. } if !is_last => return None,
                _ => here = next,
            }
        }
        Some(here)
    }

    fn look_up(&mut self, directory: &BString, path: &BString, opens: bool) {
        if !self.scope.holds(directory.as_ref()) {
            return;
        }
        if self.client.access && self.first(Kind::Access, directory) {
            self.operations.access += 1;
        }
        let absent = self.name(path) == Name::Absent;
        let (kind, memory) = if absent { (Kind::Absence, self.client.absent) } else { (Kind::Name, self.client.found) };
        let asked = if memory.keeps() { self.first(kind, path) } else { true };
        if !asked {
            return;
        }
        if !absent && self.client.attributes.keeps() {
            self.first(Kind::Attributes, path);
        }
        if opens && self.client.open_finds && !absent && matches!(self.name(path), Name::File { .. }) {
            // The open itself brings the answer.
            return;
        }
        self.operations.lookups += 1;
        self.operations.absent += u64::from(absent);
    }

    fn attributes(&mut self, path: &BString) {
        let asked = !self.client.attributes.keeps() || self.first(Kind::Attributes, path);
        self.operations.attributes += u64::from(asked && self.is_here(path));
    }

    fn link(&mut self, path: &BString) {
        let asked = !self.client.links.keeps() || self.first(Kind::Link, path);
        self.operations.links += u64::from(asked && self.is_here(path));
    }

    fn opened(&mut self, path: &BString) {
        if !self.is_here(path) {
            return;
        }
        let asked = !self.client.opened.keeps() || self.first(Kind::Opened, path);
        self.operations.opens += u64::from(asked);
        self.operations.closes += u64::from(asked && self.client.close);
    }

    /// Reads of a mapped file: once per node, or once per process if pages are not kept.
    fn pages(&mut self, path: &BString) {
        let Name::File { size } = self.name(path) else { return };
        if !self.is_here(path) || size == 0 || self.touched == 0.0 || !self.first(Kind::Pages, path) {
            return;
        }
        let bytes = ((size as f64 * self.touched) as u64).clamp(size.min(self.read_size.min(4096)), size);
        self.operations.bytes += bytes;
        self.operations.reads += bytes.div_ceil(self.read_size);
    }

    /// Forgets what does not outlast a process: call it between two starts if pages are not shared.
    pub fn end_process(&mut self) {
        if !self.client.pages {
            self.remembered.retain(|(kind, _)| *kind != Kind::Pages);
        }
    }

    fn is_here(&self, path: &BString) -> bool {
        self.scope.holds(path.as_ref())
    }

    /// Remembers something; returns whether it was new.
    fn first(&mut self, kind: Kind, path: &BString) -> bool {
        self.remembered.insert((kind, path.clone()))
    }

    fn name(&mut self, path: &BString) -> Name {
        if let Some(name) = self.names.get(path) {
            return name.clone();
        }
        let name = if let Some(target) = self.root.read_link(path.as_ref()) {
            Name::Link(target)
        } else {
            match self.root.stat(path.as_ref()) {
                Ok(meta) if meta.kind == FileKind::Directory => Name::Directory,
                Ok(meta) => Name::File { size: meta.size },
                Err(_) => Name::Absent,
            }
        };
        self.names.insert(path.clone(), name.clone());
        name
    }
}

/// The components of a path, the last one first; empty ones and `.` need no request.
fn components(path: &BStr) -> Vec<BString> {
    let mut parts: Vec<BString> =
        path.split_str("/").filter(|part| !part.is_empty() && *part != b".").map(BString::from).collect();
    parts.reverse();
    parts
}

fn join(directory: &BStr, name: &BStr) -> BString {
    let mut path = BString::from(directory);
    path.push(b'/');
    path.extend_from_slice(name);
    path
}

fn parent(path: &BStr) -> BString {
    path.rfind_byte(b'/').map_or_else(BString::default, |slash| path[..slash].into())
}
