//! Search paths with one directory: a list that answers every bare name as the old one did, at the cost of one lookup.
//!
//! Bound names need no search any more, but a dlopen(3), an NSS or gconv module and a name that is left alone do, and a
//! loader goes through the whole list for them. Directories that do not exist or hold no library are left out; if more
//! than one is left, a directory of links replaces them (a farm): the first directory that holds a name wins, as it
//! would for the loader. A directory stays in the list, after the farm, if only the loader can tell what it answers
//! (capability subdirectories, files of another machine) or if a link would change what is found (`$ORIGIN` and
//! dladdr(3) refer to the path by which a library was opened).
//!
//! Since each object's list answers as before, so does every chain of lists that DT_RPATH's inheritance makes of them,
//! also in programs that are not part of the plan.

use super::facts::{Facts, directory_of, is_below, is_searched_by};
use super::ground::{Ground, Target};
use super::shelves::{Held, Shelves, join};
use super::view::{Served, View};
use crate::edits::SearchPathEdit;
use crate::plan::model::{FARMS, Farm, FarmLink};
use crate::plan::policy::Policy;
use bstr::{BStr, BString, ByteSlice};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use underpin_elf::{Class, Endian, Machine};
use underpin_resolve::root::lexical;
use underpin_resolve::{FileId, LoaderKind};

/// A list that answers as the old one does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) struct Narrow {
    /// The links of the farm; empty if none is needed.
    pub links: Vec<(String, BString)>,
    /// Entries that stay, as spelled in the file, in their order.
    pub kept: Vec<BString>,
}

/// One entry of a list.
pub(in crate::plan) struct Entry {
    /// As spelled in the file.
    pub text: BString,
    /// The directory, absolute.
    pub directory: BString,
}

/// Narrows lists.
pub(in crate::plan) struct Narrower<'a> {
    ground: &'a Ground<'a>,
    policy: &'a Policy,
    shelves: Shelves<'a>,
    /// Where each file occurs: view and member.
    places: HashMap<FileId, Vec<(usize, usize)>>,
    /// Per view and member: the members that it requests.
    asks: Vec<Vec<Vec<usize>>>,
}

