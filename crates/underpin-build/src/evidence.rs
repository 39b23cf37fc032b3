//! Whether the code of an object is in a linked file: by its bytes, which strip(1) does not remove.
//!
//! A linker copies machine code as it is, except where a relocation tells it to fill something in (and, beside those
//! places, where it relaxes an instruction). So a stretch of code without relocations reappears byte for byte, if its
//! section was kept. `--gc-sections` drops the functions that are not called, each in a section of its own, and with a program
//! that calls none all of them: then the symbols of the file tell whether another library's functions are in their place.

use bstr::{BStr, ByteSlice};
use std::collections::{BTreeMap, BTreeSet};

/// Shorter stretches occur in other code too.
const SHORTEST: usize = 48;
/// How many sections are looked for.
const MOST: usize = 1024;
/// Bytes beside a relocation that a relaxation may change: the instruction before and after it.
const BESIDE: usize = 16;

const SECTION_HEADER: usize = 64;
const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_RELA: u32 = 4;
const SHF_EXECINSTR: u64 = 4;
const SYMBOL: usize = 24;
const STB_LOCAL: u8 = 0;
const STT_FUNC: u8 = 2;
const STV_DEFAULT: u8 = 0;

/// A section of a 64-bit little-endian object.
struct Section {
    kind: u32,
    flags: u64,
    offset: usize,
    size: usize,
    link: usize,
    info: usize,
}

/// Whether an object is in a linked file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Its code is, except for the functions of these names, which are from elsewhere: a program may have one of them itself.
    Linked { except: Vec<String> },
    /// None of its code, and none of the functions that it defines: nothing calls them.
    NotNeeded,
    /// None of its code, and a function of this name from elsewhere.
    Replaced(String),
    /// None of its code that could be told from others, and no symbols, or only those of functions that are too short.
    NotKnown,
}

/// Whether an object is in a linked file; `None` if it has no stretch of code that could show it.
pub(crate) fn presence(file: &[u8], object: &[u8]) -> Option<Presence> {
    let stretches = stretches(object)?;
    if stretches.is_empty() {
        return None;
    }
    if stretches.iter().any(|stretch| file.find(stretch.code).is_some()) {
        return Some(Presence::Linked { except: from_elsewhere(file, object) });
    }
    let Some(there) = functions(file) else { return Some(Presence::NotKnown) };
    let there: BTreeSet<&BStr> = there.into_iter().map(|function| function.name).collect();
    let own = functions(object)?.into_iter().filter(|function| there.contains(function.name));
    // A function too short to be told from others may be the object's own.
    let is_seen = |function: &Function| stretches.iter().any(|stretch| stretch.section == function.section);
    let mut own: Vec<Function> = own.collect();
    own.sort_by_key(|function| (!is_seen(function), function.name));
    Some(match own.first() {
        None => Presence::NotNeeded,
        Some(function) if is_seen(function) => Presence::Replaced(function.name.to_string()),
        Some(_) => Presence::NotKnown,
    })
}

/// The object's functions that have another size in the file, if the file has symbols: linkers change none.
fn from_elsewhere(file: &[u8], object: &[u8]) -> Vec<String> {
    let sizes = |bytes| functions(bytes).unwrap_or_default().into_iter().map(|function| (function.name, function.size));
    let own: BTreeMap<&BStr, u64> = sizes(object).collect();
    let others = sizes(file).filter(|(name, size)| own.get(name).is_some_and(|of_object| of_object != size));
    others.map(|(name, _)| name.to_string()).collect::<BTreeSet<String>>().into_iter().collect()
}

/// A global function that a file defines, the section that it is in, and its size in bytes.
struct Function<'f> {
    name: &'f BStr,
    section: usize,
    size: u64,
}

/// Code without relocations, and the section that it is in.
struct Stretch<'o> {
    code: &'o [u8],
    section: usize,
}

/// The global functions that a file defines; `None` if it has no symbol table.
fn functions(file: &[u8]) -> Option<Vec<Function<'_>>> {
    let functions = globals(file)?.into_iter().filter(|symbol| symbol.is_function && symbol.is_default);
    let function = |Symbol { name, section, size, .. }| Function { name: BStr::new(name), section, size };
    Some(functions.map(function).collect())
}

/// The names that an object defines for others, functions and variables, in the order of its table; `None` if it has none.
pub(crate) fn definitions(object: &[u8]) -> Option<Vec<&[u8]>> {
    Some(globals(object)?.into_iter().map(|symbol| symbol.name).collect())
}

/// A name that a file defines for others.
struct Symbol<'f> {
    name: &'f [u8],
    section: usize,
    size: u64,
    is_function: bool,
    /// It is not hidden.
    is_default: bool,
}

/// All of them; `None` if there is no symbol table.
fn globals(file: &[u8]) -> Option<Vec<Symbol<'_>>> {
    let sections = sections(file)?;
    let table = sections.iter().find(|section| section.kind == SHT_SYMTAB)?;
    let names = sections.get(table.link)?;
    let names = file.get(names.offset..)?.get(..names.size)?;
    let entries = file.get(table.offset..)?.get(..table.size)?;
    let symbol = |entry: &'_ [u8]| {
        // Elf64_Sym: name, info (binding and type), other (visibility), section, value, size.
        let (info, other) = (*entry.get(4)?, *entry.get(5)?);
        let section = usize::try_from(word(entry, 6, 2)?).ok()?;
        if info >> 4 == STB_LOCAL || section == 0 {
            return None;
        }
        let start = usize::try_from(word(entry, 0, 4)?).ok()?;
        let name = names.get(start..)?.split(|byte| *byte == 0).next()?;
        let (is_function, is_default) = (info & 15 == STT_FUNC, other & 3 == STV_DEFAULT);
        Some(Symbol { name, section, size: word(entry, 16, 8)?, is_function, is_default })
    };
    Some(entries.chunks_exact(SYMBOL).filter_map(symbol).collect())
}

