//! The interpreter as seen from inside an entry or a native.

use crate::error::{Error, Exception, Outcome, Raise, Reason};
use crate::host::Host;
use crate::name::Name;
use crate::sys::{self, Operation};
use crate::value::{Brand, Kind, Value};
use std::any::{Any, TypeId};
use std::ffi::c_int;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::Rc;

/// The interpreter, for as long as an entry or a native lasts.
#[derive(Clone, Copy)]
pub struct Ruby<'r> {
    host: &'r Host,
    brand: Brand<'r>,
}

impl fmt::Debug for Ruby<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ruby")
    }
}

/// Extra memory for describing an exception: memory may have run short.
const TO_TELL: usize = 256 * 1024;
/// At most this many causes are described; a loop that wraps what it rescues makes an endless chain.
const CAUSES: usize = 16;

impl<'r> Ruby<'r> {
    pub(crate) fn new(host: &'r Host) -> Ruby<'r> {
        Ruby { host, brand: PhantomData }
    }

    pub(crate) fn host(self) -> &'r Host {
        self.host
    }

    pub(crate) fn fg(self) -> *mut sys::Fg {
        self.host.fg.get()
    }

    /// The result of a protected call.
    pub(crate) fn outcome(self, status: c_int, result: usize) -> Outcome<'r> {
        match status {
            sys::OK => Ok(Value::from_word(result)),
            sys::RAISED => Err(Raise(Reason::Exception(Value::from_word(result)))),
            _ => Err(Raise(Reason::Stopped)),
        }
    }

    /// One operation of native/values.c.
    pub(crate) fn operate(self, operation: Operation, fill: impl FnOnce(&mut sys::Do)) -> Outcome<'r> {
        self.check_quiet();
        let mut what = sys::Do { operation, name: 0, a: 0, b: 0, c: 0, bytes: std::ptr::null(), count: 0 };
        fill(&mut what);
        let mut result = 0;
        // SAFETY: its values and bytes are alive for the call; exceptions stay inside.
        let status = unsafe { sys::fg_do(self.fg(), &raw mut what, &raw mut result) };
        self.outcome(status, result)
    }

    /// # Panics
    /// If Rust is borrowing bytes of the heap: see `hash_strings`.
    pub(crate) fn check_quiet(self) {
        assert!(!self.host.quiet.get(), "Ruby was called from within a walk over its strings");
    }

    /// Makes sure that a value from inside another one stays alive.
    pub(crate) fn alive(self, word: usize) -> Outcome<'r> {
        // SAFETY: the value is alive now.
        if unsafe { sys::fg_keep_alive(self.fg(), word) } == 0 {
            // SAFETY: an object that always exists.
            return Err(Raise(Reason::Exception(Value::from_word(unsafe { sys::fg_no_memory(self.fg()) }))));
        }
        Ok(Value::from_word(word))
    }

    // ---------------------------------------------------------------------------------------------- calling

    /// Checks whether the run goes on: a native that works for long calls this now and then, so that it returns when it
    /// is stopped.
    ///
    /// # Errors
    /// If the run was stopped; pass it on.
    pub fn check(self) -> Outcome<'r, ()> {
        // SAFETY: reads a flag; the interpreter is alive.
        let stopped = unsafe { sys::fg_is_stopped(self.host.fg.get()) } != 0;
        if stopped { Err(Raise(Reason::Stopped)) } else { Ok(()) }
    }

    /// Calls a method. Arguments are positional; a Hash at the end is not treated as keywords.
    ///
    /// # Errors
    /// What it raises.
    pub fn send(self, receiver: Value<'r>, name: impl Name, args: &[Value<'r>]) -> Outcome<'r> {
        self.send_with_block(receiver, name, args, Value::NIL)
    }

    /// Calls a method with a Proc as its block.
    ///
    /// # Errors
    /// What it raises.
    pub fn send_with_block(
        self,
        receiver: Value<'r>,
        name: impl Name,
        args: &[Value<'r>],
        block: Value<'r>,
    ) -> Outcome<'r> {
        let name = name.symbol(self)?;
        self.operate(Operation::Send, |what| {
            (what.a, what.b, what.name) = (receiver.word(), block.word(), name.0);
            (what.bytes, what.count) = (args.as_ptr().cast(), args.len());
        })
    }

    /// Calls a block or another Proc, as `yield` does. In a block called from a native, mruby treats `return` as
    /// `next`, and cannot `throw` past it: methods that yield are better written in Ruby around natives that do not.
    ///
    /// # Errors
    /// What it raises; a `break` in it also arrives this way: pass it on.
    pub fn yield_block(self, block: Value<'r>, args: &[Value<'r>]) -> Outcome<'r> {
        self.operate(Operation::Yield, |what| {
            (what.a, what.bytes, what.count) = (block.word(), args.as_ptr().cast(), args.len());
        })
    }

    /// Releases everything created in the body except its result: for loops that create many values.
    ///
    /// # Errors
    /// What the body raises.
    pub fn scope(self, body: impl for<'s> FnOnce(Ruby<'s>) -> Outcome<'s>) -> Outcome<'r> {
        // SAFETY: reads and sets a count; the result is protected again right after.
        let level = unsafe { sys::fg_arena_level(self.fg()) };
        let result = body(Ruby::new(self.host));
        // SAFETY: as above.
        unsafe { sys::fg_arena_back_to(self.fg(), level) };
        match result {
            Ok(value) => self.alive(value.word()),
            Err(Raise(Reason::Exception(value))) => Err(Raise(Reason::Exception(self.alive(value.word())?))),
            Err(Raise(Reason::New(class, message))) => Err(Raise(Reason::New(class, message))),
            Err(Raise(Reason::Stopped)) => Err(Raise(Reason::Stopped)),
        }
    }

    // ---------------------------------------------------------------------------------------------- strings

    /// A String of these bytes.
    ///
    /// # Errors
    /// `NoMemoryError`.
    pub fn str(self, bytes: impl AsRef<[u8]>) -> Outcome<'r> {
        let bytes = bytes.as_ref();
        self.operate(Operation::String, |what| {
            (what.bytes, what.count) = (bytes.as_ptr().cast(), bytes.len());
        })
    }

    /// Appends bytes to a String.
    ///
    /// # Errors
    /// `TypeError`, `FrozenError`, `NoMemoryError`.
    pub fn str_append(self, string: Value<'r>, bytes: impl AsRef<[u8]>) -> Outcome<'r, ()> {
        let bytes = bytes.as_ref();
        self.operate(Operation::StringAppend, |what| {
            (what.a, what.bytes, what.count) = (string.word(), bytes.as_ptr().cast(), bytes.len());
        })?;
        Ok(())
    }

    /// The bytes of a String in place; it is locked against changes until they are dropped.
    ///
    /// # Errors
    /// `TypeError` if it is not a String.
    pub fn bytes(self, string: Value<'r>) -> Outcome<'r, Bytes<'r>> {
        if string.kind() != Kind::String {
            return Err(self.type_error(string, "String"));
        }
        Ok(Bytes::lock(self, string.word()))
    }

    /// A copy of the bytes of a String.
    ///
    /// # Errors
    /// `TypeError` if it is not a String.
    pub fn to_vec(self, string: Value<'r>) -> Outcome<'r, Vec<u8>> {
        if string.kind() != Kind::String {
            return Err(self.type_error(string, "String"));
        }
        // SAFETY: nothing runs between here and the copy.
        Ok(unsafe { raw_bytes(string.word()) }.to_vec())
    }

    /// The text of a String; invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// `TypeError` if it is not a String.
    pub fn string(self, string: Value<'r>) -> Outcome<'r, String> {
        let bytes = self.to_vec(string)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    pub(crate) fn type_error(self, value: Value<'r>, wanted: &str) -> Raise<'r> {
        let class = self.class_name(value);
        Raise::new("TypeError", format!("no implicit conversion of {class} into {wanted}"))
    }

    /// The name of a value's class.
    #[must_use]
    pub fn class_name(self, value: Value<'r>) -> String {
        let name = self.operate(Operation::ClassName, |what| what.a = value.word());
        name.and_then(|name| self.string(name)).unwrap_or_else(|_| "?".to_owned())
    }

    /// What `inspect` returns.
    ///
    /// # Errors
    /// What it raises.
    pub fn inspect(self, value: Value<'r>) -> Outcome<'r, String> {
        self.string(self.operate(Operation::Inspect, |what| what.a = value.word())?)
    }

    /// What `to_s` returns, always a String.
    ///
    /// # Errors
    /// What it raises.
    pub fn to_s(self, value: Value<'r>) -> Outcome<'r> {
        self.operate(Operation::ToS, |what| what.a = value.word())
    }

    // ---------------------------------------------------------------------------------------------- numbers

    /// An Integer.
    ///
    /// # Errors
    /// `NoMemoryError`, for values that need 64 bits.
    pub fn int(self, value: i64) -> Outcome<'r> {
        match Value::try_small_int(value) {
            Some(small) => Ok(small),
            None => self.operate(Operation::Int, |what| what.count = value.cast_unsigned() as usize),
        }
    }

    /// A Float.
    ///
    /// # Errors
    /// `NoMemoryError`.
    pub fn float(self, value: f64) -> Outcome<'r> {
        self.operate(Operation::Float, |what| what.bytes = (&raw const value).cast())
    }

    /// A Symbol.
    ///
    /// # Errors
    /// `NoMemoryError`.
    pub fn symbol(self, name: impl Name) -> Outcome<'r> {
        Ok(name.symbol(self)?.value())
    }

    // ---------------------------------------------------------------------------------------------- exceptions

    /// An exception object of the class with this name.
    pub(crate) fn make_exception(self, class: &str, message: &str) -> Outcome<'r> {
        let class = self.class(class).or_else(|_| self.class("RuntimeError"))?;
        self.operate(Operation::Exception, |what| {
            (what.a, what.bytes, what.count) = (class.word(), message.as_ptr().cast(), message.len());
        })
    }

    /// Describes an exception, with its causes. Its `message` method is called; if that fails, its own message is used.
    #[must_use]
    pub fn describe(self, exception: Value<'r>) -> Exception {
        self.describe_with_causes(exception, CAUSES)
    }

    fn describe_with_causes(self, exception: Value<'r>, causes: usize) -> Exception {
        let class = self.class_name(exception);
        let asked = self.send(exception, "message", &[]).and_then(|message| self.string(message));
        let own =
            || self.operate(Operation::Message, |what| what.a = exception.word()).and_then(|own| self.string(own));
        let message = asked.or_else(|_| own()).unwrap_or_else(|_| class.clone());
        let trace = self.operate(Operation::Backtrace, |what| what.a = exception.word());
        let backtrace = match trace {
            Ok(lines) if lines.kind() == Kind::Array => self.strings(lines),
            _ => Vec::new(),
        };
        let cause = self.ivar_get(exception, "cause").ok().filter(|cause| causes > 0 && !cause.is_nil());
        let cause = cause.map(|cause| Box::new(self.describe_with_causes(cause, causes - 1)));
        Exception { class, message, backtrace, cause }
    }

    fn strings(self, array: Value<'r>) -> Vec<String> {
        let all = (0..self.array_len(array)).map(|index| self.string(self.array_get(array, index)?));
        all.filter_map(Result::ok).collect()
    }

    /// The error that the caller of an entry gets.
    pub(crate) fn error(self, raise: Raise<'r>) -> Error {
        let exception = match raise.0 {
            Reason::Stopped => return Error::Stopped,
            Reason::Exception(value) if value.is_break() => {
                let (class, message) = ("LocalJumpError".to_owned(), "break from proc-closure".to_owned());
                return Error::Raised(Exception { class, message, ..Exception::default() });
            }
            Reason::Exception(value) => value,
            Reason::New(class, message) => match self.make_exception(&class, &message) {
                Ok(value) => value,
                Err(_) => {
                    return Error::Raised(Exception { class: class.into_owned(), message, ..Exception::default() });
                }
            },
        };
        self.with_more_memory(|| {
            let no_memory = self.class("NoMemoryError").and_then(|class| self.is_a(exception, class));
            match no_memory {
                Ok(false) => Error::Raised(self.describe(exception)),
                Err(raise) if raise.is_stop() => Error::Stopped,
                _ => Error::OutOfMemory,
            }
        })
    }

    fn with_more_memory<T>(self, body: impl FnOnce() -> T) -> T {
        let arena = self.host.arena.get();
        // SAFETY: the head of the arena, which nothing else reads meanwhile; the region has room beyond every limit.
        let (limit, soft) = unsafe { ((*arena).limit, (*arena).soft) };
        let more = limit.wrapping_add(TO_TELL);
        // SAFETY: as above.
        unsafe {
            (*arena).limit = more.min((*arena).end);
            (*arena).soft = (*arena).limit;
        }
        let result = body();
        // SAFETY: as above.
        unsafe { ((*arena).limit, (*arena).soft) = (limit, soft) };
        result
    }

    // ---------------------------------------------------------------------------------------------- data of the host

    /// The value that [`Interpreter::insert_data`](crate::Interpreter::insert_data) stored.
    #[must_use]
    pub fn data<T: 'static>(self) -> Option<Rc<T>> {
        let item: Rc<dyn Any> = self.host.data.borrow().get(&TypeId::of::<T>()).cloned()?;
        item.downcast().ok()
    }
}

/// # Safety
/// The word must be that of a String; the bytes are valid until Ruby runs.
pub(crate) unsafe fn raw_bytes<'a>(string: usize) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let bytes = sys::fg_string(string, &raw mut length);
        std::slice::from_raw_parts(bytes.cast(), length)
    }
}

