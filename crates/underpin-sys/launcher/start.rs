//! The order of events: find the bundle, name its libraries, map its loader, hand over.

use crate::calls::{self, Descriptor, Mapping};
use crate::head::{Bundle, FORM_FILE, Fixup, Object};
use crate::load::{self, Failure};
use crate::names;
use crate::place::{self, Path, text_at};
use crate::say::{decimal, stop};

/// Entries of the auxiliary vector (`<elf.h>`).
mod aux {
    pub const HEADERS: usize = 3;
    pub const HEADER_COUNT: usize = 5;
    pub const PAGE_SIZE: usize = 6;
    pub const BASE: usize = 7;
    pub const ENTRY: usize = 9;
    pub const USER: usize = 11;
    pub const EFFECTIVE_USER: usize = 12;
    pub const GROUP: usize = 13;
    pub const EFFECTIVE_GROUP: usize = 14;
    pub const EXECUTED_NAME: usize = 31;
}

/// The kernel's auxiliary vector on the stack.
struct Auxiliary(*mut [usize; 2]);

impl Auxiliary {
    /// # Safety
    /// `stack` is the stack pointer at the entry of a process: argc, argv, NULL, environment, NULL, vector.
    unsafe fn behind(stack: *mut usize) -> Auxiliary {
        // SAFETY: as the ABI lays it out.
        unsafe {
            let mut word = stack.add(1 + *stack + 1);
            while *word != 0 {
                word = word.add(1);
            }
            Auxiliary(word.add(1).cast())
        }
    }

    fn entry(&self, key: usize) -> Option<*mut [usize; 2]> {
        let mut entry = self.0;
        loop {
            // SAFETY: AT_NULL ends the vector.
            match unsafe { (*entry)[0] } {
                0 => return None,
                found if found == key => return Some(entry),
                _ => entry = entry.wrapping_add(1),
            }
        }
    }

    fn get(&self, key: usize) -> Option<usize> {
        // SAFETY: an entry of the vector.
        self.entry(key).map(|entry| unsafe { (*entry)[1] })
    }

    fn set(&self, key: usize, value: usize) {
        if let Some(entry) = self.entry(key) {
            // SAFETY: an entry of the vector; the stack is writable.
            unsafe { (*entry)[1] = value };
        }
    }
}

/// Returns where the entry code jumps next. Called on the stack that the kernel made.
///
/// # Safety
/// `stack` is the stack pointer at entry, `params`, `after` and `before` the places in the entry code.
pub unsafe extern "C" fn begin(stack: *mut usize, params: *const u8, after: usize, before: usize) -> usize {
    // SAFETY: the caller's promises.
    let (bundle, auxiliary) = unsafe { (Bundle::at(params), Auxiliary::behind(stack)) };
    let differs = |one, other| auxiliary.get(one) != auxiliary.get(other);
    if differs(aux::USER, aux::EFFECTIVE_USER) || differs(aux::GROUP, aux::EFFECTIVE_GROUP) {
        // A hard link to it elsewhere would choose its libraries (glibc ignores $ORIGIN then for the same reason).
        stop(b"it is set-user-ID or set-group-ID", b"", 1, b"a bundle has no rights of its own; use sudo or the like");
    }
    let page = auxiliary.get(aux::PAGE_SIZE).unwrap_or(4096);
    let loaded = if bundle.head().form == FORM_FILE {
        from_file(bundle, page)
    } else {
        from_directory(bundle, &auxiliary, page)
    };
    let head = bundle.head();
    if head.preinit != 0 {
        // SAFETY: the bundler left this word for it.
        unsafe { bundle.at_offset(head.preinit).cast::<usize>().write(before) };
    }
    auxiliary.set(aux::HEADERS, bundle.now(head.headers) as usize);
    auxiliary.set(aux::HEADER_COUNT, head.header_count);
    auxiliary.set(aux::BASE, loaded.base);
    let copied = head.form == FORM_FILE && head.hooks_size == 0;
    let comes_back = (copied && head.preinit == 0) || head.charsets_of != 0;
    let entry = if comes_back { after } else { bundle.now(head.entry) as usize };
    auxiliary.set(aux::ENTRY, entry);
    loaded.entry
}

