//! What differs between processors, in one place: types of relocations, pages, the code that a fused file brings along,
//! and how calls look. The rest of the crate speaks of [`Kind`]s.

mod aarch64;
mod x86_64;

use crate::answers::Question;
use crate::object::u64_at;
use bstr::ByteSlice;
use underpin_elf::{Class, Endian, Ident, Machine};

/// What a dynamic relocation asks for, whatever its number on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    None,
    /// The address of a symbol, plus the addend.
    Absolute,
    /// The same for an entry of the global offset table.
    GlobDat,
    /// The same for a call.
    JumpSlot,
    /// The load address plus the addend.
    Relative,
    /// Data of a library that the program has a copy of.
    Copy,
    /// The number of the module whose thread-local block has the symbol.
    Module,
    /// The symbol's place in that block.
    ModuleOffset,
    /// Its distance from the thread pointer.
    ThreadOffset,
    /// Two words: a function that gives the distance, and its argument.
    Descriptor,
    /// What the function at the load address plus the addend returns.
    Indirect,
    /// A type that the fused file cannot express.
    Other(u32),
}

/// A processor for which libraries are fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processor {
    X86_64,
    Aarch64,
}

/// What one processor has its own of.
struct Facts {
    machine: Machine,
    /// The size that the processor's ABI lets a page have at most, to which segments are aligned.
    page: u64,
    /// The numbers of relocations.
    kinds: &'static [(u32, Kind)],
    /// The function that protects pages ([`Processor::protect`]), with holes for the distance to its list.
    protect: &'static [u8],
    /// The functions that members call as dladdr and dlopen, and the process as dlopen (`answers.c`).
    answers: &'static [u8],
    /// The property of a file (`pr_type`) whose bits hold if they hold for all that a process loads.
    and_property: u32,
    /// Entries of the dynamic section without a value that a fused file has if every member has them.
    if_all: &'static [u64],
    /// The same if one member has them.
    if_any: &'static [u64],
}

impl Processor {
    /// The processor of a file; `None` if its files cannot be fused.
    pub fn of(ident: &Ident) -> Option<Processor> {
        if ident.class != Class::Elf64 || ident.endian != Endian::Little {
            return None;
        }
        [Processor::X86_64, Processor::Aarch64].into_iter().find(|one| one.facts().machine == ident.machine)
    }

