//! What becomes of each relocation of a member: a relative one, a word of its bytes, or a look-up that remains.

use crate::answers::{OPENS, Question};
use crate::bind::{RefClass, Scope, Target};
use crate::layout::Layout;
use crate::machine::Kind;
use crate::object::{Object, Reloc, SHN_ABS, STB_LOCAL, STB_WEAK, STT_IFUNC, STT_TLS, Version};
use crate::{Binding, Refusal, names};
use bstr::BString;
use std::collections::HashMap;
use underpin_elf::SegmentKind;

/// A reference that stays a look-up: what the fused file's symbol table must ask for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Outside<'a> {
    pub name: &'a [u8],
    pub version: Option<Version<'a>>,
    pub weak: bool,
    pub thread_local: bool,
}

/// A relocation of the fused file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewReloc {
    pub at: u64,
    pub kind: Kind,
    /// Index into [`Relocated::outside`].
    pub outside: Option<usize>,
    pub addend: i64,
}

/// All relocations of the fused file, and the words that are known already.
#[derive(Debug, Default)]
pub(crate) struct Relocated<'a> {
    pub relocs: Vec<NewReloc>,
    /// Address of the fused file, word.
    pub words: Vec<(u64, u64)>,
    pub outside: Vec<Outside<'a>>,
    pub bindings: Vec<Binding>,
    indices: HashMap<Outside<'a>, usize>,
    /// What glibc answers, as a member asked for it.
    asked: Vec<(Question, Outside<'a>)>,
}

/// Where one relocation's value comes from.
enum Value<'a> {
    /// A member's symbol: its object and index.
    Inside(usize, usize),
    Outside(Outside<'a>),
    /// A function of the fused file's own.
    Answer(u64),
}

pub(crate) struct Relocator<'r, 'a> {
    pub objects: &'r [Object<'a>],
    pub paths: &'r [BString],
    pub scope: &'r Scope<'r, 'a>,
    pub layout: &'r Layout,
}