/// The size of a page, where parts of libraries are left out (`arch::SHARES`).
const PAGE: usize = 4096;

/// Called by the loader as the program's DT_PREINIT_ARRAY: everything is relocated, no initialiser has run. What was
/// left out of the copies is mapped from the bundle's file.
///
/// # Safety
/// `params` is the place in the entry code; no other thread runs.
pub unsafe extern "C" fn before(params: *const u8) {
    // SAFETY: the caller's promise.
    let bundle = unsafe { Bundle::at(params) };
    crate::share::all(bundle, PAGE);
    close_all(bundle);
}

fn close_all(bundle: Bundle) {
    for index in 0..bundle.head().object_count {
        // SAFETY: the bundler made that many records.
        match unsafe { (*bundle.object(index)).descriptor } {
            0 => {}
            descriptor => calls::close(descriptor - 1),
        }
    }
}

/// Where the loader's jump to the program goes first, if there is something to do after the loader.
///
/// # Safety
/// As for [`begin`]; the loader is done.
pub unsafe extern "C" fn after(stack: *mut usize, params: *const u8) -> usize {
    // SAFETY: the caller's promise.
    let bundle = unsafe { Bundle::at(params) };
    let head = bundle.head();
    if head.form == FORM_FILE && head.hooks_size == 0 {
        // SAFETY: the loader hands the stack on as the kernel made it.
        let page = unsafe { Auxiliary::behind(stack) }.get(aux::PAGE_SIZE).unwrap_or(4096);
        crate::share::all(bundle, page);
        close_all(bundle);
    }
    if head.charsets_of != 0 {
        // SAFETY: the loader hands the stack on as the kernel made it.
        crate::charsets::announce(bundle, unsafe { environment(stack) });
    }
    bundle.now(head.entry) as usize
}

/// The variables on the stack of a process's entry.
///
/// # Safety
/// `stack` is laid out as the ABI says.
unsafe fn environment(stack: *mut usize) -> impl Iterator<Item = &'static [u8]> {
    // SAFETY: argc, argv and its NULL come first.
    let mut word = unsafe { stack.add(1 + *stack + 1) };
    core::iter::from_fn(move || {
        // SAFETY: NULL ends the list of C strings.
        unsafe {
            let text = *word as *const u8;
            word = word.add(1);
            (!text.is_null()).then(|| text_at(text))
        }
    })
}

const MOVED: &[u8] = b"the bundle is not complete; copy its whole directory, or bundle anew";

fn from_directory(bundle: Bundle, auxiliary: &Auxiliary, page: usize) -> load::Loaded {
    let mut top = Path::empty();
    let descriptor = match find(bundle, auxiliary, &mut top) {
        Ok(descriptor) => descriptor,
        Err(error) => stop(b"no loader at ", top.text(), error, MOVED),
    };
    if name_all(bundle, top.text()).is_none() {
        stop(b"the path is too long: ", top.text(), 36, b"move the bundle to a shorter one");
    }
    finish(descriptor, (0, (0, 0)), page, top.text())
}

/// Finds the top of the bundle and opens its loader: by `/proc/self/exe`, and, if that does not lead there, by the
/// name of the execution.
fn find(bundle: Bundle, auxiliary: &Auxiliary, top: &mut Path) -> Result<Descriptor, i32> {
    let mut error = calls::NO_ENTRY;
    if place::by_proc(top) {
        match open_below(bundle, top) {
            Ok(descriptor) => return Ok(descriptor),
            Err(cause) => error = cause,
        }
    }
    let Some(name) = auxiliary.get(aux::EXECUTED_NAME) else { return Err(error) };
    // SAFETY: the kernel's string.
    if unsafe { place::by_name(name as *const u8, top) } { open_below(bundle, top) } else { Err(error) }
}

fn open_below(bundle: Bundle, top: &mut Path) -> Result<Descriptor, i32> {
    if !place::top_of(top, bundle.head().up) {
        return Err(calls::NO_ENTRY);
    }
    let size = top.size;
    if !top.push(b"/") || !top.push(names::text(bundle, bundle.head().loader)) {
        return Err(calls::NO_ENTRY);
    }
    // SAFETY: `Path` keeps a NUL behind its text.
    let descriptor = unsafe { calls::open(top.bytes.as_ptr()) }?;
    top.cut(size);
    Ok(descriptor)
}

