//! What Rust keeps beside an interpreter, and the functions that C calls.
//!
//! None of it is in the arena, so a restore does not touch it: state that must follow a snapshot has its own rules
//! ([`Host::kept`], [`Host::restored`]).

use crate::error::{Raise, Reason};
use crate::native::{Args, NativeFn};
use crate::ruby::Ruby;
use crate::sys;
use crate::value::Value;
use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::ffi::{c_int, c_void};
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, Ordering};

/// One for each interpreter, at a fixed address.
pub(crate) struct Host {
    pub fg: Cell<*mut sys::Fg>,
    pub arena: Cell<*mut sys::Arena>,
    pub natives: RefCell<Vec<Rc<NativeFn>>>,
    pub resources: RefCell<Resources>,
    pub data: RefCell<HashMap<TypeId, Rc<dyn Any>>>,
    /// Strings that Rust has borrowed, and how many times.
    pub locked: RefCell<Vec<(usize, u32)>>,
    /// Ids given to objects that no snapshot holds.
    ids: RefCell<HashMap<usize, i64>>,
    random: (RandomState, Cell<u64>),
    /// Rust borrows from the heap, so Ruby must not run.
    pub quiet: Cell<bool>,
    /// The message of a native's panic.
    pub panic: RefCell<Option<String>>,
    natives_kept: Cell<usize>,
}

/// The Rust values that Ruby objects hold.
#[derive(Default)]
pub(crate) struct Resources {
    items: Vec<Option<Rc<dyn Any>>>,
    free: Vec<usize>,
    /// The first `kept` items belong to a snapshot: an object that is freed comes back with it.
    kept: usize,
}

impl Resources {
    /// Numbers start at one.
    pub fn add(&mut self, item: Rc<dyn Any>) -> usize {
        if let Some(place) = self.free.pop() {
            self.items[place] = Some(item);
            return place + 1;
        }
        self.items.push(Some(item));
        self.items.len()
    }

    pub fn get(&self, number: usize) -> Option<Rc<dyn Any>> {
        self.items.get(number.checked_sub(1)?)?.clone()
    }

    /// Returns the item to the caller, to be dropped when nothing is borrowed.
    fn remove(&mut self, number: usize) -> Option<Rc<dyn Any>> {
        let place = number.checked_sub(1).filter(|place| *place >= self.kept)?;
        let item = self.items.get_mut(place)?.take();
        self.free.push(place);
        item
    }
}

impl Host {
    pub fn new() -> Host {
        Host {
            fg: Cell::new(std::ptr::null_mut()),
            arena: Cell::new(std::ptr::null_mut()),
            natives: RefCell::default(),
            resources: RefCell::default(),
            data: RefCell::default(),
            locked: RefCell::default(),
            ids: RefCell::default(),
            random: (RandomState::new(), Cell::new(0)),
            quiet: Cell::new(false),
            panic: RefCell::default(),
            natives_kept: Cell::new(0),
        }
    }

    /// Everything present now belongs to a snapshot.
    pub fn kept(&self) {
        let mut resources = self.resources.borrow_mut();
        resources.kept = resources.items.len();
        resources.free.clear();
        self.natives_kept.set(self.natives.borrow().len());
    }

    /// Drops everything added since the snapshot.
    pub fn restored(&self) {
        let gone: Vec<_> = {
            let mut resources = self.resources.borrow_mut();
            resources.free.clear();
            let kept = resources.kept;
            if resources.items.len() > kept { resources.items.split_off(kept) } else { Vec::new() }
        };
        drop(gone);
        self.natives.borrow_mut().truncate(self.natives_kept.get());
        let mut ids = self.ids.borrow_mut();
        if ids.capacity() > 0 {
            *ids = HashMap::new();
        }
        self.locked.borrow_mut().clear();
        self.panic.borrow_mut().take();
    }

    /// Drops what an object held, unless the object is in a snapshot and would come back with it.
    pub fn release(&self, resource: usize) {
        let item = self.resources.borrow_mut().remove(resource);
        drop(item);
    }

