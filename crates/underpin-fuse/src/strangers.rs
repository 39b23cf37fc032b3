//! What would be different if libraries that modules bring were loaded at start: a look-up of the process meets them before
//! what a module brings by itself.
//!
//! glibc looks a reference of an opened module up in the scope of the program first, then among what the module brought, in
//! that order (`_dl_open_worker` of elf/dl-open.c, `_dl_lookup_symbol_x`). A library that moves from the second into the
//! first may answer for names that had another definition, or none.

use crate::bind::{RefClass, Scope, Target};
use crate::object::{self, Object, STB_GNU_UNIQUE, STB_WEAK, STV_PROTECTED};
use crate::{Closure, Refusal};
use bstr::BString;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// A library that would answer a reference otherwise than before, if it were loaded at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// The library, as an index.
    pub library: usize,
    /// The symbol.
    pub symbol: BString,
    /// The object that asks, as an index.
    pub asked_by: usize,
    /// The object whose definition it had; `None` if it had none.
    pub was: Option<usize>,
}

/// The libraries of `added` that must not be loaded at start, each with the first reference that tells why.
///
/// Objects of `pool`: the program with all that it loads, in scope order; then those that would be added, `added`, in the
/// order in which they would be; then modules and what else they bring. `scopes`: for each module its own index first, then
/// what its search list has after it, in order.
///
/// # Errors
/// [`Refusal`] if a file cannot be read.
pub fn strangers(pool: &Closure, added: Range<usize>, scopes: &[Vec<usize>]) -> Result<Vec<Stranger>, Refusal> {
    let objects = object::read_all(pool)?;
    let look = Look { scope: Scope::new(&objects, &[]), objects: &objects, added };
    let mut found = BTreeMap::new();
    let mut known: HashMap<usize, Vec<Open>> = HashMap::new();
    let mut note = |stranger: Stranger| {
        found.entry(stranger.library).or_insert(stranger);
    };
    for from in 0..look.added.start {
        look.open(from).iter().filter_map(|open| look.changes(from, open, &[])).for_each(&mut note);
    }
    for scope in scopes {
        for &from in scope.iter().filter(|&&from| from >= look.added.start) {
            let open = known.entry(from).or_insert_with(|| look.open(from));
            open.iter().filter_map(|open| look.changes(from, open, scope)).for_each(&mut note);
        }
    }
    Ok(found.into_values().collect())
}

/// A reference that the program's own objects do not answer, and all others that could: their indices and symbols.
struct Open {
    symbol: usize,
    answers: Vec<(usize, usize)>,
}

struct Look<'l, 'a> {
    scope: Scope<'l, 'a>,
    objects: &'l [Object<'a>],
    added: Range<usize>,
}

impl Look<'_, '_> {
    /// The references of an object that depend on what is loaded besides the program.
    fn open(&self, from: usize) -> Vec<Open> {
        let object = &self.objects[from];
        let mut seen = HashSet::new();
        let mut open = Vec::new();
        for reloc in object.relocs.iter().filter(|reloc| reloc.symbol != 0) {
            let class = RefClass::of(reloc.kind);
            let Some(symbol) = object.symbols.get(reloc.symbol) else { continue };
            // Its own definition, whatever others have.
            let own = symbol.binds_local()
                || symbol.is_defined() && (object.symbolic || symbol.visibility() == STV_PROTECTED);
            if own || !seen.insert((reloc.symbol, class)) {
                continue;
            }
            let answers = self.scope.each(from, reloc.symbol, class);
            let answers: Vec<(usize, usize)> = answers.filter_map(Target::symbol).collect();
            if answers.iter().all(|(object, _)| *object >= self.added.start) && !answers.is_empty() {
                open.push(Open { symbol: reloc.symbol, answers });
            }
        }
        open
    }

    /// Whether a reference would lead elsewhere from an object that a module brings.
    fn changes(&self, from: usize, open: &Open, scope: &[usize]) -> Option<Stranger> {
        let by_module = |object: usize| scope.iter().position(|&other| other == object);
        let before = open.answers.iter().filter_map(|answer| Some((by_module(answer.0)?, answer)));
        let before = before.min().map(|(_, answer)| *answer);
        // Answers are in the order of the objects.
        let &after = open.answers.iter().find(|(object, _)| self.added.contains(object))?;
        if before == Some(after) || before.is_some_and(|before| self.are_copies(before, after)) {
            return None;
        }
        let symbol = self.objects[from].symbols[open.symbol].name.into();
        Some(Stranger { library: after.0, symbol, asked_by: from, was: before.map(|(object, _)| object) })
    }

    /// Whether two definitions are copies of one inline function, template or its data, of which any serves (C++ ABI 5.2,
    /// vague linkage).
    fn are_copies(&self, one: (usize, usize), other: (usize, usize)) -> bool {
        [one, other].into_iter().all(|(object, index)| {
            let symbol = &self.objects[object].symbols[index];
            symbol.name.starts_with(b"_Z") && [STB_WEAK, STB_GNU_UNIQUE].contains(&symbol.binding())
        })
    }
}
