//! The declarations of native/*.c. Nothing here is safe by itself; the rules are in native/fg.h.

use std::ffi::{c_char, c_int, c_void};

/// One interpreter with its surrounding state.
#[repr(C)]
pub struct Fg {
    private: [u8; 0],
}

/// The results of a protected call.
pub const OK: c_int = 0;
pub const RAISED: c_int = 1;
pub const STOPPED: c_int = 2;

/// The number of size classes, as in native/fg.h.
pub const CLASSES: usize = 124;

/// The head of an arena, at the start of its region.
#[repr(C)]
pub struct Arena {
    pub top: *mut u8,
    pub peak: *mut u8,
    pub soft: *mut u8,
    pub limit: *mut u8,
    pub end: *mut u8,
    pub keep: *mut u8,
    pub used: usize,
    pub used_peak: usize,
    pub mrb: *mut c_void,
    pub stress: u64,
    pub free: [*mut c_void; CLASSES],
}

/// The Rust functions that C calls.
#[repr(C)]
pub struct Callbacks {
    pub native: unsafe extern "C" fn(
        host: *mut c_void,
        index: u32,
        receiver: usize,
        args: *const usize,
        count: usize,
        keywords: usize,
        block: usize,
        result: *mut usize,
    ) -> c_int,
    pub release: unsafe extern "C" fn(host: *mut c_void, resource: usize),
    pub fresh_id: unsafe extern "C" fn(host: *mut c_void, object: usize) -> i64,
    pub random: unsafe extern "C" fn(host: *mut c_void) -> u64,
}

/// The operations of `fg_do`, in the order of native/values.c.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    String,
    Float,
    Int,
    Array,
    ArrayPush,
    ArraySet,
    Hash,
    HashGet,
    HashFetch,
    HashSet,
    HashDelete,
    HashDup,
    Send,
    Yield,
    Class,
    Module,
    Method,
    SingletonMethod,
    Proc,
    ConstGet,
    ConstSet,
    ConstDefined,
    IvarGet,
    IvarSet,
    GvarGet,
    GvarSet,
    IsA,
    RespondTo,
    ClassName,
    Inspect,
    ToS,
    Resource,
    Attach,
    HoldsResources,
    Keep,
    Exception,
    Backtrace,
    Message,
    Intern,
    StringAppend,
}

/// One operation with its operands.
#[repr(C)]
pub struct Do {
    pub operation: Operation,
    pub name: u32,
    pub a: usize,
    pub b: usize,
    pub c: usize,
    pub bytes: *const c_void,
    pub count: usize,
}

/// A text or bytecode.
#[repr(C)]
pub struct Source {
    pub text: *const c_char,
    pub length: usize,
    pub file: *const c_char,
    pub line: u32,
    pub bytecode: *mut u8,
    pub size: usize,
    pub stays: c_int,
}

/// A key and its value for `fg_hash_dup_with`.
#[repr(C)]
pub struct RawField {
    pub key: usize,
    pub bytes: *const c_char,
    pub rest: usize,
}

pub type Pair = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int;

unsafe extern "C" {
    pub fn fg_open(
        region: *mut c_void,
        size: usize,
        limit: usize,
        stack_limit: *const c_char,
        host: *mut c_void,
        callbacks: *const Callbacks,
    ) -> *mut Fg;
    pub fn fg_close(s: *mut Fg);
    pub fn fg_catch_stops() -> c_int;
    pub fn fg_stop(s: *mut Fg);
    pub fn fg_clear_stop(s: *mut Fg);
    pub fn fg_is_stopped(s: *const Fg) -> c_int;
    pub fn fg_was_interrupted(s: *mut Fg) -> c_int;
    pub fn fg_forget_interruption(s: *mut Fg);
    pub fn fg_arena_level(s: *mut Fg) -> c_int;
    pub fn fg_arena_back_to(s: *mut Fg, level: c_int);
    pub fn fg_is_idle(s: *mut Fg) -> c_int;
    pub fn fg_set_gc(s: *mut Fg, on: c_int);
    pub fn fg_gc_is_on(s: *mut Fg) -> c_int;
    pub fn fg_random_of(s: *mut Fg) -> *mut u32;
    pub fn fg_randomise(s: *mut Fg);
    pub fn fg_set_born(s: *mut Fg, born: *const u64, bits: usize);
    pub fn fg_mark_born(s: *mut Fg, born: *mut u64) -> c_int;
    pub fn fg_full_gc(s: *mut Fg) -> c_int;
    pub fn fg_set_apart(s: *mut Fg) -> c_int;

    pub fn fg_do(s: *mut Fg, what: *mut Do, result: *mut usize) -> c_int;
    pub fn fg_keep_alive(s: *mut Fg, value: usize) -> c_int;
    pub fn fg_type(value: usize) -> u32;
    pub fn fg_float(value: usize) -> f64;
    pub fn fg_integer(value: usize) -> i64;
    pub fn fg_string(string: usize, length: *mut usize) -> *const c_char;
    pub fn fg_array(array: usize, length: *mut usize) -> *const usize;
    pub fn fg_hash_size(s: *mut Fg, hash: usize) -> usize;
    pub fn fg_is_frozen(value: usize) -> c_int;
    pub fn fg_set_frozen(value: usize, on: c_int);
    pub fn fg_intern_check(s: *mut Fg, name: *const c_char, length: usize) -> u32;
    pub fn fg_symbol(s: *mut Fg, name: u32, length: *mut usize) -> *const c_char;
    pub fn fg_object_class(s: *mut Fg) -> usize;
    pub fn fg_top_self(s: *mut Fg) -> usize;
    pub fn fg_class_of(s: *mut Fg, value: usize) -> usize;
    pub fn fg_no_memory(s: *mut Fg) -> usize;
    pub fn fg_forget_traces(s: *mut Fg);
    pub fn fg_resource_of(value: usize) -> usize;
    pub fn fg_kept(s: *mut Fg, place: usize) -> usize;

    pub fn fg_hash_dup_with(
        s: *mut Fg,
        hash: usize,
        fields: *const RawField,
        count: usize,
        result: *mut usize,
    ) -> c_int;
    pub fn fg_hash_strings(s: *mut Fg, hash: usize, each: Pair, data: *mut c_void) -> c_int;
    pub fn fg_hash_pairs(s: *mut Fg, hash: usize, into: *mut usize);

    pub fn fg_eval(s: *mut Fg, source: *mut Source, result: *mut usize) -> c_int;
    pub fn fg_compile(s: *mut Fg, source: *mut Source, result: *mut usize) -> c_int;
    pub fn fg_free_bytecode(s: *mut Fg, source: *mut Source);
    pub fn fg_load(s: *mut Fg, source: *mut Source, result: *mut usize) -> c_int;

    #[cfg(mruby_sanitize)]
    pub fn fg_misuse(mrb: *mut c_void) -> c_int;
}
