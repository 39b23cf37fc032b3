//! Farms: a directory of links beside a program, and the search path that leads to it.
//!
//! A relative farm holds links relative to itself instead of absolute ones, and is named by `$ORIGIN`, so the whole
//! tree may be moved; `$ORIGIN` in DT_NEEDED itself would abort (`vn_file` is compared unexpanded).

use super::candidates::Bindable;
use super::facts::{Facts, directory_of, is_below};
use super::ground::Ground;
use super::search::Narrow;
use super::view::{Member, View};
use crate::edits::SearchPathEdit;
use crate::plan::model::{Farm, FarmLink, ProgramNote, RefusedBecause};
use bstr::{BStr, BString, ByteSlice};
use underpin_resolve::Root;
use underpin_resolve::root::lexical;

/// Where one program's farm is.
pub(in crate::plan) struct Site {
    pub directory: String,
    /// The program's real path.
    pub program: BString,
    /// Relative: the directory that may be moved.
    pub tree: Option<BString>,
}

impl Site {
    /// Whether something other than links is at the place.
    pub fn is_in_the_way(&self, root: &dyn Root) -> bool {
        let path = |name: &BStr| -> BString { [self.directory.as_bytes(), b"/", name.as_bytes()].concat().into() };
        match root.list(self.directory.as_str().into()) {
            Ok(names) => names.iter().any(|name| root.read_link(path(name.as_ref()).as_ref()).is_none()),
            Err(_) => root.stat(self.directory.as_str().into()).is_ok(),
        }
    }

    /// The links, and notes about them for the user.
    pub fn farm(
        &self,
        ground: &Ground,
        view: &View,
        linked: &[(&Member, &Bindable)],
    ) -> Result<(Farm, Vec<ProgramNote>), RefusedBecause> {
        let mut notes = Vec::new();
        let mut links: Vec<FarmLink> = Vec::new();
        for (member, bindable) in linked {
            let target = self.target(ground, view, bindable, &mut notes)?;
            for name in member.names.iter().filter(|name| !name.contains(&b'/')) {
                let name = name.to_string();
                if !links.iter().any(|link| link.name == name) {
                    links.push(FarmLink { name, target: target.clone() });
                }
            }
            self.fixed_search_path(ground, member, &mut notes);
        }
        links.sort_by(|one, other| one.name.cmp(&other.name));
        let user = match &self.tree {
            Some(_) => climb(self.directory.as_str().into(), self.program.as_ref()),
            None => self.program.clone(),
        };
        let users = vec![user.to_string()];
        Ok((Farm { directory: self.directory.clone(), users, relative: self.tree.is_some(), links }, notes))
    }

    fn target(
        &self,
        ground: &Ground,
        view: &View,
        bindable: &Bindable,
        notes: &mut Vec<ProgramNote>,
    ) -> Result<String, RefusedBecause> {
        let Some(tree) = &self.tree else { return Ok(bindable.path.to_string()) };
        // Links on the way may be absolute, and would lead back to the old place.
        let real = ground.root.real_path(bindable.path.as_ref()).unwrap_or_else(|_| bindable.path.clone());
        if is_below(real.as_ref(), tree.as_ref()) {
            return Ok(climb(self.directory.as_str().into(), real.as_ref()).to_string());
        }
        if !is_of_the_system(view, bindable.path.as_ref(), real.as_ref()) {
            return Err(RefusedBecause::OutsideTree { object: bindable.path.clone() });
        }
        notes.push(ProgramNote::OutsideTree { object: bindable.path.clone() });
        Ok(bindable.path.to_string())
    }

    /// How the record names an object: relative to the program if the tree may be moved.
    pub fn recorded(&self, ground: &Ground, bindable: &Bindable) -> String {
        let real = ground.root.real_path(bindable.path.as_ref()).unwrap_or_else(|_| bindable.path.clone());
        match &self.tree {
            Some(tree) if is_below(real.as_ref(), tree.as_ref()) => {
                from_origin(&self.program, real.as_ref()).to_string()
            }
            _ => bindable.path.to_string(),
        }
    }

    fn fixed_search_path(&self, ground: &Ground, member: &Member, notes: &mut Vec<ProgramNote>) {
        let Some(tree) = &self.tree else { return };
        let Some(facts) = ground.catalogue.of(member.id, member.path.as_ref()) else { return };
        let paths = [&facts.dynamic.rpath, &facts.dynamic.runpath];
        let mut entries = paths.into_iter().flatten().flat_map(|path| path.split(|&byte| byte == b':'));
        if entries.any(|entry| is_below(entry.as_bstr(), tree.as_ref())) && facts.searches_at_run_time() {
            notes.push(ProgramNote::FixedSearchPath { library: member.path.clone() });
        }
    }

