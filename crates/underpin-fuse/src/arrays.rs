//! Initialisers and finalisers of all members as two arrays, in the order in which the loader would have run them.

use crate::Closure;
use crate::layout::Layout;
use crate::machine::Kind;
use crate::object::{Malformed, Object};
use crate::relocate::{NewReloc, Relocated};
use std::collections::HashMap;

/// Initialisers and finalisers, as addresses of the fused file.
#[derive(Default)]
pub(crate) struct Arrays {
    init: Vec<NewReloc>,
    fini: Vec<NewReloc>,
}

impl Arrays {
    pub(crate) fn new(
        closure: &Closure,
        objects: &[Object],
        layout: &Layout,
        relocated: &mut Relocated,
    ) -> Result<Arrays, (usize, Malformed)> {
        let mut at: HashMap<u64, NewReloc> = HashMap::new();
        let ranges: Vec<(u64, u64)> = layout
            .members
            .iter()
            .flat_map(|place| {
                let facts = &objects[place.object];
                [facts.init_array, facts.fini_array]
                    .map(|(start, size)| (start + place.base, start + place.base + size))
            })
            .filter(|(start, end)| start < end)
            .collect();
        let mut sorted = ranges.clone();
        sorted.sort_unstable();
        for reloc in &relocated.relocs {
            let place = sorted.partition_point(|(start, _)| *start <= reloc.at);
            if place > 0 && reloc.at < sorted[place - 1].1 {
                at.insert(reloc.at, *reloc);
            }
        }
        let mut arrays = Arrays::default();
        // First of all, before any constructor: what was written while relocating becomes read-only.
        arrays.init.push(relative(0, layout.code.0));
        for place in closure.initialisation.iter().filter_map(|&object| layout.place_of(object)) {
            let facts = &objects[place.object];
            let entries = |(start, size): (u64, u64)| -> Vec<NewReloc> {
                (0..size / 8).filter_map(|index| at.get(&(start + place.base + index * 8)).copied()).collect()
            };
            arrays.init.extend(facts.init.map(|init| relative(0, init + place.base)));
            arrays.init.extend(entries(facts.init_array));
            // Finalisers run from the back.
            arrays.fini.extend(facts.fini.map(|fini| relative(0, fini + place.base)));
            arrays.fini.extend(entries(facts.fini_array));
        }
        for (list, start) in [(&mut arrays.init, layout.init_array), (&mut arrays.fini, layout.fini_array)] {
            for (index, reloc) in list.iter_mut().enumerate() {
                reloc.at = start + index as u64 * 8;
                relocated.relocs.push(*reloc);
            }
        }
        Ok(arrays)
    }

    /// The size of the array of initialisers in bytes.
    pub(crate) fn init_size(&self) -> u64 {
        self.init.len() as u64 * 8
    }

    /// The same of finalisers.
    pub(crate) fn fini_size(&self) -> u64 {
        self.fini.len() as u64 * 8
    }
}

fn relative(at: u64, to: u64) -> NewReloc {
    NewReloc { at, kind: Kind::Relative, outside: None, addend: to.cast_signed() }
}
