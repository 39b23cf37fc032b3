//! Ruby values as one word each. native/shim.c asserts the representation.

use crate::sys;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

/// Makes a lifetime identify one entry into one interpreter, so that values of different ones cannot be mixed.
pub(crate) type Brand<'r> = PhantomData<Cell<&'r ()>>;

/// A Ruby value. It stays alive until the `enter`, native or `scope` ends in which Rust received it.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Value<'r>(usize, Brand<'r>);

/// The kind of a value, as far as Rust must distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `nil`
    Nil,
    /// `false`
    False,
    /// `true`
    True,
    /// An Integer.
    Integer,
    /// A Float.
    Float,
    /// A Symbol.
    Symbol,
    /// A String.
    String,
    /// An Array.
    Array,
    /// A Hash.
    Hash,
    /// A Proc.
    Proc,
    /// A class.
    Class,
    /// A module.
    Module,
    /// An exception.
    Exception,
    /// A Range.
    Range,
    /// An object that may hold a Rust value ([`Ruby::get_resource`](crate::Ruby::get_resource)).
    Resource,
    /// Any other object.
    Object,
}

const NIL: usize = 0;
const FALSE: usize = 4;
const TRUE: usize = 12;
pub(crate) const UNDEFINED: usize = 20;

impl<'r> Value<'r> {
    /// `nil`
    pub const NIL: Value<'r> = Value(NIL, PhantomData);
    /// `true`
    pub const TRUE: Value<'r> = Value(TRUE, PhantomData);
    /// `false`
    pub const FALSE: Value<'r> = Value(FALSE, PhantomData);

    /// `true` or `false`.
    #[must_use]
    pub fn from_bool(value: bool) -> Value<'r> {
        Value(if value { TRUE } else { FALSE }, PhantomData)
    }

    /// An Integer that fits into a word (63 bits); others need memory: [`Ruby::int`](crate::Ruby::int).
    #[must_use]
    pub fn from_small_int(value: i32) -> Value<'r> {
        Value(small(i64::from(value)), PhantomData)
    }

    pub(crate) fn from_word(word: usize) -> Value<'r> {
        Value(word, PhantomData)
    }

    /// An Integer of up to 63 bits.
    pub(crate) fn try_small_int(value: i64) -> Option<Value<'r>> {
        let fits = (-(1 << 62)..1 << 62).contains(&value);
        fits.then(|| Value(small(value), PhantomData))
    }

    pub(crate) fn word(self) -> usize {
        self.0
    }

    fn is_object(self) -> bool {
        self.0 != NIL && self.0 & 7 == 0
    }

    /// The kind of the value.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.0 {
            NIL => return Kind::Nil,
            FALSE => return Kind::False,
            TRUE => return Kind::True,
            word if word & 1 == 1 => return Kind::Integer,
            word if word & 3 == 2 => return Kind::Symbol,
            _ => {}
        }
        if !self.is_object() {
            return Kind::Object;
        }
        match self.type_tag() {
            5 => Kind::Float,
            6 => Kind::Integer,
            9 | 12 => Kind::Class,
            10 => Kind::Module,
            13 => Kind::Proc,
            14 => Kind::Array,
            15 => Kind::Hash,
            16 => Kind::String,
            17 => Kind::Range,
            18 => Kind::Exception,
            20 => Kind::Resource,
            _ => Kind::Object,
        }
    }

    fn type_tag(self) -> u32 {
        // SAFETY: the word is that of a value that is alive.
        unsafe { sys::fg_type(self.0) }
    }

    /// A `break` on its way out of a block, which must not be used as a value.
    pub(crate) fn is_break(self) -> bool {
        self.is_object() && self.type_tag() == 24
    }

    /// True for everything except `nil` and `false`.
    #[must_use]
    pub fn truthy(self) -> bool {
        self.0 & !FALSE != 0
    }

    /// Whether it is `nil`.
    #[must_use]
    pub fn is_nil(self) -> bool {
        self.0 == NIL
    }

    /// The number, if it is an Integer.
    #[must_use]
    pub fn as_int(self) -> Option<i64> {
        if self.0 & 1 == 1 {
            return Some((self.0.cast_signed() >> 1) as i64);
        }
        // SAFETY: an Integer object that is alive.
        (self.kind() == Kind::Integer).then(|| unsafe { sys::fg_integer(self.0) })
    }

    /// The number, if it is a Float.
    #[must_use]
    pub fn as_float(self) -> Option<f64> {
        // SAFETY: a Float object that is alive.
        (self.kind() == Kind::Float).then(|| unsafe { sys::fg_float(self.0) })
    }
}

fn small(value: i64) -> usize {
    ((value << 1) | 1).cast_unsigned() as usize
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({:#x})", self.kind(), self.0)
    }
}