    /// Adds the links by which the farm also answers for the program's own list.
    pub fn widen(&self, ground: &Ground, farm: &mut Farm, narrow: &Narrow) {
        for (name, path) in &narrow.links {
            let real = ground.root.real_path(path.as_ref()).unwrap_or_else(|_| path.clone());
            let target = match &self.tree {
                Some(tree) if is_below(real.as_ref(), tree.as_ref()) => {
                    climb(self.directory.as_str().into(), real.as_ref())
                }
                _ => path.clone(),
            };
            farm.links.push(FarmLink { name: name.clone(), target: target.to_string() });
        }
        farm.links.sort_by(|one, other| one.name.cmp(&other.name));
    }

    /// The farm first, then what is left of the program's list: as DT_RPATH if it had one that libraries inherit.
    pub fn search_path(&self, facts: &Facts, view: &View, narrow: Option<&Narrow>) -> SearchPathEdit {
        let inherits = facts.dynamic.rpath.is_some() && facts.dynamic.runpath.is_none() && !view.is_musl();
        let old = facts.dynamic.runpath.as_ref().or(facts.dynamic.rpath.as_ref());
        let directory: BString = match &self.tree {
            None => self.directory.as_str().into(),
            Some(_) => from_origin(&self.program, self.directory.as_str().into()),
        };
        let mut entries = vec![directory];
        let all = || old.into_iter().flat_map(|old| old.split(|&byte| byte == b':')).map(BString::from).collect();
        for entry in narrow.map_or_else(all, |narrow| narrow.kept.clone()) {
            let below = self.tree.as_ref().filter(|tree| is_below(entry.as_bstr(), (*tree).as_ref()));
            let moved = below.map(|_| from_origin(&self.program, entry.as_bstr()));
            entries.push(moved.unwrap_or(entry));
        }
        let path: BString = entries.join(&b':').into();
        if inherits { SearchPathEdit::Rpath(path) } else { SearchPathEdit::Runpath(path) }
    }
}

/// The directory that is assumed to be moved as a whole: the scope's directory that holds the program, or the common
/// parent of the program and its own libraries.
pub(in crate::plan) fn tree_of(ground: &Ground, view: &View, program: &BStr) -> BString {
    let tops = ground.tops.iter().filter(|top| top.as_bstr() != program && is_below(program, top.as_bstr()));
    if let Some(top) = tops.max_by_key(|top| top.len()) {
        return top.clone();
    }
    let real = |member: &Member| ground.root.real_path(member.path.as_ref()).unwrap_or_else(|_| member.path.clone());
    let own = view.members[1..].iter().map(|member| (member, real(member)));
    let own = own.filter(|(member, real)| !is_of_the_system(view, member.path.as_ref(), real.as_ref()));
    own.fold(directory_of(program).into(), |tree: BString, (_, real)| {
        let mut tree = tree;
        while tree != "/" && !is_below(real.as_ref(), tree.as_ref()) {
            tree = directory_of(tree.as_ref()).into();
        }
        tree
    })
}

fn is_of_the_system(view: &View, path: &BStr, real: &BStr) -> bool {
    let system = view.loader.system_directories.iter().map(|directory| directory.as_bstr());
    let usual = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"].map(|directory| directory.as_bytes().as_bstr());
    system.chain(usual).any(|directory| is_below(path, directory) || is_below(real, directory))
}

/// The relative path from a directory to a path, both absolute and real.
fn climb(directory: &BStr, path: &BStr) -> BString {
    let (directory, path) = (lexical(directory), lexical(path));
    let parts = |text: &BString| -> Vec<BString> {
        text.split(|&byte| byte == b'/').filter(|part| !part.is_empty()).map(BString::from).collect()
    };
    let (from, to) = (parts(&directory), parts(&path));
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n(BString::from(".."), from.len() - common);
    let way: Vec<BString> = up.chain(to[common..].iter().cloned()).collect();
    if way.is_empty() { ".".into() } else { way.join(&b'/').into() }
}

/// A directory as the program's search path names it, relative to the program's place.
fn from_origin(program: &BString, directory: &BStr) -> BString {
    let way = climb(directory_of(program.as_ref()), directory);
    if way == "." { "$ORIGIN".into() } else { [b"$ORIGIN/", way.as_slice()].concat().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_a_directory_climbs_as_far_as_needed() {
        let rows = [
            ("/t/bin/p.farm", "/t/lib/x.so", "../../lib/x.so"),
            ("/t", "/t/a/b", "a/b"),
            ("/a/b", "/a/b", "."),
            ("/a", "/b", "../b"),
            ("/", "/x", "x"),
        ];
        for (directory, path, expected) in rows {
            assert_eq!(climb(directory.into(), path.into()), expected);
        }
        assert_eq!(from_origin(&"/t/bin/p".into(), "/t/bin/p.farm".into()), "$ORIGIN/p.farm");
        assert_eq!(from_origin(&"/t/bin/p".into(), "/t/bin".into()), "$ORIGIN");
    }
}
