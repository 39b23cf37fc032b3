//! Rust functions that Ruby calls.
//!
//! A native is any `Fn(Ruby, Args) -> Outcome`: a function, or a closure that owns what it needs. It returns a value or
//! a [`Raise`]; a panic in it becomes a `RuntimeError`, and the interpreter cannot be used until it is restored.

use crate::error::{Outcome, Raise};
use crate::name::Name;
use crate::ruby::{Bytes, Ruby};
use crate::sys::Operation;
use crate::value::{UNDEFINED, Value};
use std::ops::RangeBounds;
use std::rc::Rc;

pub(crate) type NativeFn = dyn for<'r> Fn(Ruby<'r>, Args<'r>) -> Outcome<'r>;

/// What a native was called with.
#[derive(Clone, Copy, Debug)]
pub struct Args<'r> {
    ruby: Ruby<'r>,
    receiver: Value<'r>,
    positional: &'r [Value<'r>],
    keywords: Option<Value<'r>>,
    block: Option<Value<'r>>,
}

impl<'r> Args<'r> {
    pub(crate) fn new(
        ruby: Ruby<'r>,
        receiver: usize,
        positional: &'r [Value<'r>],
        keywords: usize,
        block: usize,
    ) -> Args<'r> {
        let block = Some(Value::from_word(block)).filter(|block| !block.is_nil());
        let keywords = (keywords != UNDEFINED).then(|| Value::from_word(keywords));
        Args { ruby, receiver: Value::from_word(receiver), positional, keywords, block }
    }

    /// `self`
    #[must_use]
    pub fn self_value(&self) -> Value<'r> {
        self.receiver
    }

    /// How many positional arguments there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.positional.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.positional.is_empty()
    }

    /// All positional arguments.
    #[must_use]
    pub fn all(&self) -> &'r [Value<'r>] {
        self.positional
    }

    /// One of them, or `nil`.
    #[must_use]
    pub fn get(&self, index: usize) -> Value<'r> {
        self.positional.get(index).copied().unwrap_or(Value::NIL)
    }

    /// The Hash of keyword arguments (`name: value` in the call), if there were any.
    #[must_use]
    pub fn keywords(&self) -> Option<Value<'r>> {
        self.keywords
    }

    /// One keyword argument.
    ///
    /// # Errors
    /// If memory runs short.
    pub fn keyword(&self, name: impl Name) -> Outcome<'r, Option<Value<'r>>> {
        let Some(keywords) = self.keywords else { return Ok(None) };
        let name = name.symbol(self.ruby)?;
        self.ruby.hash_fetch(keywords, name.value())
    }

    /// The block, a Proc.
    #[must_use]
    pub fn block(&self) -> Option<Value<'r>> {
        self.block
    }

    /// The block, for a method that requires one.
    ///
    /// # Errors
    /// `ArgumentError` without one.
    pub fn required_block(&self) -> Outcome<'r> {
        self.block.ok_or_else(|| Raise::new("ArgumentError", "no block given"))
    }

    /// Checks how many positional arguments there are: `args.expect(1..=2)?`.
    ///
    /// # Errors
    /// `ArgumentError` with Ruby's message.
    pub fn expect(&self, counts: impl RangeBounds<usize>) -> Outcome<'r, ()> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let given = self.len();
        if counts.contains(&given) {
            return Ok(());
        }
        let least = match counts.start_bound() {
            Included(least) => *least,
            Excluded(below) => below + 1,
            Unbounded => 0,
        };
        let most = match counts.end_bound() {
            Included(most) => Some(*most),
            Excluded(above) => Some(above.saturating_sub(1)),
            Unbounded => None,
        };
        let expected = match most {
            Some(most) if most == least => least.to_string(),
            Some(most) => format!("{least}..{most}"),
            None => format!("{least}+"),
        };
        Err(Raise::new("ArgumentError", format!("wrong number of arguments (given {given}, expected {expected})")))
    }

    /// A required argument.
    ///
    /// # Errors
    /// `ArgumentError` if it is missing.
    pub fn required(&self, index: usize) -> Outcome<'r> {
        let given = self.len();
        self.positional.get(index).copied().ok_or_else(|| {
            let expected = index + 1;
            Raise::new("ArgumentError", format!("wrong number of arguments (given {given}, expected {expected}+)"))
        })
    }

    /// The bytes of an argument that must be a String.
    ///
    /// # Errors
    /// `ArgumentError`, `TypeError`.
    pub fn bytes(&self, index: usize) -> Outcome<'r, Bytes<'r>> {
        self.ruby.bytes(self.required(index)?)
    }

    /// An argument that must be a String, as text; invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// `ArgumentError`, `TypeError`.
    pub fn string(&self, index: usize) -> Outcome<'r, String> {
        self.ruby.string(self.required(index)?)
    }

    /// An argument that must be an Integer.
    ///
    /// # Errors
    /// `ArgumentError`, `TypeError`.
    pub fn int(&self, index: usize) -> Outcome<'r, i64> {
        let value = self.required(index)?;
        value.as_int().ok_or_else(|| self.ruby.type_error(value, "Integer"))
    }
}

impl<'r> Ruby<'r> {
    fn add_native(self, native: Rc<NativeFn>) -> usize {
        let mut natives = self.host().natives.borrow_mut();
        natives.push(native);
        natives.len() - 1
    }

    /// Defines a method of a class or module.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn define_method(
        self,
        class: Value<'r>,
        name: impl Name,
        native: impl for<'a> Fn(Ruby<'a>, Args<'a>) -> Outcome<'a> + 'static,
    ) -> Outcome<'r, ()> {
        self.define(Operation::Method, class, name, Rc::new(native))
    }

    /// Defines a method of one object, as `def self.name` does of a class.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn define_singleton_method(
        self,
        object: Value<'r>,
        name: impl Name,
        native: impl for<'a> Fn(Ruby<'a>, Args<'a>) -> Outcome<'a> + 'static,
    ) -> Outcome<'r, ()> {
        self.define(Operation::SingletonMethod, object, name, Rc::new(native))
    }

    fn define(self, operation: Operation, on: Value<'r>, name: impl Name, native: Rc<NativeFn>) -> Outcome<'r, ()> {
        let name = name.symbol(self)?;
        let index = self.add_native(native);
        self.operate(operation, |what| {
            (what.a, what.name, what.count) = (on.word(), name.0, index);
        })?;
        Ok(())
    }

    /// A Proc that runs a native.
    ///
    /// # Errors
    /// `NoMemoryError`.
    pub fn proc(self, native: impl for<'a> Fn(Ruby<'a>, Args<'a>) -> Outcome<'a> + 'static) -> Outcome<'r> {
        let index = self.add_native(Rc::new(native));
        self.operate(Operation::Proc, |what| what.count = index)
    }
}