/// Writes every absolute name of the directory form.
fn name_all(bundle: Bundle, top: &[u8]) -> Option<()> {
    let head = bundle.head();
    names::compose(bundle, &[top])?;
    bundle.set_top_size(top.len());
    if head.search_slot != 0 {
        let below = names::text(bundle, head.search);
        let more = names::text(bundle, head.search + below.len() + 1);
        let text = names::compose(bundle, &[top, b"/", below, more])?;
        names::point(bundle, head.search_slot - 1, text);
    }
    for index in 0..head.object_count {
        let object = bundle.object(index);
        // SAFETY: the bundler made that many records.
        let (slot, name) = unsafe { ((*object).slot, names::text(bundle, (*object).name)) };
        names::point(bundle, slot, names::compose(bundle, &[top, b"/", name])?);
    }
    interpreter(bundle, &[top, b"/", names::text(bundle, head.loader)])
}

fn interpreter(bundle: Bundle, parts: &[&[u8]]) -> Option<()> {
    let mut path = Path::empty();
    if !parts.iter().all(|part| path.push(part)) {
        return None;
    }
    let room = bundle.at_offset(bundle.head().interpreter);
    // SAFETY: the bundler left as much room as a path may have.
    unsafe { core::ptr::copy_nonoverlapping(path.bytes.as_ptr(), room, path.size + 1) };
    Some(())
}

fn finish(
    descriptor: Descriptor,
    (place, more): (usize, (usize, usize)),
    page: usize,
    shown: &[u8],
) -> load::Loaded {
    let loaded = load::map(descriptor, place, more, page);
    calls::close(descriptor);
    match loaded {
        Ok(loaded) => loaded,
        Err(Failure::Call(error)) => stop(b"the loader cannot be mapped: ", shown, error, MOVED),
        Err(Failure::NotALoader) => stop(b"its loader is not for this machine: ", shown, 8, MOVED),
    }
}

const PROC: &[u8] = b"a bundle in one file needs /proc mounted (mount -t proc proc /proc), or make it a directory";

fn from_file(bundle: Bundle, page: usize) -> load::Loaded {
    let own = c"/proc/self/exe";
    // SAFETY: a terminated literal.
    let descriptor = match unsafe { calls::open(own.as_ptr().cast()) } {
        Ok(descriptor) => descriptor,
        Err(error) => stop(b"no ", own.to_bytes(), error, PROC),
    };
    let head = bundle.head();
    for index in 0..head.object_count {
        if head.hooks_size == 0 {
            provide(bundle, descriptor, index);
        } else {
            // SAFETY: the bundler made that many records.
            let (slot, name) = unsafe { ((*bundle.object(index)).slot, (*bundle.object(index)).name) };
            names::point(bundle, slot, bundle.at_offset(name));
        }
    }
    for index in 0..head.fixup_count {
        fix(bundle, index);
    }
    let _ = interpreter(bundle, &[names::text(bundle, head.search)]);
    finish(descriptor, (head.loader, (head.hooks, head.hooks_size)), page, b"/proc/self/exe")
}

/// Puts one library into a file in memory and makes the program's DT_NEEDED name it by its descriptor.
fn provide(bundle: Bundle, file: Descriptor, index: usize) {
    let object = bundle.object(index);
    // SAFETY: the bundler made that many records.
    let (slot, name, place) = unsafe { ((*object).slot, (*object).name, (*object).place) };
    let shown = names::text(bundle, name);
    // SAFETY: the bundler ends its texts with a NUL.
    let memory = match unsafe { calls::memory_file(bundle.at_offset(name)) } {
        Ok(memory) => memory,
        Err(calls::NO_SUCH_CALL) => {
            stop(b"no memory file for ", shown, calls::NO_SUCH_CALL, b"it needs Linux 3.17, or make it a directory")
        }
        Err(calls::TOO_MANY_FILES) => {
            stop(b"no descriptor for ", shown, calls::TOO_MANY_FILES, b"raise `ulimit -n`, or make it a directory")
        }
        Err(error) => {
            stop(b"no memory file for ", shown, error, b"memfd_create(2) is refused here; make it a directory")
        }
    };
    // SAFETY: the record is writable.
    unsafe { (*object).descriptor = memory + 1 };
    // SAFETY: a record of the bundler's.
    if let Err(error) = fill(file, memory, unsafe { &*object }) {
        stop(b"cannot read ", shown, error, b"the file is damaged or memory is short; bundle anew");
    }
    let mut digits = [0; 10];
    let Some(path) = names::compose(bundle, &[b"/proc/self/fd/", decimal(memory, &mut digits)]) else {
        stop(b"no room for ", shown, 12, b"bundle anew")
    };
    names::point(bundle, slot, path);
}

