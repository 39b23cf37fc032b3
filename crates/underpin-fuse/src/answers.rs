//! What members hear when they ask which file an address is in (dladdr), and what they open by their own path (dlopen).
//!
//! glibc would name the fused file. A member is told its own path instead, where its own file would begin, and the symbol
//! that its own table has there; what it then opens by that path is the fused file, under the member's name, because its
//! own file would be loaded a second time. Everything else goes on to glibc. Only if a member asks, and only references
//! of members: the slots through which both functions go on are look-ups like any other (LD_PRELOAD).

use crate::layout::{Layout, Place};
use crate::object::{Malformed, Object, u32_at};
use crate::{Closure, opened};
use bstr::{BString, ByteSlice};

/// A function of glibc that members call another one for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// dladdr.
    Address,
    /// dlopen.
    Open,
}

impl Question {
    pub const ALL: [Question; 2] = [Question::Address, Question::Open];

    /// The one of a name.
    pub fn of(name: &[u8]) -> Option<Question> {
        Question::ALL.into_iter().find(|question| question.name() == name)
    }

    pub fn name(self) -> &'static [u8] {
        match self {
            Question::Address => b"dladdr",
            Question::Open => b"dlopen",
        }
    }

    /// The offset of its slot, in which glibc's function is.
    pub fn slot(self) -> u64 {
        match self {
            Question::Address => 0,
            Question::Open => 8,
        }
    }
}

/// The offset of the slot in which glibc's dlmopen is.
pub(crate) const OPENS: u64 = 16;
/// The size of all slots.
pub(crate) const SLOTS: u64 = 24;

/// Whether a library imports a function.
pub(crate) fn imports(object: &Object, name: &[u8]) -> bool {
    object.symbols.iter().any(|symbol| !symbol.is_defined() && symbol.name == name)
}

/// Whether a member of a file with this library must be answered.
pub(crate) fn asks(object: &Object) -> bool {
    imports(object, Question::Address.name())
}

/// The members that are opened by their path under their name in the fused file: by index of the closure, that name. Not those
/// with a symbol that an earlier library defines too, which dlsym would find.
pub(crate) fn opened(closure: &Closure, objects: &[Object], members: &[usize]) -> Vec<(usize, BString)> {
    let doubled = opened::doubled(objects, members);
    let name = |member: usize| opened::own_names(&closure.objects[member]).next();
    let clear = members.iter().filter(|member| !doubled.iter().any(|(object, _)| object == *member));
    clear.filter_map(|&member| Some((member, name(member)?.into()))).collect()
}

/// The size of an entry of the table and of the number before the first one.
const ENTRY: usize = 64;
const HEAD: usize = 8;

/// The table of members, as `machine/answers.c` reads it, for an address. `opened` is of [`opened`].
pub(crate) fn table(
    closure: &Closure,
    objects: &[Object],
    layout: &Layout,
    opened: &[(usize, BString)],
    at: u64,
) -> Result<Vec<u8>, (usize, Malformed)> {
    let mut strings: Vec<u8> = Vec::new();
    let start = HEAD + layout.members.len() * ENTRY;
    let mut out = (layout.members.len() as u64).to_le_bytes().to_vec();
    for place in &layout.members {
        let member = &closure.objects[place.object];
        let mut text = |text: &[u8]| {
            let offset = (start + strings.len()) as u32;
            strings.extend(text);
            strings.push(0);
            offset
        };
        let (path, real) = (text(&member.path), text(&member.real_path));
        let name = opened.iter().find(|(object, _)| *object == place.object).map_or(0, |(_, name)| text(name));
        let (words, symbols) = facts(&objects[place.object], place, layout).map_err(|error| (place.object, error))?;
        out.extend(words.into_iter().flat_map(|address| address.wrapping_sub(at).to_le_bytes()));
        let [first, end, size] = symbols;
        out.extend([first, end, path, real, name, size].into_iter().flat_map(u32::to_le_bytes));
    }
    out.extend(strings);
    Ok(out)
}

/// The addresses of an entry, and the first of the symbols that can be found, the end of all, and the size of their names.
fn facts(object: &Object, place: &Place, layout: &Layout) -> Result<([u64; 5], [u32; 3]), Malformed> {
    let loads = object.loads();
    let low = loads.iter().map(|load| load.vaddr.0).min().unwrap_or(0) / layout.page * layout.page;
    let high = loads.iter().map(|load| load.vaddr.0 + load.memory_size).max().unwrap_or(0);
    let dynamic = object.elf.dynamic.as_ref();
    let table = dynamic.and_then(|dynamic| dynamic.symbol_table).map_or(0, |at| at.0);
    let (strings, size) = dynamic.and_then(|dynamic| dynamic.string_table).map_or((0, 0), |(at, size)| (at.0, size));
    // A look-up by address sees what a look-up by name does.
    let first = match dynamic.and_then(|dynamic| dynamic.gnu_hash) {
        Some(hash) => u32_at(object.memory(hash.0, 8)?, 4),
        None => 1,
    };
    let base = |address: u64| address.wrapping_add(place.base);
    let addresses = [base(low), base(high), place.base, base(table), base(strings)];
    Ok((addresses, [first, object.symbols.len() as u32, u32::try_from(size).unwrap_or(u32::MAX)]))
}

/// Whether functions of these names are glibc's alone: then what is not a member's business can go on to them.
pub(crate) fn are_of(objects: &[Object], is_glibc: &dyn Fn(usize) -> bool) -> bool {
    objects.iter().enumerate().all(|(index, object)| {
        let mut defined = object.symbols.iter().filter(|symbol| symbol.is_defined());
        is_glibc(index) || !defined.any(|symbol| Question::of(symbol.name).is_some())
    })
}

/// Whether a path can be told: the loader has it as it is.
pub(crate) fn is_told(path: &BString) -> bool {
    path.starts_with_str("/") && !path.contains(&0)
}
