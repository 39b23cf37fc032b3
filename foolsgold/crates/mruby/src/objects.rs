//! Arrays, hashes, classes, variables, and objects that hold Rust values.

use crate::error::{Outcome, Raise};
use crate::name::Name;
use crate::ruby::Ruby;
use crate::sys::{self, Operation};
use crate::value::{Kind, UNDEFINED, Value};
use std::any::Any;
use std::rc::Rc;

/// A value that stays alive across entries: [`Ruby::keep`]. One kept before a snapshot survives a restore; one kept
/// after it is gone then.
#[derive(Clone, Copy, Debug)]
pub struct Kept(usize);

impl<'r> Ruby<'r> {
    // ---------------------------------------------------------------------------------------------- arrays

    /// An Array of these values.
    ///
    /// # Errors
    /// `NoMemoryError`.
    pub fn array(self, values: &[Value<'r>]) -> Outcome<'r> {
        self.operate(Operation::Array, |what| {
            (what.bytes, what.count) = (values.as_ptr().cast(), values.len());
        })
    }

    /// An empty Array with room for this many elements.
    ///
    /// # Errors
    /// `NoMemoryError`.
    pub fn array_with_capacity(self, capacity: usize) -> Outcome<'r> {
        self.operate(Operation::Array, |what| what.count = capacity)
    }

    /// How many elements an Array has; 0 if it is not an Array.
    #[must_use]
    pub fn array_len(self, array: Value<'r>) -> usize {
        self.elements(array).len()
    }

    /// The elements in place; callers copy what they need before Ruby runs.
    pub(crate) fn elements<'a>(self, array: Value<'r>) -> &'a [usize] {
        if array.kind() != Kind::Array {
            return &[];
        }
        let mut length = 0;
        // SAFETY: an Array that is alive; callers copy what they need before Ruby runs.
        unsafe {
            let elements = sys::fg_array(array.word(), &raw mut length);
            if length == 0 { &[] } else { std::slice::from_raw_parts(elements, length) }
        }
    }

    /// One element of an Array, or `nil`.
    ///
    /// # Errors
    /// `NoMemoryError`.
    pub fn array_get(self, array: Value<'r>, index: usize) -> Outcome<'r> {
        match self.elements(array).get(index) {
            Some(word) => self.alive(*word),
            None => Ok(Value::NIL),
        }
    }

    /// All elements of an Array.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn array_values(self, array: Value<'r>) -> Outcome<'r, Vec<Value<'r>>> {
        if array.kind() != Kind::Array {
            return Err(self.type_error(array, "Array"));
        }
        let words = self.elements(array).to_vec();
        // They stay while the Array does not change; the copies are protected one by one before Ruby runs.
        words.into_iter().map(|word| self.alive(word)).collect()
    }

    /// Appends to an Array.
    ///
    /// # Errors
    /// `TypeError`, `FrozenError`, `NoMemoryError`.
    pub fn array_push(self, array: Value<'r>, value: Value<'r>) -> Outcome<'r, ()> {
        self.operate(Operation::ArrayPush, |what| (what.a, what.b) = (array.word(), value.word()))?;
        Ok(())
    }

    /// Sets one element of an Array.
    ///
    /// # Errors
    /// `TypeError`, `FrozenError`, `NoMemoryError`.
    pub fn array_set(self, array: Value<'r>, index: usize, value: Value<'r>) -> Outcome<'r, ()> {
        self.operate(Operation::ArraySet, |what| {
            (what.a, what.b, what.count) = (array.word(), value.word(), index);
        })?;
        Ok(())
    }

    // ---------------------------------------------------------------------------------------------- hashes

    /// An empty Hash.
    ///
    /// # Errors
    /// `NoMemoryError`.
    pub fn hash(self) -> Outcome<'r> {
        self.hash_for(0)
    }

    /// An empty Hash with room for this many pairs; copies of it have that room too. With more than 16 pairs, this
    /// avoids rehashing all of them whenever the Hash outgrows its table.
    ///
    /// # Errors
    /// `NoMemoryError`.
    pub fn hash_for(self, pairs: usize) -> Outcome<'r> {
        self.operate(Operation::Hash, |what| what.count = pairs)
    }

    /// How many pairs a Hash has; 0 if it is not a Hash.
    #[must_use]
    pub fn hash_len(self, hash: Value<'r>) -> usize {
        // SAFETY: a Hash that is alive.
        if hash.kind() == Kind::Hash { unsafe { sys::fg_hash_size(self.fg(), hash.word()) } } else { 0 }
    }

    /// `hash[key]`, with the Hash's default.
    ///
    /// # Errors
    /// `TypeError`, or what a default or a key's own `eql?` raises.
    pub fn hash_get(self, hash: Value<'r>, key: Value<'r>) -> Outcome<'r> {
        self.operate(Operation::HashGet, |what| (what.a, what.b) = (hash.word(), key.word()))
    }

    /// The value of a key, if the Hash has it.
    ///
    /// # Errors
    /// `TypeError`, or what a key's own `eql?` raises.
    pub fn hash_fetch(self, hash: Value<'r>, key: Value<'r>) -> Outcome<'r, Option<Value<'r>>> {
        let value = self.operate(Operation::HashFetch, |what| (what.a, what.b) = (hash.word(), key.word()))?;
        Ok(Some(value).filter(|value| value.word() != UNDEFINED))
    }

    /// `hash[key] = value`
    ///
    /// # Errors
    /// `TypeError`, `FrozenError`, `NoMemoryError`, or what a key's own `eql?` raises.
    pub fn hash_set(self, hash: Value<'r>, key: Value<'r>, value: Value<'r>) -> Outcome<'r, ()> {
        self.operate(Operation::HashSet, |what| {
            (what.a, what.b, what.c) = (hash.word(), key.word(), value.word());
        })?;
        Ok(())
    }

    /// Removes a key and returns its value, or `nil`.
    ///
    /// # Errors
    /// `TypeError`, `FrozenError`, or what a key's own `eql?` raises.
    pub fn hash_delete(self, hash: Value<'r>, key: Value<'r>) -> Outcome<'r> {
        self.operate(Operation::HashDelete, |what| (what.a, what.b) = (hash.word(), key.word()))
    }

    /// A copy of a Hash.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn hash_dup(self, hash: Value<'r>) -> Outcome<'r> {
        self.operate(Operation::HashDup, |what| what.a = hash.word())
    }

    /// The keys and values of a Hash as they are now.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn hash_pairs(self, hash: Value<'r>) -> Outcome<'r, Vec<(Value<'r>, Value<'r>)>> {
        if hash.kind() != Kind::Hash {
            return Err(self.type_error(hash, "Hash"));
        }
        let mut words = vec![0_usize; self.hash_len(hash) * 2];
        // SAFETY: there is room for as many as the Hash has, and nothing runs in between.
        unsafe { sys::fg_hash_pairs(self.fg(), hash.word(), words.as_mut_ptr()) };
        let pairs = words.chunks_exact(2).map(|pair| Ok((self.alive(pair[0])?, self.alive(pair[1])?)));
        pairs.collect()
    }

    /// Walks over the pairs of a Hash as they are at the start.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`, and what the body returns.
    pub fn hash_each(
        self,
        hash: Value<'r>,
        mut body: impl FnMut(Value<'r>, Value<'r>) -> Outcome<'r, ()>,
    ) -> Outcome<'r, ()> {
        self.hash_pairs(hash)?.into_iter().try_for_each(|(key, value)| body(key, value))
    }

    // ---------------------------------------------------------------------------------------------- classes

    /// `Object`
    #[must_use]
    pub fn object_class(self) -> Value<'r> {
        // SAFETY: always there.
        Value::from_word(unsafe { sys::fg_object_class(self.fg()) })
    }

    /// `self` of the top level.
    #[must_use]
    pub fn top_self(self) -> Value<'r> {
        // SAFETY: always there.
        Value::from_word(unsafe { sys::fg_top_self(self.fg()) })
    }

    /// A class or module by its path: `"Rack::Utils"`.
    ///
    /// # Errors
    /// `NameError`
    pub fn class(self, path: &str) -> Outcome<'r> {
        path.split("::").try_fold(self.object_class(), |outer, name| self.const_get(outer, name))
    }

    /// The class of a value.
    #[must_use]
    pub fn class_of(self, value: Value<'r>) -> Value<'r> {
        // SAFETY: a value that is alive.
        Value::from_word(unsafe { sys::fg_class_of(self.fg(), value.word()) })
    }

    /// Defines a class at the top level, or finds it. Without a superclass (`nil`) it derives from `Object`.
    ///
    /// # Errors
    /// `TypeError` if it has another superclass, `NoMemoryError`.
    pub fn define_class(self, name: impl Name, superclass: Value<'r>) -> Outcome<'r> {
        self.define_class_under(Value::NIL, name, superclass)
    }

    /// Defines a class in a class or module, or finds it.
    ///
    /// # Errors
    /// `TypeError` if it has another superclass, `NoMemoryError`.
    pub fn define_class_under(self, outer: Value<'r>, name: impl Name, superclass: Value<'r>) -> Outcome<'r> {
        let name = name.symbol(self)?;
        self.operate(Operation::Class, |what| {
            (what.a, what.b, what.name) = (outer.word(), superclass.word(), name.0);
        })
    }

    /// Defines a module at the top level, or finds it.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn define_module(self, name: impl Name) -> Outcome<'r> {
        self.define_module_under(Value::NIL, name)
    }

    /// Defines a module in a class or module, or finds it.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn define_module_under(self, outer: Value<'r>, name: impl Name) -> Outcome<'r> {
        let name = name.symbol(self)?;
        self.operate(Operation::Module, |what| (what.a, what.name) = (outer.word(), name.0))
    }

    /// Whether a value is an instance of a class, or its class includes a module.
    ///
    /// # Errors
    /// `TypeError` if `class` is neither.
    pub fn is_a(self, value: Value<'r>, class: Value<'r>) -> Outcome<'r, bool> {
        let answer = self.operate(Operation::IsA, |what| (what.a, what.b) = (value.word(), class.word()))?;
        Ok(answer.truthy())
    }

    /// Whether a value has a method.
    ///
    /// # Errors
    /// What its own `respond_to_missing?` raises.
    pub fn respond_to(self, value: Value<'r>, name: impl Name) -> Outcome<'r, bool> {
        Ok(self.named(Operation::RespondTo, value, name, Value::NIL)?.truthy())
    }

    // ---------------------------------------------------------------------------------------------- variables

    fn named(self, operation: Operation, on: Value<'r>, name: impl Name, value: Value<'r>) -> Outcome<'r> {
        let name = name.symbol(self)?;
        self.operate(operation, |what| {
            (what.a, what.b, what.name) = (on.word(), value.word(), name.0);
        })
    }

    /// A constant of a class or module, or one visible from it.
    ///
    /// # Errors
    /// `NameError`, and what `const_missing` raises.
    pub fn const_get(self, outer: Value<'r>, name: impl Name) -> Outcome<'r> {
        self.named(Operation::ConstGet, outer, name, Value::NIL)
    }

    /// Whether a constant is defined in a class or module, or visible from it.
    ///
    /// # Errors
    /// `TypeError`
    pub fn const_defined(self, outer: Value<'r>, name: impl Name) -> Outcome<'r, bool> {
        Ok(self.named(Operation::ConstDefined, outer, name, Value::NIL)?.truthy())
    }

    /// Sets a constant.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn const_set(self, outer: Value<'r>, name: impl Name, value: Value<'r>) -> Outcome<'r, ()> {
        self.named(Operation::ConstSet, outer, name, value).map(drop)
    }

    /// An instance variable (`"@name"`), or `nil`. A name without `@` is invisible to Ruby code.
    ///
    /// # Errors
    /// `NoMemoryError`
    pub fn ivar_get(self, object: Value<'r>, name: impl Name) -> Outcome<'r> {
        self.named(Operation::IvarGet, object, name, Value::NIL)
    }

    /// Sets an instance variable.
    ///
    /// # Errors
    /// `FrozenError`, `ArgumentError` for an object that cannot have any, `NoMemoryError`.
    pub fn ivar_set(self, object: Value<'r>, name: impl Name, value: Value<'r>) -> Outcome<'r, ()> {
        self.named(Operation::IvarSet, object, name, value).map(drop)
    }

    /// A global variable (`"$name"`), or `nil`.
    ///
    /// # Errors
    /// `NoMemoryError`
    pub fn gvar_get(self, name: impl Name) -> Outcome<'r> {
        self.named(Operation::GvarGet, Value::NIL, name, Value::NIL)
    }

    /// Sets a global variable.
    ///
    /// # Errors
    /// `NoMemoryError`
    pub fn gvar_set(self, name: impl Name, value: Value<'r>) -> Outcome<'r, ()> {
        self.named(Operation::GvarSet, Value::NIL, name, value).map(drop)
    }

    /// Freezes an object, as `freeze` does.
    pub fn freeze(self, value: Value<'r>) -> Value<'r> {
        // SAFETY: an object that is alive.
        unsafe { sys::fg_set_frozen(value.word(), 1) };
        value
    }

    /// Whether it is frozen.
    #[must_use]
    pub fn is_frozen(self, value: Value<'r>) -> bool {
        // SAFETY: a value that is alive.
        unsafe { sys::fg_is_frozen(value.word()) != 0 }
    }

    // ---------------------------------------------------------------------------------------------- kept values,
    // resources

    /// Keeps a value alive for as long as the interpreter exists.
    ///
    /// # Errors
    /// `NoMemoryError`
    pub fn keep(self, value: Value<'r>) -> Outcome<'r, Kept> {
        let place = self.operate(Operation::Keep, |what| what.a = value.word())?;
        Ok(Kept(place.as_int().unwrap_or(0).cast_unsigned() as usize))
    }

    /// A value that was kept.
    #[must_use]
    pub fn kept(self, kept: Kept) -> Value<'r> {
        // SAFETY: one of the values that are never collected, or nil.
        Value::from_word(unsafe { sys::fg_kept(self.fg(), kept.0) })
    }

    /// An object that holds a Rust value until it is collected or the snapshot restored. From now on, every object of
    /// its class is of that kind. A value that a snapshot holds should be shared state: it is not restored.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn resource<T: 'static>(self, class: Value<'r>, item: T) -> Outcome<'r> {
        self.hold(Operation::Resource, class, Rc::new(item))
    }

    /// Gives a Rust value to an object that Ruby made (in its `initialize`). Its class must have been registered with
    /// [`Ruby::holds_resources`], and it must not hold a value already.
    ///
    /// # Errors
    /// `TypeError`, `NoMemoryError`.
    pub fn attach<T: 'static>(self, object: Value<'r>, item: T) -> Outcome<'r> {
        self.hold(Operation::Attach, object, Rc::new(item))
    }

    fn hold(self, operation: Operation, on: Value<'r>, item: Rc<dyn Any>) -> Outcome<'r> {
        let number = self.host().resources.borrow_mut().add(item);
        let made = self.operate(operation, |what| (what.a, what.count) = (on.word(), number));
        if made.is_err() {
            self.host().release(number);
        }
        made
    }

    /// Allows objects of this class, and of classes derived from it later, to hold a Rust value.
    ///
    /// # Errors
    /// `TypeError`
    pub fn holds_resources(self, class: Value<'r>) -> Outcome<'r, ()> {
        self.operate(Operation::HoldsResources, |what| what.a = class.word())?;
        Ok(())
    }

    /// The Rust value that an object holds.
    ///
    /// # Errors
    /// `TypeError` if it holds nothing or something else.
    pub fn get_resource<T: 'static>(self, object: Value<'r>) -> Outcome<'r, Rc<T>> {
        let number = if object.kind() == Kind::Resource {
            // SAFETY: an object that is alive.
            unsafe { sys::fg_resource_of(object.word()) }
        } else {
            0
        };
        let item = self.host().resources.borrow().get(number);
        item.and_then(|item| item.downcast().ok()).ok_or_else(|| {
            Raise::new("TypeError", format!("this {} does not hold what is needed", self.class_name(object)))
        })
    }
}
