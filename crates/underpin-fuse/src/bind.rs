//! Which definition the loader gives each reference: `_dl_lookup_symbol_x`, `do_lookup_x` and `check_match` of glibc's
//! elf/dl-lookup.c, over the scope of a program and everything that it loads at start.

use crate::machine::Kind;
use crate::object::{Object, SHN_ABS, STB_GNU_UNIQUE, STB_WEAK, STT_TLS, STV_PROTECTED, Symbol, Version};
use bstr::BString;
use std::collections::HashMap;

/// Where a reference leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A symbol of an object, both as indices.
    Symbol {
        /// The object in the closure.
        object: usize,
        /// The symbol in its dynamic symbol table.
        symbol: usize,
    },
    /// No object defines it.
    Nothing,
}

impl Target {
    /// The object and the symbol in it, as indices; `None` for nothing.
    pub(crate) fn symbol(self) -> Option<(usize, usize)> {
        match self {
            Target::Symbol { object, symbol } => Some((object, symbol)),
            Target::Nothing => None,
        }
    }
}

/// A reference of a member and where it leads, for comparison with the loader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The object that refers.
    pub from: usize,
    /// The object whose definition it gets; `None` if there is none.
    pub to: Option<usize>,
    /// The symbol.
    pub name: BString,
    /// The version asked for, empty if none.
    pub version: BString,
}

/// What kind of reference asks (`elf_machine_type_class`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RefClass {
    /// A call or a thread-local variable: an undefined symbol with a value (a canonical PLT entry) does not count.
    Plt,
    /// Data: it does.
    Data,
}

impl RefClass {
    /// The class of a relocation's reference.
    pub fn of(kind: Kind) -> RefClass {
        match kind {
            Kind::Absolute | Kind::GlobDat => RefClass::Data,
            _ => RefClass::Plt,
        }
    }
}

/// Every definition of the scope, by name, in the order in which look-ups meet them.
pub(crate) struct Scope<'o, 'a> {
    objects: &'o [Object<'a>],
    by_name: HashMap<&'a [u8], Vec<(usize, usize)>>,
    /// The definition of each STB_GNU_UNIQUE name that all references get once one got it (`do_lookup_unique`).
    unique: HashMap<&'a [u8], Target>,
}

