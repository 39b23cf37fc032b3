//! How the deep facts are read: one module per kind of table, put together here.

mod allocators;
mod count;
mod harden;
mod identify;
mod known;
mod link;
mod linkage;
mod notes;
mod scan;
mod sections;
mod symbols;
mod traces;
mod versions;

use crate::raw::Encoding;
use crate::read::read_ident;
use crate::window::Window;
use crate::{Details, Elf, ElfError, Notes, Section, Source};
use known::Known;
pub(crate) use link::{imports_under, read as read_link};
use symbols::Reader;
use traces::Traces;

/// Reads everything that [`Details`] holds.
pub(crate) fn read_details<S: Source + ?Sized>(source: &S, elf: &Elf) -> Result<Details, ElfError> {
    let window = Window::open(source)?;
    let (encoding, _) = read_ident(window.head())?;
    let mut defects = Vec::new();
    let sections = sections_or_defect(&window, encoding, &mut defects);
    let reader = Reader { window: &window, encoding, elf, sections: &sections };
    let mut traces = Traces::default();
    let mut symbols = reader.dynamic(&mut traces)?;
    let has_symtab = reader.static_table(&mut symbols, &mut traces).unwrap_or_else(|error| {
        defects.push(error);
        true
    });
    let notes = notes::read(&window, encoding, elf, &sections, &mut defects);
    let scan_incomplete = scan::run(&window, encoding, elf, &sections, &mut traces)?;
    let known = Known { elf, sections: &sections, symbols: &symbols, notes: &notes, has_symtab, scan_incomplete };
    let identity = identify::run(&reader, &known, &mut traces, &mut defects);
    let hardening = harden::run(elf, &notes, &identity, &mut traces, symbols.from);
    Ok(Details {
        imports: symbols.imports,
        exports: symbols.exports,
        exports_from: symbols.from,
        version_needs: symbols.versions.needs,
        version_definitions: symbols.versions.definitions,
        sections,
        notes,
        identity,
        hardening,
        defects,
    })
}

/// The sections; none, and a defect, if their table is damaged: loaders do not look at it.
fn sections_or_defect<S: Source + ?Sized>(
    window: &Window<'_, S>,
    encoding: Encoding,
    defects: &mut Vec<ElfError>,
) -> Vec<Section> {
    sections::read(window, encoding, defects).unwrap_or_else(|error| {
        defects.push(error);
        Vec::new()
    })
}

/// Whether the dynamic symbol table defines a name.
pub(crate) fn defines<S: Source + ?Sized>(source: &S, elf: &Elf, name: &[u8]) -> Result<bool, ElfError> {
    let window = Window::open(source)?;
    let (encoding, _) = read_ident(window.head())?;
    let sections = sections_or_defect(&window, encoding, &mut Vec::new());
    let reader = Reader { window: &window, encoding, elf, sections: &sections };
    let symbols = reader.dynamic(&mut Traces::default())?;
    Ok(symbols.exports.iter().any(|export| export.name == name))
}

/// Reads the notes alone, with the sections that hold them.
pub(crate) fn read_notes<S: Source + ?Sized>(source: &S, elf: &Elf) -> Result<(Notes, Vec<ElfError>), ElfError> {
    let window = Window::open(source)?;
    let (encoding, _) = read_ident(window.head())?;
    let mut defects = Vec::new();
    let sections = sections_or_defect(&window, encoding, &mut defects);
    let notes = notes::read(&window, encoding, elf, &sections, &mut defects);
    Ok((notes, defects))
}
