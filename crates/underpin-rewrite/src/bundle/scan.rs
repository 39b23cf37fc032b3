//! What a file's own bytes reveal about what it does at run time.

use bstr::{BStr, BString, ByteSlice};
use underpin_elf::{Details, Elf, LinkFacts, Source};
use underpin_resolve::Root;

/// Which of the given functions an object imports. A file that cannot be read imports none.
pub(super) fn imports(root: &dyn Root, path: &BStr, wanted: &[&[u8]]) -> Vec<BString> {
    let Ok(opened) = root.open(path) else { return Vec::new() };
    let Ok(elf) = Elf::read(&*opened.source) else { return Vec::new() };
    let facts = LinkFacts::read(&*opened.source, &elf, wanted, |_| true);
    facts.map(|facts| facts.imports).unwrap_or_default()
}

/// Whether a text occurs in the mapped parts of a program.
pub(super) fn mentions(source: &(dyn Source + Send + Sync), elf: &Elf, text: &[u8]) -> bool {
    elf.loads().any(|load| {
        let size = load.file_size.min(source.len().saturating_sub(load.offset.0));
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        source.read_exact_at(load.offset.0, &mut bytes).is_ok() && bytes.contains_str(text)
    })
}

/// Addresses of functions that an object defines; `None` unless it defines them all.
pub(super) fn functions<const N: usize>(source: &[u8], elf: &Elf, names: [&str; N]) -> Option<[u64; N]> {
    let details = Details::read(source, elf).ok()?;
    let mut addresses = [0; N];
    for (address, name) in addresses.iter_mut().zip(names) {
        *address = details.export(name.into())?.value.0;
    }
    Some(addresses)
}

/// Whether an object is the C library, which defines and uses these functions itself: that says nothing about the
/// program.
pub(super) fn is_libc(object: &underpin_resolve::Object) -> bool {
    object.soname.as_ref().is_some_and(|soname| soname.starts_with(b"libc.so"))
}