impl<'o, 'a> Scope<'o, 'a> {
    pub fn new(objects: &'o [Object<'a>], order: &[usize]) -> Scope<'o, 'a> {
        let mut by_name: HashMap<&'a [u8], Vec<(usize, usize)>> = HashMap::new();
        for (object, facts) in objects.iter().enumerate() {
            for (index, symbol) in facts.symbols.iter().enumerate().skip(1) {
                if may_match(symbol) {
                    by_name.entry(symbol.name).or_default().push((object, index));
                }
            }
        }
        let mut scope = Scope { objects, by_name, unique: HashMap::new() };
        scope.register_unique(order);
        scope
    }

    /// The loader relocates in the order of the constructors; the first reference to a unique name decides for the whole
    /// process, whatever version the others ask for.
    fn register_unique(&mut self, order: &[usize]) {
        let objects = self.objects;
        let is_unique = |target: &Target| self.is_unique(*target);
        let mut unique: HashMap<&'a [u8], Target> = HashMap::new();
        for &from in order {
            for reloc in objects[from].relocs.iter().filter(|reloc| reloc.symbol != 0) {
                let Some(symbol) = objects[from].symbols.get(reloc.symbol) else { continue };
                let known = || {
                    self.by_name.get(symbol.name).is_some_and(|all| {
                        all.iter().any(|&(object, index)| objects[object].symbols[index].binding() == STB_GNU_UNIQUE)
                    })
                };
                if symbol.binds_local() || unique.contains_key(symbol.name) || !known() {
                    continue;
                }
                let target = self.resolve(from, reloc.symbol, RefClass::of(reloc.kind));
                if is_unique(&target) {
                    unique.insert(symbol.name, target);
                }
            }
        }
        self.unique = unique;
    }

    fn is_unique(&self, target: Target) -> bool {
        matches!(target, Target::Symbol { object, symbol }
            if self.objects[object].symbols[symbol].binding() == STB_GNU_UNIQUE)
    }

    /// The definition that stands for every unique one of a name.
    pub fn unique(&self, name: &[u8]) -> Option<Target> {
        self.unique.get(name).copied()
    }

    /// Where a reference of an object leads.
    pub fn resolve(&self, from: usize, index: usize, class: RefClass) -> Target {
        let object = &self.objects[from];
        let Some(reference) = object.symbols.get(index).filter(|_| index != 0) else { return Target::Nothing };
        let own = Target::Symbol { object: from, symbol: index };
        if reference.binds_local() {
            return own;
        }
        let version = object.version_of(reference);
        let found = self.look_up(from, index, version, class);
        if self.is_unique(found)
            && let Some(registered) = self.unique.get(reference.name)
        {
            return *registered;
        }
        if reference.visibility() != STV_PROTECTED || !reference.is_defined() {
            return found;
        }
        // What another object defines, this one's own protected definition hides from it; a canonical PLT entry of
        // the program is not a definition.
        let other = match class {
            RefClass::Plt => found,
            RefClass::Data => self.look_up(from, index, version, RefClass::Plt),
        };
        match other {
            Target::Symbol { object, .. } if object != from => own,
            _ => found,
        }
    }

    fn look_up(&self, from: usize, index: usize, version: Option<Version>, class: RefClass) -> Target {
        let name = self.objects[from].symbols[index].name;
        let Some(all) = self.by_name.get(name) else { return Target::Nothing };
        let first = self.objects[from].symbolic.then(|| self.in_object(all, from, version, class)).flatten();
        first.or_else(|| self.in_order(all, version, class)).unwrap_or(Target::Nothing)
    }

    fn in_order(&self, all: &[(usize, usize)], version: Option<Version>, class: RefClass) -> Option<Target> {
        in_turn(all).find_map(|object| self.in_object(all, object, version, class))
    }

    /// What each object has for a reference, whichever comes first; those that have nothing are left out.
    pub fn each(&self, from: usize, index: usize, class: RefClass) -> impl Iterator<Item = Target> {
        let symbol = &self.objects[from].symbols[index];
        let version = self.objects[from].version_of(symbol);
        let all = self.by_name.get(symbol.name).map_or(&[][..], Vec::as_slice);
        in_turn(all).filter_map(move |object| self.in_object(all, object, version, class))
    }

    /// `do_lookup_x` in one object: the first symbol that matches, or the only versioned one if none was asked for.
    fn in_object(
        &self,
        all: &[(usize, usize)],
        object: usize,
        version: Option<Version>,
        class: RefClass,
    ) -> Option<Target> {
        let start = all.partition_point(|(other, _)| *other < object);
        let facts = &self.objects[object];
        let mut versioned = Vec::new();
        for (_, index) in all[start..].iter().take_while(|(other, _)| *other == object) {
            let symbol = &facts.symbols[*index];
            if class == RefClass::Plt && !symbol.is_defined() {
                continue;
            }
            let found = Target::Symbol { object, symbol: *index };
            match accepts(facts, symbol, version) {
                Accepts::Yes => return Some(found),
                Accepts::IfOnly => versioned.push(found),
                Accepts::No => {}
            }
        }
        match versioned.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// Whether an object that comes before another in the scope would answer a request for a name and version.
    pub fn hides(&self, object: usize, name: &[u8], version: Option<Version>) -> bool {
        self.by_name.get(name).is_some_and(|all| self.in_object(all, object, version, RefClass::Plt).is_some())
    }

    /// The objects that define a name.
    pub fn objects_with(&self, name: &[u8]) -> impl Iterator<Item = usize> {
        self.by_name.get(name).into_iter().flatten().map(|(object, _)| *object)
    }
}

/// The objects of a list that is in their order, each once.
fn in_turn(all: &[(usize, usize)]) -> impl Iterator<Item = usize> {
    all.chunk_by(|one, other| one.0 == other.0).map(|of_one| of_one[0].0)
}

/// Whether a symbol can answer any look-up.
fn may_match(symbol: &Symbol) -> bool {
    let known = matches!(symbol.kind(), 0 | 1 | 2 | 5 | 6 | 10);
    let bound = matches!(symbol.binding(), 1 | STB_WEAK | STB_GNU_UNIQUE);
    let valued = symbol.value != 0 || symbol.section == SHN_ABS || symbol.kind() == STT_TLS;
    // Thread-local symbols that are only referred to have no value either, and are not definitions.
    let thread_local = symbol.kind() != STT_TLS || symbol.is_defined();
    // do_lookup_x ignores what is hidden or internal.
    known && bound && valued && thread_local && !matches!(symbol.visibility(), 1 | 2)
}

enum Accepts {
    Yes,
    IfOnly,
    No,
}

/// `check_match`, the part about versions.
fn accepts(facts: &Object, symbol: &Symbol, version: Option<Version>) -> Accepts {
    let Some(raw) = symbol.version else { return Accepts::Yes };
    let (index, hidden) = (raw & 0x7fff, raw & 0x8000 != 0);
    match version {
        Some(wanted) => {
            let own = facts.versions.get(usize::from(index)).copied().flatten();
            let same = own.is_some_and(|own| own.name == wanted.name);
            if same || !(wanted.insists || own.is_some() || hidden) { Accepts::Yes } else { Accepts::No }
        }
        None if index >= 3 && !hidden => Accepts::IfOnly,
        None if index >= 3 => Accepts::No,
        None => Accepts::Yes,
    }
}