/// The bytes of a String, in place. While they are held, Ruby cannot change the String (it counts as frozen).
pub struct Bytes<'r> {
    ruby: Ruby<'r>,
    string: usize,
    bytes: &'r [u8],
    locked: bool,
}

impl<'r> Bytes<'r> {
    fn lock(ruby: Ruby<'r>, string: usize) -> Bytes<'r> {
        let mut all = ruby.host.locked.borrow_mut();
        let locked = if let Some((_, count)) = all.iter_mut().find(|(locked, _)| *locked == string) {
            *count += 1;
            true
        } else {
            // SAFETY: a String that is alive. One that was frozen before stays frozen.
            let frozen = unsafe { sys::fg_is_frozen(string) } != 0;
            if !frozen {
                all.push((string, 1));
                // SAFETY: as above.
                unsafe { sys::fg_set_frozen(string, 1) };
            }
            !frozen
        };
        drop(all);
        // SAFETY: the String stays alive for the entry and cannot be changed while this is held.
        let bytes = unsafe { raw_bytes(string) };
        Bytes { ruby, string, bytes, locked }
    }

    /// As text, if it is UTF-8.
    #[must_use]
    pub fn to_str(&self) -> Option<&str> {
        std::str::from_utf8(self.bytes).ok()
    }
}

impl Drop for Bytes<'_> {
    fn drop(&mut self) {
        if !self.locked {
            return;
        }
        let mut all = self.ruby.host.locked.borrow_mut();
        let Some(place) = all.iter().position(|(locked, _)| *locked == self.string) else { return };
        all[place].1 -= 1;
        if all[place].1 == 0 {
            all.swap_remove(place);
            // SAFETY: the String is still alive: the entry lasts.
            unsafe { sys::fg_set_frozen(self.string, 0) };
        }
    }
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl AsRef<[u8]> for Bytes<'_> {
    fn as_ref(&self) -> &[u8] {
        self.bytes
    }
}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self.bytes), f)
    }
}