/// The longest stretch of code without relocations of each section.
fn stretches(object: &[u8]) -> Option<Vec<Stretch<'_>>> {
    let sections = sections(object)?;
    let mut found: Vec<Stretch> = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        if section.kind != SHT_PROGBITS || section.flags & SHF_EXECINSTR == 0 {
            continue;
        }
        let code = object.get(section.offset..)?.get(..section.size)?;
        let mut places = vec![0];
        for table in sections.iter().filter(|table| table.kind == SHT_RELA && table.info == index) {
            let entries = object.get(table.offset..)?.get(..table.size)?;
            // Each has 24 bytes; the first 8 are the place (gABI, Elf64_Rela).
            places.extend(entries.chunks_exact(24).filter_map(|entry| usize::try_from(word(entry, 0, 8)?).ok()));
        }
        places.push(code.len());
        places.sort_unstable();
        let between = places
            .windows(2)
            .filter_map(|pair| code.get(pair[0].saturating_add(BESIDE)..pair[1].saturating_sub(BESIDE)));
        let longest = between.max_by_key(|code| code.len()).filter(|code| code.len() >= SHORTEST);
        found.extend(longest.map(|code| Stretch { code, section: index }));
    }
    found.sort_by_key(|stretch| std::cmp::Reverse(stretch.code.len()));
    found.truncate(MOST);
    Some(found)
}

fn sections(object: &[u8]) -> Option<Vec<Section>> {
    if !object.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let at = |offset: usize, size: usize| word(object, offset, size).and_then(|value| usize::try_from(value).ok());
    let (table, count) = (at(0x28, 8)?, at(0x3c, 2)?);
    let headers = object.get(table..)?.get(..count.checked_mul(SECTION_HEADER)?)?;
    let section = |header: &[u8]| {
        let field = |offset| word(header, offset, 8).and_then(|value| usize::try_from(value).ok());
        Some(Section {
            kind: u32::try_from(word(header, 4, 4)?).ok()?,
            flags: word(header, 8, 8)?,
            offset: field(24)?,
            size: field(32)?,
            link: usize::try_from(word(header, 40, 4)?).ok()?,
            info: usize::try_from(word(header, 44, 4)?).ok()?,
        })
    };
    headers.chunks_exact(SECTION_HEADER).map(section).collect()
}

/// A little-endian number of `size` bytes.
fn word(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..)?.get(..size)?;
    Some(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    /// Long enough to be told apart, and unlike each other.
    fn function(name: &str, start: u32) -> String {
        let lines = (start..start + 20).map(|number| format!("x = x * {number}u + (x >> 7);\n")).collect::<String>();
        format!("unsigned {name}(unsigned x) {{ {lines} return x; }}\n")
    }

    fn compiled(folder: &std::path::Path, name: &str, source: &str, arguments: &[&str]) -> Vec<u8> {
        let (text, result) = (folder.join(format!("{name}.c")), folder.join(name));
        fs::write(&text, source).unwrap();
        let mut command = Command::new("cc");
        command.args(["-O1", "-ffreestanding", "-ffunction-sections", "-nostdlib", "-static"]).arg("-o").arg(&result);
        let status = command.args(arguments).arg(&text).current_dir(folder).status().unwrap();
        assert!(status.success(), "{name}");
        fs::read(result).unwrap()
    }

    #[test]
    fn code_that_was_dropped_is_not_needed_only_if_no_other_stands_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let many: String = (0..80).map(|number| function(&format!("f{number}"), 1000 * number + 100)).collect();
        let last: String = function("last", 1).split_inclusive(';').take(10).collect::<String>() + " return x; }\n";
        let short = "unsigned short_one(unsigned x) { return x * 3u; }\n";
        let object = compiled(folder.path(), "object", &format!("{many}{last}{short}"), &["-c"]);
        let weak = "__attribute__((weak)) unsigned last(unsigned);\n";
        compiled(folder.path(), "weak", &format!("{weak}{many}{last}{short}"), &["-c"]);
        let of = |name: &str, start: &str, more: &[&str]| {
            compiled(folder.path(), name, start, &[&["-Wl,--gc-sections,-e,start"], more].concat())
        };
        let calls = "unsigned last(unsigned); unsigned start(void) { return last(1); }\n";
        let found = |file: &[u8]| presence(file, &object).unwrap();
        // The shortest of many is enough.
        assert_eq!(found(&of("one", calls, &["-xnone", "object"])), Presence::Linked { except: Vec::new() });
        let both = "unsigned f7(unsigned); unsigned start(void) { return f7(1) + last(2); }\n";
        let own = format!("__attribute__((noinline)) {}{both}", function("last", 9));
        assert_eq!(found(&of("own", &own, &["-xnone", "weak"])), Presence::Linked { except: vec!["last".to_owned()] });
        let none = "unsigned start(void) { return 1; }\n";
        assert_eq!(found(&of("none", none, &["-xnone", "object"])), Presence::NotNeeded);
        let calls_short = "unsigned short_one(unsigned); unsigned start(void) { return short_one(1); }\n";
        assert_eq!(found(&of("short", calls_short, &["-xnone", "object"])), Presence::NotKnown);
        let other = format!("__attribute__((noinline)) {}{calls}", function("last", 9));
        assert_eq!(found(&of("other", &other, &[])), Presence::Replaced("last".to_owned()));
        assert_eq!(found(&of("stripped", none, &["-s", "-xnone", "object"])), Presence::NotKnown);
    }
}
