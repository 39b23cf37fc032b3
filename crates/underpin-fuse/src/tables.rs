//! The dynamic symbols of the fused file: what it asks of others, what it offers, with versions and a GNU hash table.
//!
//! The order of equal names in the hash chain is the order of the members, so that a look-up in the one file meets the
//! same definition first that it met in the scope of many.

use crate::bind::{Scope, Target};
use crate::layout::Layout;
use crate::meaning::Offer;
use crate::object::{Object, SHN_ABS, STB_GNU_UNIQUE, STT_TLS, Symbol, Version};
use crate::relocate::Outside;
use std::collections::{BTreeMap, HashMap, HashSet};

/// First index of a version: 1 is the file itself, and 2 stays unused, because glibc gives unversioned references the
/// definition with index 2 even if a newer one is the default.
const FIRST_VERSION: u16 = 3;
/// The bit of a symbol's version that keeps it from references without one.
pub(crate) const HIDDEN: u16 = 0x8000;

#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub symbols: Vec<u8>,
    pub strings: Vec<u8>,
    pub hash: Vec<u8>,
    pub versym: Vec<u8>,
    pub verdef: (Vec<u8>, u64),
    pub verneed: (Vec<u8>, u64),
    /// First defined symbol.
    pub first: u32,
    /// The same definitions by name.
    pub offers: Vec<Offer>,
    interned: HashMap<Vec<u8>, u32>,
}

struct Export<'a> {
    symbol: Symbol<'a>,
    /// The member that has it; `None` for a function of the file's own, whose value is its address.
    object: Option<usize>,
    index: u16,
    hash: u32,
}

/// What the tables are made from.
pub(crate) struct Maker<'m, 'a> {
    pub objects: &'m [Object<'a>],
    pub scope: &'m Scope<'m, 'a>,
    pub layout: &'m Layout,
    pub soname: &'m [u8],
    /// The section index of each member's code, by object.
    pub section: &'m dyn Fn(usize, u64) -> u16,
    /// Whether a name in a verneed leads to a member.
    pub is_member: &'m dyn Fn(&[u8]) -> bool,
    /// The name by which the fused file requests an object that stays shared.
    pub request: &'m dyn Fn(&[u8]) -> Vec<u8>,
    /// A function of the file's own that it offers, by its address. It has no version and serves references with any.
    pub own: Option<Symbol<'a>>,
    /// A file and a version of it that the loader must find, whether or not a symbol has it.
    pub insists: Option<(&'a [u8], &'a [u8])>,
}

impl Tables {
    /// The offset of a string.
    pub fn intern(&mut self, text: &[u8]) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(at) = self.interned.get(text) {
            return *at;
        }
        let at = self.strings.len() as u32;
        self.strings.extend_from_slice(text);
        self.strings.push(0);
        self.interned.insert(text.to_owned(), at);
        at
    }
}