impl<'a> Relocator<'_, 'a> {
    /// The relocations of all members.
    pub fn run(&self) -> Result<Relocated<'a>, Refusal> {
        let mut out = Relocated::default();
        for member in &self.layout.members {
            let mut known: HashMap<(usize, RefClass), Target> = HashMap::new();
            let facts = &self.objects[member.object];
            let pairs: HashMap<u64, ()> = facts
                .relocs
                .iter()
                .filter(|reloc| reloc.kind == Kind::ModuleOffset)
                .map(|reloc| (reloc.at, ()))
                .collect();
            for reloc in &facts.relocs {
                if reloc.kind != Kind::None {
                    self.one(member.object, reloc, &mut known, &pairs, &mut out)?;
                }
            }
        }
        self.slots(&mut out);
        Ok(out)
    }

    /// glibc's functions for those that answer members, as the first member asks for each.
    fn slots(&self, out: &mut Relocated<'a>) {
        let Some(answers) = self.layout.answers else { return };
        for question in Question::ALL {
            let Some((_, outside)) = out.asked.iter().find(|(asked, _)| *asked == question) else { continue };
            let index = out.index(outside.clone());
            let at = answers.slots + question.slot();
            out.relocs.push(NewReloc { at, kind: Kind::GlobDat, outside: Some(index), addend: 0 });
        }
        if self.layout.opens().is_some() {
            // Without a version, because which one it has depends on the processor, and weak, because it is in a library
            // that a process without dlopen need not have (libdl.so.2 before 2.34).
            let outside = Outside { name: names::OPEN_IN, version: None, weak: true, thread_local: false };
            let (at, index) = (answers.slots + OPENS, out.index(outside));
            out.relocs.push(NewReloc { at, kind: Kind::GlobDat, outside: Some(index), addend: 0 });
        }
    }

    fn one(
        &self,
        from: usize,
        reloc: &Reloc,
        known: &mut HashMap<(usize, RefClass), Target>,
        pairs: &HashMap<u64, ()>,
        out: &mut Relocated<'a>,
    ) -> Result<(), Refusal> {
        let base = self.base(from);
        let at = self.place(from, reloc.at);
        if matches!(reloc.kind, Kind::Relative | Kind::Indirect) {
            let addend = reloc.addend.wrapping_add(base.cast_signed());
            out.relocs.push(NewReloc { at, kind: reloc.kind, outside: None, addend });
            return Ok(());
        }
        match self.value(from, reloc, known, out) {
            Value::Inside(object, index) => return self.inside(from, reloc, (object, index), pairs, out),
            Value::Outside(outside) => {
                let index = out.index(outside);
                out.relocs.push(NewReloc { at, kind: reloc.kind, outside: Some(index), addend: reloc.addend });
            }
            Value::Answer(address) => {
                let addend = if self.layout.processor.adds_addend(reloc.kind) { reloc.addend } else { 0 };
                let addend = addend.wrapping_add(address.cast_signed());
                out.relocs.push(NewReloc { at, kind: Kind::Relative, outside: None, addend });
            }
        }
        Ok(())
    }

    /// A reference to a member's symbol, which is given by object and index.
    fn inside(
        &self,
        from: usize,
        reloc: &Reloc,
        (object, index): (usize, usize),
        pairs: &HashMap<u64, ()>,
        out: &mut Relocated<'a>,
    ) -> Result<(), Refusal> {
        let at = self.place(from, reloc.at);
        // Without a symbol, and for local ones of no section, the module's own block or nothing is meant.
        let symbol = self.objects[object].symbols.get(index).filter(|_| index != 0);
        let offset = symbol.map_or(0, |symbol| symbol.value).wrapping_add(self.tls(object));
        match reloc.kind {
            Kind::Module => {
                out.relocs.push(NewReloc { at, kind: Kind::Module, outside: None, addend: 0 });
                if !pairs.contains_key(&(reloc.at + 8)) {
                    let word =
                        self.objects[from].memory(reloc.at + 8, 8).map_err(|error| self.malformed(from, error))?;
                    let word = crate::object::u64_at(word, 0).wrapping_add(self.tls(object));
                    out.words.push((at + 8, word));
                }
            }
            Kind::ModuleOffset => out.words.push((at, offset.wrapping_add_signed(reloc.addend))),
            Kind::ThreadOffset | Kind::Descriptor => {
                let addend = reloc.addend.wrapping_add(offset.cast_signed());
                out.relocs.push(NewReloc { at, kind: reloc.kind, outside: None, addend });
            }
            _ => self.address(from, reloc, (object, index), at, out)?,
        }
        Ok(())
    }

    /// The address of a member's symbol, as relocations of data, of the global offset table and of calls have it.
    fn address(
        &self,
        from: usize,
        reloc: &Reloc,
        (object, index): (usize, usize),
        at: u64,
        out: &mut Relocated<'a>,
    ) -> Result<(), Refusal> {
        let processor = self.objects[from].processor;
        let addend = if processor.adds_addend(reloc.kind) { reloc.addend } else { 0 };
        let symbol = &self.objects[object].symbols[index];
        let refused = |why| {
            let (path, kind) = (self.paths[from].clone(), processor.number_of(reloc.kind));
            Err(Refusal::Relocation { path, kind, at: reloc.at, why })
        };
        let address = symbol.value.wrapping_add(self.base(object)).cast_signed();
        match symbol.kind() {
            STT_TLS => return refused("the address of a thread-local symbol"),
            STT_IFUNC if addend != 0 => return refused("an offset into what an IFUNC returns"),
            STT_IFUNC => out.relocs.push(NewReloc { at, kind: Kind::Indirect, outside: None, addend: address }),
            _ if symbol.section == SHN_ABS => out.words.push((at, symbol.value.wrapping_add_signed(addend))),
            _ => {
                let addend = address.wrapping_add(addend);
                out.relocs.push(NewReloc { at, kind: Kind::Relative, outside: None, addend });
            }
        }
        Ok(())
    }

    fn value(
        &self,
        from: usize,
        reloc: &Reloc,
        known: &mut HashMap<(usize, RefClass), Target>,
        out: &mut Relocated<'a>,
    ) -> Value<'a> {
        if reloc.symbol == 0 {
            return Value::Inside(from, 0);
        }
        let class = RefClass::of(reloc.kind);
        let facts = &self.objects[from];
        let symbol = &facts.symbols[reloc.symbol];
        let target = *known.entry((reloc.symbol, class)).or_insert_with(|| {
            let target = self.scope.resolve(from, reloc.symbol, class);
            if symbol.binding() != STB_LOCAL && !symbol.binds_local() {
                out.bindings.push(self.binding(from, reloc.symbol, target));
            }
            target
        });
        match target {
            Target::Symbol { object, symbol } if self.layout.place_of(object).is_some() => {
                Value::Inside(object, symbol)
            }
            other => {
                let outside = Outside {
                    name: symbol.name,
                    version: facts.version_of(symbol),
                    // The loader binds calls late; one that nothing defines fails when it is made, not before.
                    weak: symbol.binding() == STB_WEAK || other == Target::Nothing,
                    thread_local: symbol.kind() == STT_TLS,
                };
                match self.layout.answer(symbol.name).filter(|_| other != Target::Nothing) {
                    Some((question, address)) => {
                        out.asked.push((question, outside));
                        Value::Answer(address)
                    }
                    None => Value::Outside(outside),
                }
            }
        }
    }

    fn binding(&self, from: usize, index: usize, target: Target) -> Binding {
        let facts = &self.objects[from];
        let symbol = &facts.symbols[index];
        Binding {
            from,
            to: match target {
                Target::Symbol { object, .. } => Some(object),
                Target::Nothing => None,
            },
            name: symbol.name.into(),
            version: facts.version_of(symbol).map_or_else(BString::default, |version| version.name.into()),
        }
    }

    fn base(&self, object: usize) -> u64 {
        self.layout.place_of(object).map_or(0, |place| place.base)
    }

    fn tls(&self, object: usize) -> u64 {
        self.layout.place_of(object).map_or(0, |place| place.tls)
    }

    /// Where a relocated address of a member lies: the initial image of thread-local variables moves to the merged one.
    fn place(&self, object: usize, at: u64) -> u64 {
        let tls = self.objects[object].segment(SegmentKind::Tls);
        match tls.and_then(|tls| at.checked_sub(tls.vaddr.0).filter(|within| *within < tls.file_size)) {
            Some(within) => self.layout.tls_address + self.tls(object) + within,
            None => self.base(object).wrapping_add(at),
        }
    }

    fn malformed(&self, object: usize, error: crate::Malformed) -> Refusal {
        Refusal::Malformed { path: self.paths[object].clone(), error }
    }
}

impl<'a> Relocated<'a> {
    fn index(&mut self, outside: Outside<'a>) -> usize {
        if let Some(index) = self.indices.get(&outside) {
            return *index;
        }
        self.outside.push(outside.clone());
        self.indices.insert(outside, self.outside.len() - 1);
        self.outside.len() - 1
    }
}