    fn facts(self) -> &'static Facts {
        match self {
            Processor::X86_64 => &x86_64::FACTS,
            Processor::Aarch64 => &aarch64::FACTS,
        }
    }

    /// `e_machine`.
    pub fn number(self) -> u16 {
        self.facts().machine.0
    }

    /// The alignment of segments in bytes: no kernel for this processor has larger pages.
    pub fn page(self) -> u64 {
        self.facts().page
    }

    /// What a type of relocation asks for.
    pub fn kind(self, number: u32) -> Kind {
        let found = self.facts().kinds.iter().find(|(own, _)| *own == number);
        found.map_or(Kind::Other(number), |(_, kind)| *kind)
    }

    /// The type of relocation that asks for it.
    pub fn number_of(self, kind: Kind) -> u32 {
        match kind {
            Kind::Other(number) => number,
            kind => self.facts().kinds.iter().find(|(_, own)| *own == kind).map_or(0, |(number, _)| *number),
        }
    }

    /// Whether glibc's loader adds the addend to the address (`elf_machine_rela`).
    pub fn adds_addend(self, kind: Kind) -> bool {
        kind == Kind::Absolute || self == Processor::Aarch64 && matches!(kind, Kind::GlobDat | Kind::JumpSlot)
    }

    /// The size of [`Processor::protect`] in bytes.
    pub fn protect_size(self) -> u64 {
        self.facts().protect.len() as u64
    }

    /// A function at an address that makes the pages of a list read-only: distances of 32 bits from the list and sizes,
    /// the last one zero. It makes system calls of its own, because it runs before any other code.
    pub fn protect(self, at: u64, list: u64) -> Vec<u8> {
        let mut code = self.facts().protect.to_vec();
        match self {
            Processor::X86_64 => x86_64::aim(&mut code, at, list),
            Processor::Aarch64 => aarch64::aim(&mut code, at, list),
        }
        code
    }

    /// The size of [`Processor::answers`] in bytes.
    pub fn answers_size(self) -> u64 {
        self.facts().answers.len() as u64
    }

    /// Where in it the function that stands for a question begins.
    pub fn answer(self, question: Question) -> u64 {
        u64_at(self.facts().answers, 16 + question.slot() as usize)
    }

    /// Where in it the function begins that stands for the process's dlopen.
    pub fn opens(self) -> u64 {
        u64_at(self.facts().answers, 32)
    }

    /// The functions at an address that answer members and the process.
    pub fn answers(self, at: u64, read: &Read) -> Vec<u8> {
        let mut code = self.facts().answers.to_vec();
        for (hole, address) in [(0, read.table), (8, read.slots), (40, read.names), (48, read.known)] {
            code[hole..hole + 8].copy_from_slice(&address.wrapping_sub(at).to_le_bytes());
        }
        code
    }

    /// What of a range can be protected, as far as that is known before the size of pages is.
    pub fn protectable(self, start: u64, end: u64) -> (u64, u64) {
        match self {
            Processor::X86_64 => (start / self.page() * self.page(), end / self.page() * self.page()),
            // Pages have 4, 16 or 64 KiB: the function rounds.
            Processor::Aarch64 => (start, end),
        }
    }

    /// The `pr_type` of the property whose bits hold only if every file has them: indirect branch tracking, branch target
    /// identification, shadow stacks.
    pub fn and_property(self) -> u32 {
        self.facts().and_property
    }

    /// The entries without a value of a fused file's dynamic section, from those of each member.
    pub fn marks<'t>(self, members: impl Iterator<Item = &'t [u64]> + Clone) -> Vec<u64> {
        let facts = self.facts();
        let all = facts.if_all.iter().filter(|tag| members.clone().all(|tags| tags.contains(tag)));
        let any = facts.if_any.iter().filter(|tag| members.clone().any(|tags| tags.contains(tag)));
        all.chain(any).copied().collect()
    }

    /// Whether the tag is one of those.
    pub fn is_mark(self, tag: u64) -> bool {
        self.facts().if_all.contains(&tag) || self.facts().if_any.contains(&tag)
    }

    /// Whether code calls a function of which these are the slots with -1 as its first argument, which is the handle
    /// RTLD_NEXT; if no call is found, whether -1 is put into that register anywhere.
    pub fn passes_minus_one(self, code: &[(u64, &[u8])], slots: &[u64]) -> bool {
        match self {
            Processor::X86_64 => x86_64::passes_minus_one(code, slots),
            Processor::Aarch64 => aarch64::passes_minus_one(code, slots),
        }
    }
}

/// The addresses of what the functions of `answers.c` read; those that are not called need none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Read {
    /// The members, for those that ask.
    pub table: u64,
    /// glibc's functions.
    pub slots: u64,
    /// The names that the loader is told when something is opened.
    pub names: u64,
    /// The word that says that it was.
    pub known: u64,
}

/// How far before a call its first argument is looked for, in bytes.
const BEFORE: usize = 96;

/// Whether one of these patterns is in the bytes.
fn any_of(patterns: &[&[u8]], bytes: &[u8]) -> bool {
    patterns.iter().any(|pattern| bytes.find(pattern).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_one_kind_and_back() {
        for processor in [Processor::X86_64, Processor::Aarch64] {
            for (number, kind) in processor.facts().kinds {
                assert_eq!((processor.kind(*number), processor.number_of(*kind)), (*kind, *number));
            }
            assert_eq!(processor.number_of(processor.kind(0xffff)), 0xffff);
        }
    }
}