impl<'a> Maker<'_, 'a> {
    pub fn make(&self, outside: &[Outside<'a>]) -> Tables {
        let mut tables = Tables { strings: vec![0], symbols: vec![0; 24], versym: vec![0; 2], ..Tables::default() };
        let (definitions, needs) = self.version_indices(outside);
        for reference in outside {
            let index = match reference.version {
                None => 1,
                Some(Version { name, file, .. }) => {
                    let need = file.map(|file| ((self.request)(file), name.to_vec()));
                    need.and_then(|need| needs.get(&need)).or_else(|| definitions.get(name)).copied().unwrap_or(1)
                }
            };
            let kind = if reference.thread_local { STT_TLS } else { 0 };
            let info = if reference.weak { 2 << 4 } else { 1 << 4 } | kind;
            let name = tables.intern(reference.name);
            push_symbol(&mut tables.symbols, name, [info, 0], 0, 0, 0);
            tables.versym.extend((index & 0x7fff).to_le_bytes());
        }
        tables.first = 1 + outside.len() as u32;
        let mut exports = self.exports(&definitions);
        exports.extend(self.own.map(|symbol| Export { symbol, object: None, index: 1, hash: gnu_hash(symbol.name) }));
        let exports = self.hash(exports, &mut tables);
        for export in &exports {
            self.push_export(export, &mut tables);
        }
        self.verdef(&definitions, &mut tables);
        let strong = outside.iter().filter(|reference| !reference.weak);
        let strong =
            strong.filter_map(|reference| reference.version.and_then(|version| Some((version.file?, version.name))));
        let strong = strong.chain(self.insists).map(|(file, name)| ((self.request)(file), name)).collect();
        verneed(&needs, &strong, &mut tables);
        tables
    }

    fn push_export(&self, export: &Export, tables: &mut Tables) {
        let Export { symbol, object, index, .. } = export;
        let name = tables.intern(symbol.name);
        let Some(object) = object else {
            push_symbol(&mut tables.symbols, name, [symbol.info, symbol.other], symbol.section, symbol.value, 0);
            tables.versym.extend(index.to_le_bytes());
            return;
        };
        let place = self.layout.place_of(*object);
        let absolute = symbol.section == SHN_ABS;
        let value = match place {
            Some(place) if symbol.kind() == STT_TLS => symbol.value.wrapping_add(place.tls),
            Some(place) if !absolute => symbol.value.wrapping_add(place.base),
            _ => symbol.value,
        };
        let section = if absolute { SHN_ABS } else { (self.section)(*object, symbol.value) };
        let version = self.objects[*object].version_of(symbol).map_or(&b""[..], |version| version.name);
        tables.offers.push(Offer {
            name: symbol.name.into(),
            version: version.into(),
            hidden: index & HIDDEN != 0,
            of: (*object, symbol.value),
        });
        push_symbol(&mut tables.symbols, name, [symbol.info, symbol.other], section, value, symbol.size);
        tables.versym.extend(index.to_le_bytes());
    }

    /// Indices of all versions: those that members define, then those asked of files that stay shared.
    #[allow(clippy::type_complexity)]
    fn version_indices(&self, outside: &[Outside<'a>]) -> (BTreeMap<&'a [u8], u16>, BTreeMap<(Vec<u8>, Vec<u8>), u16>) {
        let mut definitions = BTreeMap::new();
        let mut next = FIRST_VERSION;
        for place in &self.layout.members {
            let versions = self.objects[place.object].versions.iter().flatten();
            for version in versions.filter(|version| version.file.is_none()) {
                definitions.entry(version.name).or_insert_with(|| {
                    next += 1;
                    next - 1
                });
            }
        }
        let mut needs = BTreeMap::new();
        let of_symbols = outside.iter().filter_map(|reference| reference.version);
        let of_symbols = of_symbols.filter_map(|version| Some((version.file?, version.name)));
        for (file, name) in of_symbols.chain(self.insists).filter(|(file, _)| !(self.is_member)(file)) {
            needs.entry(((self.request)(file), name.to_vec())).or_insert_with(|| {
                next += 1;
                next - 1
            });
        }
        (definitions, needs)
    }

    /// What the file offers: of each name and version the first definition, unless an object that stays shared comes
    /// earlier in the scope and answers.
    fn exports(&self, definitions: &BTreeMap<&'a [u8], u16>) -> Vec<Export<'a>> {
        let mut taken: HashSet<(&[u8], Option<&[u8]>)> = HashSet::new();
        let mut has_default: HashSet<&[u8]> = HashSet::new();
        let mut exports = Vec::new();
        for place in &self.layout.members {
            let facts = &self.objects[place.object];
            let mut defaults = Vec::new();
            for symbol in facts.symbols.iter().skip(1).filter(|symbol| is_offered(symbol)) {
                let version = facts.version_of(symbol).filter(|version| version.file.is_none());
                let earlier =
                    |other: usize| other != 0 && other < place.object && self.layout.place_of(other).is_none();
                let hidden_by = self
                    .scope
                    .objects_with(symbol.name)
                    .any(|other| earlier(other) && self.scope.hides(other, symbol.name, version));
                if hidden_by || !taken.insert((symbol.name, version.map(|version| version.name))) {
                    continue;
                }
                let mut index = version.and_then(|version| definitions.get(version.name)).copied().unwrap_or(1);
                let is_hidden = symbol.version.is_some_and(|raw| raw & HIDDEN != 0);
                if index > 1 && (is_hidden || has_default.contains(symbol.name)) {
                    index |= HIDDEN;
                } else if index > 1 {
                    defaults.push(symbol.name);
                }
                // All references to a unique name get one definition: it stands for those of every version.
                let stands = self.scope.unique(symbol.name).filter(|_| symbol.binding() == STB_GNU_UNIQUE);
                let (symbol, object) = match stands {
                    Some(Target::Symbol { object, symbol }) if self.layout.place_of(object).is_some() => {
                        (self.objects[object].symbols[symbol], object)
                    }
                    _ => (*symbol, place.object),
                };
                exports.push(Export { symbol, object: Some(object), index, hash: gnu_hash(symbol.name) });
            }
            has_default.extend(defaults);
        }
        exports
    }

    fn hash(&self, mut exports: Vec<Export<'a>>, tables: &mut Tables) -> Vec<Export<'a>> {
        let buckets = (exports.len() as u32 / 2).max(1) | 1;
        // Stable: equal names keep the order of the scope.
        exports.sort_by_key(|export| export.hash % buckets);
        let bloom = (exports.len() / 5).next_power_of_two().max(1);
        // Beyond the bits by which a word of the filter is chosen: else they decide the second bit as well.
        let shift = 26u32;
        let mut filter = vec![0u64; bloom];
        let mut heads = vec![0u32; buckets as usize];
        let mut chain = Vec::with_capacity(exports.len());
        for (at, export) in exports.iter().enumerate() {
            let word = (export.hash / 64) as usize & (bloom - 1);
            filter[word] |= 1 << (export.hash % 64) | 1 << ((export.hash >> shift) % 64);
            let bucket = export.hash % buckets;
            let head = &mut heads[bucket as usize];
            if *head == 0 {
                *head = tables.first + at as u32;
            }
            let last = exports.get(at + 1).is_none_or(|next| next.hash % buckets != bucket);
            chain.push(export.hash & !1 | u32::from(last));
        }
        for word in [buckets, tables.first, bloom as u32, shift] {
            tables.hash.extend(word.to_le_bytes());
        }
        tables.hash.extend(filter.iter().flat_map(|word| word.to_le_bytes()));
        tables.hash.extend(heads.iter().chain(&chain).flat_map(|word| word.to_le_bytes()));
        exports
    }

    fn verdef(&self, definitions: &BTreeMap<&'a [u8], u16>, tables: &mut Tables) {
        let mut all: Vec<(&[u8], u16, u16)> = vec![(self.soname, 1, 1)];
        all.extend(definitions.iter().map(|(name, index)| (*name, *index, 0)));
        all.sort_by_key(|(_, index, _)| *index);
        let count = all.len();
        for (at, (name, index, flags)) in all.into_iter().enumerate() {
            let offset = tables.intern(name);
            let out = &mut tables.verdef.0;
            for half in [1, flags, index, 1] {
                out.extend(half.to_le_bytes());
            }
            let next = if at + 1 == count { 0u32 } else { 28 };
            for word in [elf_hash(name), 20, next, offset, 0] {
                out.extend(word.to_le_bytes());
            }
        }
        tables.verdef.1 = count as u64;
    }
}

/// `strong`: the files and versions without which the program does not start.
fn verneed(needs: &BTreeMap<(Vec<u8>, Vec<u8>), u16>, strong: &HashSet<(Vec<u8>, &[u8])>, tables: &mut Tables) {
    let mut files: BTreeMap<&[u8], Vec<(&[u8], u16)>> = BTreeMap::new();
    for ((file, name), index) in needs {
        files.entry(file).or_default().push((name, *index));
    }
    let count = files.len();
    for (at, (file, versions)) in files.into_iter().enumerate() {
        let file_offset = tables.intern(file);
        let names: Vec<u32> = versions.iter().map(|(name, _)| tables.intern(name)).collect();
        let out = &mut tables.verneed.0;
        out.extend(1u16.to_le_bytes());
        out.extend((versions.len() as u16).to_le_bytes());
        let next = if at + 1 == count { 0 } else { 16 + 16 * versions.len() as u32 };
        for word in [file_offset, 16, next] {
            out.extend(word.to_le_bytes());
        }
        for (order, ((name, index), offset)) in versions.iter().zip(names).enumerate() {
            let weak = if strong.contains(&(file.to_vec(), *name)) { 0u16 } else { 2 };
            out.extend(elf_hash(name).to_le_bytes());
            out.extend(weak.to_le_bytes());
            out.extend(index.to_le_bytes());
            out.extend(offset.to_le_bytes());
            out.extend(if order + 1 == versions.len() { 0u32 } else { 16 }.to_le_bytes());
        }
    }
    tables.verneed.1 = count as u64;
}

/// Whether a symbol can be found from outside of its library.
pub(crate) fn is_offered(symbol: &Symbol) -> bool {
    symbol.is_defined()
        && matches!(symbol.kind(), 0 | 1 | 2 | 5 | 6 | 10)
        && matches!(symbol.binding(), 1 | 2 | 10)
        && !matches!(symbol.visibility(), 1 | 2)
}

pub(crate) fn push_symbol(out: &mut Vec<u8>, name: u32, info: [u8; 2], section: u16, value: u64, size: u64) {
    out.extend(name.to_le_bytes());
    out.extend(info);
    out.extend(section.to_le_bytes());
    out.extend(value.to_le_bytes());
    out.extend(size.to_le_bytes());
}

fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)))
}

fn elf_hash(name: &[u8]) -> u32 {
    name.iter().fold(0u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(*byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}
