//! Calls that transfer a whole request or answer at once.

use crate::error::Outcome;
use crate::ruby::{Ruby, raw_bytes};
use crate::sys;
use crate::value::{Kind, Value};
use std::any::Any;
use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::slice;

/// A key and its value for [`Ruby::hash_dup_with`].
#[repr(transparent)]
pub struct Field<'a, 'r>(sys::RawField, PhantomData<(&'a [u8], Value<'r>)>);

impl<'a, 'r> Field<'a, 'r> {
    /// The value is a String of these bytes.
    #[must_use]
    pub fn bytes(key: Value<'r>, bytes: &'a [u8]) -> Field<'a, 'r> {
        // A slice's pointer is never null, which is how C tells the two apart.
        Field(sys::RawField { key: key.word(), bytes: bytes.as_ptr().cast(), rest: bytes.len() }, PhantomData)
    }

    /// The value is a Ruby value.
    #[must_use]
    pub fn value(key: Value<'r>, value: Value<'r>) -> Field<'a, 'r> {
        Field(sys::RawField { key: key.word(), bytes: std::ptr::null(), rest: value.word() }, PhantomData)
    }
}

impl<'r> Ruby<'r> {
    /// A copy of a Hash with more pairs: Rack's environment from a template. Keys that are frozen Strings are not
    /// copied.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn hash_dup_with(self, template: Value<'r>, fields: &[Field<'_, 'r>]) -> Outcome<'r> {
        self.check_quiet();
        let mut result = 0;
        // SAFETY: a `Field` is a `RawField`; values and bytes are alive for the call.
        let status = unsafe {
            let (first, count) = (fields.as_ptr().cast(), fields.len());
            sys::fg_hash_dup_with(self.fg(), template.word(), first, count, &raw mut result)
        };
        self.outcome(status, result)
    }

    /// Walks over a Hash of Strings: `each` gets key and value, and is called once for each String if a value is an
    /// Array. False if anything else was found; `each` was then still called for what came before it.
    ///
    /// # Errors
    /// `TypeError` if it is not a Hash.
    ///
    /// # Panics
    /// If `each` calls Ruby, or panics itself.
    pub fn hash_strings(self, hash: Value<'r>, mut each: impl FnMut(&[u8], &[u8])) -> Outcome<'r, bool> {
        if hash.kind() != Kind::Hash {
            return Err(self.type_error(hash, "Hash"));
        }
        let mut walk = Walk { each: &mut each, panic: None };
        let quiet = self.host().quiet.replace(true);
        // SAFETY: the walk is alive for the call; nothing in it runs Ruby, and a panic is caught before it reaches C.
        let all = unsafe { sys::fg_hash_strings(self.fg(), hash.word(), pair, (&raw mut walk).cast()) };
        self.host().quiet.set(quiet);
        if let Some(payload) = walk.panic {
            resume_unwind(payload);
        }
        Ok(all == 1)
    }

    /// Walks over an Array of Strings. False if anything else was found.
    ///
    /// # Errors
    /// `TypeError` if it is not an Array.
    ///
    /// # Panics
    /// If `each` calls Ruby.
    pub fn array_strings(self, array: Value<'r>, mut each: impl FnMut(&[u8])) -> Outcome<'r, bool> {
        if array.kind() != Kind::Array {
            return Err(self.type_error(array, "Array"));
        }
        let quiet = Quiet::new(self);
        for word in self.elements(array) {
            let element: Value<'r> = Value::from_word(*word);
            if element.kind() != Kind::String {
                return Ok(false);
            }
            // SAFETY: an element of an Array that cannot change while Ruby does not run.
            each(unsafe { raw_bytes(*word) });
        }
        drop(quiet);
        Ok(true)
    }

    /// The bytes of a String for as long as a closure runs, which must not call Ruby; cheaper than [`Ruby::bytes`].
    ///
    /// # Errors
    /// `TypeError` if it is not a String.
    ///
    /// # Panics
    /// If `body` calls Ruby.
    pub fn with_bytes<T>(self, string: Value<'r>, body: impl FnOnce(&[u8]) -> T) -> Outcome<'r, T> {
        if string.kind() != Kind::String {
            return Err(self.type_error(string, "String"));
        }
        let _quiet = Quiet::new(self);
        // SAFETY: a String that cannot change while Ruby does not run.
        Ok(body(unsafe { raw_bytes(string.word()) }))
    }
}

/// Ruby must not be called while this exists.
struct Quiet<'r>(Ruby<'r>, bool);

impl<'r> Quiet<'r> {
    fn new(ruby: Ruby<'r>) -> Quiet<'r> {
        Quiet(ruby, ruby.host().quiet.replace(true))
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        self.0.host().quiet.set(self.1);
    }
}

struct Walk<'a> {
    each: &'a mut dyn FnMut(&[u8], &[u8]),
    panic: Option<Box<dyn Any + Send>>,
}

unsafe extern "C" fn pair(
    walk: *mut c_void,
    key: *const c_char,
    key_length: usize,
    value: *const c_char,
    value_length: usize,
) -> c_int {
    // SAFETY: C returns the walk that it was given, and bytes that stay valid for the call.
    let (walk, key, value) = unsafe {
        let walk = &mut *walk.cast::<Walk<'_>>();
        (walk, slice::from_raw_parts(key.cast(), key_length), slice::from_raw_parts(value.cast(), value_length))
    };
    match catch_unwind(AssertUnwindSafe(|| (walk.each)(key, value))) {
        Ok(()) => 0,
        Err(payload) => {
            walk.panic = Some(payload);
            1
        }
    }
}