    /// Random bits from which earlier and later ones cannot be derived (SipHash of a counter under a secret key).
    fn random_word(&self) -> u64 {
        let (key, count) = &self.random;
        count.set(count.get() + 1);
        key.hash_one(count.get())
    }

    /// A number that no object in this process had before; the same object keeps it until the next restore.
    fn fresh_id(&self, object: usize) -> i64 {
        // Addresses are multiples of sixteen, so these are never one.
        static NEXT: AtomicI64 = AtomicI64::new(8);
        *self.ids.borrow_mut().entry(object).or_insert_with(|| NEXT.fetch_add(16, Ordering::Relaxed))
    }

    /// Runs a native; whatever it does, C gets a status.
    fn call_native<'r>(&'r self, index: u32, make_args: impl FnOnce(Ruby<'r>) -> Args<'r>) -> (c_int, usize) {
        let ruby = Ruby::new(self);
        let native = self.natives.borrow().get(index as usize).map(Rc::clone);
        let Some(native) = native else {
            return self.raise(ruby, Raise::new("NotImplementedError", "this native is gone"));
        };
        match catch_unwind(AssertUnwindSafe(|| native(ruby, make_args(ruby)))) {
            Ok(Ok(value)) => (sys::OK, value.word()),
            Ok(Err(raise)) => self.raise(ruby, raise),
            Err(payload) => {
                let message = panic_message(payload.as_ref());
                *self.panic.borrow_mut() = Some(message.clone());
                self.raise(ruby, Raise::new("RuntimeError", format!("internal error: {message}")))
            }
        }
    }

    fn raise<'r>(&'r self, ruby: Ruby<'r>, raise: Raise<'r>) -> (c_int, usize) {
        match raise.0 {
            Reason::Exception(value) => (sys::RAISED, value.word()),
            Reason::Stopped => (sys::STOPPED, 0),
            Reason::New(class, message) => match ruby.make_exception(&class, &message) {
                Ok(value) => (sys::RAISED, value.word()),
                Err(Raise(Reason::Exception(value))) => (sys::RAISED, value.word()),
                Err(Raise(Reason::Stopped)) => (sys::STOPPED, 0),
                // SAFETY: the interpreter is alive.
                Err(Raise(Reason::New(..))) => (sys::RAISED, unsafe { sys::fg_no_memory(self.fg.get()) }),
            },
        }
    }

    pub fn callbacks() -> sys::Callbacks {
        sys::Callbacks { native, release, fresh_id, random }
    }
}

/// The message of a panic.
fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

unsafe extern "C" fn native(
    host: *mut c_void,
    index: u32,
    receiver: usize,
    args: *const usize,
    count: usize,
    keywords: usize,
    block: usize,
    result: *mut usize,
) -> c_int {
    // SAFETY: C returns the host that it was given, arguments that stay valid for the call, and a place for the result.
    unsafe {
        let host = &*host.cast::<Host>();
        let args: &[Value<'_>] = if count == 0 { &[] } else { std::slice::from_raw_parts(args.cast(), count) };
        let (status, value) = host.call_native(index, |ruby| Args::new(ruby, receiver, args, keywords, block));
        *result = value;
        status
    }
}

unsafe extern "C" fn release(host: *mut c_void, resource: usize) {
    // SAFETY: as above.
    let host = unsafe { &*host.cast::<Host>() };
    // Items dropped here run inside the collector: a panic must not leave it.
    let _ = catch_unwind(AssertUnwindSafe(|| host.release(resource)));
}

unsafe extern "C" fn fresh_id(host: *mut c_void, object: usize) -> i64 {
    // SAFETY: as above.
    unsafe { &*host.cast::<Host>() }.fresh_id(object)
}

unsafe extern "C" fn random(host: *mut c_void) -> u64 {
    // SAFETY: as above.
    unsafe { &*host.cast::<Host>() }.random_word()
}