/// Writes into a library the path of another one. musl knows a library by its path, not by its soname.
fn fix(bundle: Bundle, index: usize) {
    let fixups = bundle.at_offset(bundle.head().fixups).cast::<Fixup>();
    // SAFETY: the bundler made that many fixups and records.
    let (holder, target, offset) = unsafe {
        let fixup = fixups.add(index).read();
        (bundle.object(fixup.holder), bundle.object(fixup.target), fixup.offset)
    };
    // SAFETY: as above; every record has its descriptor by now.
    let (holder, target, name) = unsafe { ((*holder).descriptor - 1, (*target).descriptor - 1, (*holder).name) };
    let mut digits = [0; 10];
    let Some(path) = names::compose(bundle, &[b"/proc/self/fd/", decimal(target, &mut digits)]) else {
        stop(b"no room for ", names::text(bundle, name), 12, b"bundle anew")
    };
    // SAFETY: composed just now; its NUL is written too.
    let path = unsafe { core::slice::from_raw_parts(path, text_at(path).len() + 1) };
    if let Err(error) = calls::write_at(holder, path, offset) {
        stop(b"cannot write ", names::text(bundle, name), error, b"memory is short; make it a directory");
    }
}

/// Copies a library, or what of it the loader needs before `before` is called: its beginning, and what is writable.
fn fill(file: Descriptor, memory: Descriptor, object: &Object) -> Result<(), i32> {
    let whole = object.needed_size;
    if object.eager_size >= whole {
        return copy(file, memory, object.place, (0, whole));
    }
    copy(file, memory, object.place, (0, object.eager_size))?;
    let mut start = load::Start::empty();
    let read = calls::read_at(file, &mut start.0, object.place)?;
    let (_, loads) = load::headers(&start, read).ok_or(calls::INVALID)?;
    for load in loads.filter(|load| load.flags & 2 != 0 && load.file_size > 0) {
        let end = (load.offset + load.file_size) as usize;
        copy(file, memory, object.place, (load.offset as usize & !(PAGE - 1), end.min(whole)))?;
    }
    // The file is as long as all of it; what was not written takes no memory.
    calls::truncate(memory, whole)
}

/// Copies a part of a library that is at `place` of the bundle's file, from one offset in it to another. Mapped and
/// written: one pass over the bytes, half the time of sendfile(2).
fn copy(file: Descriptor, memory: Descriptor, place: usize, (from, to): (usize, usize)) -> Result<(), i32> {
    let (size, place, mut at) = (to - from, place + from, from);
    if size == 0 {
        return Ok(());
    }
    let flags = calls::MAP_PRIVATE | calls::MAP_POPULATE;
    let mapping = Mapping { address: 0, size, protection: calls::PROT_READ, flags, file: Some((file, place)) };
    // SAFETY: the kernel chooses a free place.
    let start = unsafe { calls::map(&mapping) }?;
    // SAFETY: mapped above. Truncating the file meanwhile would end the process, as it ends any running program.
    let mut rest = unsafe { core::slice::from_raw_parts(start as *const u8, size) };
    let result = loop {
        match calls::write_at(memory, rest, at) {
            Ok(0) => break Err(5),
            Ok(written) => {
                at += written;
                rest = rest.get(written..).unwrap_or_default();
            }
            Err(error) => break Err(error),
        }
        if rest.is_empty() {
            break Ok(());
        }
    };
    // SAFETY: nothing refers to it any more.
    unsafe { calls::unmap(start, size) };
    result
}