impl<'a> Narrower<'a> {
    pub fn new(ground: &'a Ground<'a>, policy: &'a Policy) -> Narrower<'a> {
        let mut places: HashMap<FileId, Vec<(usize, usize)>> = HashMap::new();
        let mut asks = Vec::with_capacity(ground.views.len());
        for (index, view) in ground.views.iter().enumerate() {
            for (member, known) in view.members.iter().enumerate() {
                places.entry(known.id).or_default().push((index, member));
            }
            let mut asked = vec![Vec::new(); view.members.len()];
            for request in &view.requests {
                if let (Served::Object(object), Some(list)) = (&request.served, asked.get_mut(request.asker)) {
                    list.push(*object);
                }
            }
            asks.push(asked);
        }
        Narrower { ground, policy, shelves: Shelves::new(ground.root), places, asks }
    }

    /// The edit of a file's search path, and the farm to make for it.
    pub fn edit(&self, target: &Target) -> Option<(SearchPathEdit, Option<Farm>)> {
        let narrow = self.narrow(target, &BTreeSet::new())?;
        let farm = match narrow.links.as_slice() {
            [] => None,
            links => Some(self.farm(target, links)?),
        };
        let mut entries: Vec<BString> = farm.iter().map(|farm| farm.directory.as_str().into()).collect();
        entries.extend(narrow.kept);
        Some((search_path(&target.facts, entries.join(&b':').into()), farm))
    }

    /// The narrowed list of a file, without the names in `taken`; `None` if that gains nothing or is not safe.
    pub fn narrow(&self, target: &Target, taken: &BTreeSet<BString>) -> Option<Narrow> {
        if !self.policy.narrow_search {
            return None;
        }
        let entries = self.entries(target)?;
        let distinct: BTreeSet<&BString> = entries.iter().map(|entry| &entry.directory).collect();
        let views = self.places.get(&target.file.id)?;
        let (view, _) = *views.first()?;
        let narrow = self.choose(&entries, target, self.ground.views.get(view)?.machine, taken)?;
        let after = narrow.kept.len() + usize::from(!narrow.links.is_empty() || !taken.is_empty());
        (after < distinct.len() + usize::from(!taken.is_empty())).then_some(narrow)
    }

    /// The entries of a file's own list; `None` if one of them is not the same directory for every program.
    fn entries(&self, target: &Target) -> Option<Vec<Entry>> {
        let dynamic = &target.facts.dynamic;
        let list = dynamic.runpath.as_ref().or(dynamic.rpath.as_ref())?;
        let places = self.places.get(&target.file.id)?;
        let views: Vec<&View> = places.iter().filter_map(|(view, _)| self.ground.views.get(*view)).collect();
        let origin = directory_of(target.file.path.as_ref());
        if list.contains_str("ORIGIN") && !self.is_opened_in(target, origin, places) {
            return None;
        }
        let musl = views.iter().any(|view| view.is_musl());
        let mut lib =
            views.iter().filter(|view| view.loader.kind == LoaderKind::Glibc).map(|view| &view.loader.lib_token);
        let lib = lib.next().filter(|first| lib.all(|other| other == *first));
        expand(list.as_ref(), origin, lib.filter(|_| !musl).map(|lib| lib.as_bstr()))
    }

    /// Whether a file is at a path in this directory in every known closure, and not in secure-execution mode.
    fn is_opened_in(&self, target: &Target, directory: &BStr, places: &[(usize, usize)]) -> bool {
        let catalogue = &self.ground.catalogue;
        let here = catalogue.identity(directory);
        let same = |path: &BString| catalogue.identity(directory_of(path.as_ref())) == here;
        let members = places.iter().filter_map(|(view, member)| self.ground.views.get(*view)?.members.get(*member));
        let secure = self.ground.root.stat(target.file.path.as_ref()).is_ok_and(|meta| meta.secure_execution);
        here.is_some()
            && !secure
            && target.file.hard_links.iter().all(same)
            && members.into_iter().all(|it| same(&it.path))
    }

    fn choose(
        &self,
        entries: &[Entry],
        target: &Target,
        machine: (Machine, Class, Endian),
        taken: &BTreeSet<BString>,
    ) -> Option<Narrow> {
        let Census { first, mut kept } = census(&self.shelves, entries, machine);
        let mut answers: BTreeMap<&BString, usize> = first.iter().map(|(name, index)| (name, *index)).collect();
        answers.retain(|name, _| !taken.contains(*name));
        let with_farm = !taken.is_empty();
        let live: BTreeSet<usize> = answers.values().copied().chain(kept.iter().copied()).collect();
        if !with_farm && live.difference(&kept).count() <= 1 {
            // An empty list answers nothing. The tag stays: a DT_RUNPATH keeps inherited lists away.
            let mut rest: Vec<BString> = live.iter().map(|index| entries[*index].text.clone()).collect();
            if rest.is_empty() {
                rest.push(entries.first()?.text.clone());
            }
            return Some(Narrow { links: Vec::new(), kept: rest });
        }
        let loaded = self.always_loaded(target.file.id);
        for (name, index) in &answers {
            let path = join(entries[*index].directory.as_ref(), name.as_bstr());
            if !kept.contains(index) && !self.may_be_linked(&path, name.as_bstr(), &loaded) {
                kept.insert(*index);
            }
        }
        let mut links = Vec::new();
        for (name, index) in answers.iter().filter(|(_, index)| !kept.contains(index)) {
            let path = join(lexical_directory(self.ground, &entries[*index].directory).as_ref(), name.as_bstr());
            links.push((name.to_string(), path));
        }
        let kept = kept.iter().map(|index| entries[*index].text.clone()).collect();
        Some(Narrow { links, kept })
    }

    /// Whether a library behaves the same if opened through a link elsewhere: it does not use its own place, or is
    /// already loaded.
    fn may_be_linked(&self, path: &BString, name: &BStr, loaded: &HashSet<FileId>) -> bool {
        if std::str::from_utf8(name).is_err() || std::str::from_utf8(path).is_err() || path.contains(&b':') {
            return false;
        }
        let Some(id) = self.ground.catalogue.identity(path.as_ref()) else { return false };
        let is_loaded = loaded.contains(&id);
        // A name that is left alone is searched for at the start and loaded through the link.
        let is_left = || self.policy.leaves_out(name, None, path.as_bstr()).is_some();
        match self.ground.catalogue.of(id, path.as_ref()) {
            Some(facts) => !facts.uses_origin() && (is_loaded && !is_left() || !facts.asks_where_it_is()),
            None => true,
        }
    }

    /// Files that are loaded whenever this one is, in every known closure.
    fn always_loaded(&self, file: FileId) -> HashSet<FileId> {
        let mut all: Option<HashSet<FileId>> = None;
        for (view, member) in self.places.get(&file).into_iter().flatten() {
            let members = &self.ground.views[*view].members;
            let mut seen = BTreeSet::from([*member]);
            let mut ahead = vec![*member];
            while let Some(next) = ahead.pop() {
                ahead.extend(self.asks[*view][next].iter().copied().filter(|object| seen.insert(*object)));
            }
            let here: HashSet<FileId> = seen.into_iter().filter_map(|index| Some(members.get(index)?.id)).collect();
            all = Some(all.map_or(here.clone(), |all| all.intersection(&here).copied().collect()));
        }
        all.unwrap_or_default()
    }

    /// A farm named after its content: files with the same list share it.
    fn farm(&self, target: &Target, links: &[(String, BString)]) -> Option<Farm> {
        let mut hash = Sha256::new();
        for (name, path) in links {
            hash.update(name.as_bytes());
            hash.update([0]);
            hash.update(path.as_slice());
            hash.update([0]);
        }
        let name: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let above = match &self.policy.farm_directory {
            Some(directory) => {
                let given: BString = directory.as_str().into();
                self.ground.root.real_path(given.as_ref()).unwrap_or(given)
            }
            None => self.top(target.file.path.as_ref()).into(),
        };
        let directory =
            String::from_utf8(join(join(above.as_ref(), FARMS.into()).as_ref(), name.as_str().into()).into()).ok()?;
        // The loader splits lists at colons and expands tokens.
        if directory.contains([':', '$']) {
            return None;
        }
        let link = |(name, path): &(String, BString)| FarmLink { name: name.clone(), target: path.to_string() };
        let users = vec![target.file.path.to_string()];
        Some(Farm { directory, users, relative: false, links: links.iter().map(link).collect() })
    }

    /// The directory that the user named and that holds a file; if the file itself was named, its directory.
    fn top<'p>(&'p self, path: &'p BStr) -> &'p BStr {
        let holds = |top: &&BString| top.as_bstr() != path && is_below(path, top.as_bstr());
        let tops = self.ground.tops.iter().filter(holds);
        let own = path.rfind_byte(b'/').map_or(path, |slash| path[..slash.max(1)].as_bstr());
        tops.max_by_key(|top| top.len()).map_or(BStr::new(own), |top| top.as_bstr())
    }

    /// In how many directories a bare name that none of them holds is searched for, if an object of a view requests it:
    /// its own list, those of the objects that loaded it, the program's. `lists` gives the list of a member.
    pub fn directories(&self, view: &View, lists: &dyn Fn(FileId, &BString) -> Option<List>) -> usize {
        let mut brought: Vec<Option<usize>> = vec![None; view.members.len()];
        for request in &view.requests {
            if let Served::Object(object) = request.served
                && object != 0
                && brought[object].is_none()
            {
                brought[object] = Some(request.asker);
            }
        }
        let own: Vec<Option<List>> = view.members.iter().map(|member| lists(member.id, &member.path)).collect();
        let inherits = |list: &List| list.inherited || view.is_musl();
        let count = |caller: usize| {
            let mut directories: BTreeSet<&BString> = BTreeSet::new();
            let runpath = own[caller].as_ref().filter(|list| !inherits(list));
            directories.extend(runpath.iter().flat_map(|list| &list.directories));
            let mut next = Some(caller).filter(|_| runpath.is_none());
            let mut steps = 0;
            while let Some(at) = next.filter(|_| steps <= view.members.len()) {
                let list = own[at].as_ref().filter(|list| inherits(list));
                directories.extend(list.iter().flat_map(|list| &list.directories));
                next = if at == 0 { None } else { Some(brought[at].unwrap_or(0)) };
                steps += 1;
            }
            directories.len()
        };
        (0..view.members.len()).filter(|member| self.opens_more(view, *member)).map(count).max().unwrap_or(0)
    }

    /// Whether an object of a view may open libraries while the program runs; the C library always may (NSS, gconv).
    pub fn opens_more(&self, view: &View, member: usize) -> bool {
        let Some(member) = view.members.get(member) else { return false };
        let is_libc = |soname: &BString| soname == "libc.so.6";
        member.soname.as_ref().is_some_and(is_libc) || self.imports_dlopen(member.id, &member.path)
    }

    pub fn imports_dlopen(&self, id: FileId, path: &BString) -> bool {
        self.ground.catalogue.of(id, path.as_ref()).is_some_and(|facts| facts.opens_libraries())
    }

    /// The list of a file, unchanged or after an edit.
    pub fn list(&self, id: FileId, path: &BString, edit: Option<&SearchPathEdit>) -> Option<List> {
        let facts = self.ground.catalogue.of(id, path.as_ref())?;
        let dynamic = &facts.dynamic;
        let (text, inherited) = match edit {
            Some(SearchPathEdit::Rpath(text)) => (text, true),
            Some(SearchPathEdit::Runpath(text)) => (text, false),
            _ => (dynamic.runpath.as_ref().or(dynamic.rpath.as_ref())?, dynamic.runpath.is_none()),
        };
        let directories = text.split(|&byte| byte == b':').map(BString::from).collect();
        Some(List { directories, inherited })
    }
}

/// A search path, reduced to what determines its cost.
pub(in crate::plan) struct List {
    directories: BTreeSet<BString>,
    /// DT_RPATH: the objects that it loads search it too.
    inherited: bool,
}

/// Which entry of a list answers which name.
struct Census {
    first: BTreeMap<BString, usize>,
    /// Entries that only the loader can evaluate.
    kept: BTreeSet<usize>,
}

fn census(shelves: &Shelves, entries: &[Entry], machine: (Machine, Class, Endian)) -> Census {
    let mut census = Census { first: BTreeMap::new(), kept: BTreeSet::new() };
    // Names whose search may go on after the entry that first has them.
    let mut open: BTreeSet<BString> = BTreeSet::new();
    let mut blind = false;
    for (index, entry) in entries.iter().enumerate() {
        let shelf = shelves.of(entry.directory.as_ref());
        if shelf.closed {
            blind = true;
            census.kept.insert(index);
        }
        for name in &shelf.variants {
            if !census.first.contains_key(name) {
                census.kept.insert(index);
                census.first.insert(name.clone(), index);
                open.insert(name.clone());
            }
        }
        for (name, (held, _)) in &shelf.files {
            let settled = match held {
                Held::Elf(its_machine, class, endian) => (*its_machine, *class, *endian) == machine,
                Held::NotElf => true,
                Held::Odd => false,
            };
            let is_open = open.contains(name);
            let is_first = !census.first.contains_key(name);
            if is_first {
                census.first.insert(name.clone(), index);
            }
            if !(is_first || is_open) {
                continue;
            }
            if is_open || blind || !settled {
                census.kept.insert(index);
            }
            if settled {
                open.remove(name);
            } else {
                open.insert(name.clone());
            }
        }
    }
    census
}

/// The entries of a list as absolute directories; `None` if one of them is not the same directory for every program.
pub(in crate::plan) fn expand(list: &BStr, origin: &BStr, lib: Option<&BStr>) -> Option<Vec<Entry>> {
    let entry = |text: &[u8]| {
        let mut directory = BString::from(text.replace("${ORIGIN}", "$ORIGIN"));
        if directory.starts_with(b"$ORIGIN") && matches!(directory.get(7), None | Some(b'/')) {
            directory = [origin.as_bytes(), &directory[7..]].concat().into();
        }
        if let Some(lib) = lib {
            directory = directory.replace("${LIB}", lib).into();
            let ends = |rest: &[u8]| rest.first().is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
            if let Some(at) = directory.find("$LIB").filter(|at| ends(&directory[at + 4..])) {
                directory = [&directory[..at], lib.as_bytes(), &directory[at + 4..]].concat().into();
            }
        }
        let plain = directory.starts_with(b"/") && !directory.contains(&b'$');
        plain.then(|| Entry { text: text.into(), directory: trimmed(directory) })
    };
    list.split(|&byte| byte == b':').map(entry).collect()
}

fn trimmed(directory: BString) -> BString {
    let text = directory.trim_end_with(|letter| letter == '/');
    if text.is_empty() { "/".into() } else { text.into() }
}

/// A directory without `.` and `..`, if that is the same one.
fn lexical_directory(ground: &Ground, directory: &BString) -> BString {
    let normal = lexical(directory.as_ref());
    let same = ground.catalogue.identity(normal.as_ref()) == ground.catalogue.identity(directory.as_ref());
    if same { normal } else { directory.clone() }
}

/// The edit that gives a file this list under the tag that it has.
fn search_path(facts: &Facts, list: BString) -> SearchPathEdit {
    if is_searched_by(&facts.dynamic).is_some_and(|inherited| inherited) {
        SearchPathEdit::Rpath(list)
    } else {
        SearchPathEdit::Runpath(list)
    }
}
