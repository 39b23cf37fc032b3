//! The old names of members: which of them the loader must know from the start, and which it can be told later.
//!
//! Each name that the fused file needs costs a search, an open, a read and a close at every start, on a file server as much
//! as a library of its own. Who asks for a name while the program runs asks through dlopen: the fused file stands for that
//! function (`machine/answers.c`), and tells the loader the names before it opens anything. Known from the start must be
//! what objects that stay shared need, and what glibc opens by itself, which calls no function that others could stand for.

use crate::answers;
use crate::members::{asks_for_next, is_glibc};
use crate::object::Object;
use crate::opened::data;
use crate::tables::is_offered;
use crate::{Closure, Plan};
use bstr::{BString, ByteSlice};
use std::collections::HashSet;

/// What opens libraries, and what does the same here by another name.
pub(crate) const OPEN: &[u8] = b"dlopen";
pub(crate) const OPEN_IN: &[u8] = b"dlmopen";
/// What a program calls that will not find its folders again: the names must be known before.
const LEAVING: [&[u8]; 4] = [b"chroot", b"pivot_root", b"unshare", b"setns"];

/// Divides the old names: those that the loader is told when something is opened, which are all that nothing asks for
/// earlier, or none if something could be opened past the fused file; and the others, which it must know at start.
pub(crate) fn divide(
    closure: &Closure,
    objects: &[Object],
    plan: &Plan,
    own: &[BString],
) -> (Vec<BString>, Vec<BString>) {
    if !closure.in_place || !passes_here(closure, objects) {
        return (Vec::new(), own.to_vec());
    }
    let mut early: HashSet<&[u8]> = closure.opened_by_glibc.iter().map(|name| name.as_slice()).collect();
    for kept in &plan.kept {
        let object = &objects[kept.object];
        early.extend(&object.needed);
        early.extend(object.versions.iter().flatten().filter_map(|version| version.file));
    }
    own.iter().cloned().partition(|name| !early.contains(name.as_slice()))
}

/// Whether all that the process opens can be seen, and the names found then.
fn passes_here(closure: &Closure, objects: &[Object]) -> bool {
    let is_glibc = |index: usize| is_glibc(&closure.objects[index]);
    let defines =
        |object: &Object, name: &[u8]| object.symbols.iter().any(|symbol| symbol.name == name && is_offered(symbol));
    let offered = |index: usize| [OPEN, OPEN_IN].into_iter().all(|name| defines(&objects[index], name));
    let others = || (0..objects.len()).filter(|&index| !is_glibc(index)).map(|index| &objects[index]);
    (1..objects.len()).any(|index| is_glibc(index) && offered(index))
        && answers::are_of(objects, &is_glibc)
        && others().all(|object| !answers::imports(object, OPEN_IN) && !defines(object, OPEN_IN) && !takes_next(object))
        && LEAVING.into_iter().all(|name| !answers::imports(&objects[0], name))
}

/// Whether an object may ask for the dlopen after its own by name, which is glibc's.
fn takes_next(object: &Object) -> bool {
    let named = || data(object).iter().any(|bytes| bytes.find(b"\0dlopen\0").is_some());
    ["dlsym", "dlvsym"].into_iter().any(|name| asks_for_next(object, name)) && named()
}

/// The list of names as `machine/answers.c` reads it.
pub(crate) fn table(names: &[BString]) -> Vec<u8> {
    let mut table: Vec<u8> = names.iter().flat_map(|name| [name.as_slice(), b"\0"].concat()).collect();
    table.push(0);
    table
}
