//! One file of the tree: a copy with its search path and its loader.

use crate::{Layout, Placed, Site};
use anyhow::Context;
use bstr::BString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use underpin_elf::{Class, Elf, Endian, Segment};
use underpin_rewrite::{Edits, Refusal, Rename, RewriteOptions, SearchPathEdit, Strategy, bytes};

/// How a file got into the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// Its search path is where no further segment was needed.
    InPlace,
    /// It has a PT_LOAD more than its original.
    WithSegment,
    /// It is a copy of the original.
    AsItIs(Unwritten),
}

/// Why a file has no search path of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// A loader searches nothing.
    Loader,
    /// It cannot be rewritten.
    Refused(Refusal),
}

/// Copies it.
pub(crate) fn file(file: &Placed, site: &Site, layout: Layout) -> anyhow::Result<Written> {
    let original = fs::read(&file.from).with_context(|| format!("cannot read {}", file.from.display()))?;
    let (bytes, written) = if file.loader {
        (original, Written::AsItIs(Unwritten::Loader))
    } else {
        match rewritten(&original, file, site, layout) {
            Ok((bytes, written)) => (bytes, written),
            Err(refusal) => (original, Written::AsItIs(Unwritten::Refused(refusal))),
        }
    };
    let to = site.folder.join(&file.place);
    fs::write(&to, bytes).with_context(|| format!("cannot write {}", to.display()))?;
    // Without set-user-ID and the like: the copy belongs to the user who makes the tree.
    let mode = fs::metadata(&file.from)?.permissions().mode() & 0o777;
    fs::set_permissions(&to, fs::Permissions::from_mode(mode))?;
    Ok(written)
}

fn rewritten(original: &[u8], file: &Placed, site: &Site, layout: Layout) -> Result<(Vec<u8>, Written), Refusal> {
    let elf = Elf::read(original)?;
    let named = |place: &std::path::Path| BString::from(site.named.join(place).as_os_str().as_bytes());
    let folders: Vec<BString> = file.search_path.iter().map(|folder| named(folder)).collect();
    let path = BString::from(bstr::join(":", folders));
    let search_path = if layout.direct_runpath { SearchPathEdit::Runpath(path) } else { SearchPathEdit::Rpath(path) };
    let interpreter = elf.interpreter.as_ref().and(file.interpreter.as_deref()).map(named);
    let renames = file.renames.iter().map(|(from, to)| Rename { from: from.clone(), to: to.clone() }).collect();
    let edits = Edits { renames, search_path, interpreter, ..Edits::default() };
    // With underpin's record the file would look bound.
    let options = RewriteOptions { without_record: true, ..RewriteOptions::default() };
    let tail = RewriteOptions { only: Some(Strategy::DataTail), ..options.clone() };
    let rewrite = bytes::rewrite(original, &edits, &tail).or_else(|_| bytes::rewrite(original, &edits, &options))?;
    let mut bytes = rewrite.apply(original);
    keep_zeros(&elf, &mut bytes);
    Ok((bytes, if rewrite.cost.segments > 0 { Written::WithSegment } else { Written::InPlace }))
}

/// If the original's zeros (bss) pass the last page of its content, the loader maps them separately. A search path
/// behind them puts them into the file and saves that call, which a linker would not have done: such a file gets a page
/// of zeros behind the search path, and the call back.
fn keep_zeros(original: &Elf, bytes: &mut [u8]) {
    const PAGE: u64 = 4096;
    let pages = |segment: &Segment, size: u64| (segment.vaddr.0 + size).div_ceil(PAGE);
    let has_zeros = |segment: &Segment| pages(segment, segment.memory_size) > pages(segment, segment.file_size);
    let Ok(elf) = Elf::read(&*bytes) else { return };
    let before = original.loads().filter(|segment| has_zeros(segment)).count();
    let after = elf.loads().filter(|segment| has_zeros(segment)).count();
    let loads = elf.segments.iter().enumerate().filter(|(_, segment)| elf.loads().any(|load| load == *segment));
    let Some((index, last)) = loads.max_by_key(|(_, segment)| segment.vaddr) else { return };
    if after >= before || !last.flags.write {
        return;
    }
    let size = last.memory_size + PAGE;
    let (field, width) = if elf.ident.class == Class::Elf64 { (40, 8) } else { (20, 4) };
    let Ok(entry) = usize::try_from(elf.segments_offset.0 + index as u64 * u64::from(elf.segment_entry_size)) else {
        return;
    };
    let value = match elf.ident.endian {
        Endian::Little => size.to_le_bytes()[..width].to_vec(),
        Endian::Big => size.to_be_bytes()[8 - width..].to_vec(),
    };
    if let Some(place) = bytes.get_mut(entry + field..).and_then(|rest| rest.get_mut(..width)) {
        place.copy_from_slice(&value);
    }
}
