//! Errors: inside an entry as [`Raise`], outside as [`Error`].

use crate::ruby::Ruby;
use crate::value::Value;
use std::borrow::Cow;
use std::fmt;

/// The result of nearly everything inside an entry.
pub type Outcome<'r, T = Value<'r>> = Result<T, Raise<'r>>;

/// Something that unwinds Ruby: an exception, but also a `break` out of a block or a stop. Pass it on with `?`.
#[derive(Debug)]
pub struct Raise<'r>(pub(crate) Reason<'r>);

#[derive(Debug)]
pub(crate) enum Reason<'r> {
    /// An exception (or a `break`) that exists as a Ruby value.
    Exception(Value<'r>),
    /// An exception that is still to be created.
    New(Cow<'static, str>, String),
    /// A stop: nothing can be done in this interpreter until it is restored.
    Stopped,
}

impl<'r> Raise<'r> {
    /// An exception of a class by its name (`"ArgumentError"`, `"JSON::ParserError"`) with a message. If there is no
    /// such class, it becomes a `RuntimeError`.
    #[must_use]
    pub fn new(class: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Raise<'r> {
        Raise(Reason::New(class.into(), message.into()))
    }

    /// An exception that is a value already.
    #[must_use]
    pub fn from_exception(exception: Value<'r>) -> Raise<'r> {
        Raise(Reason::Exception(exception))
    }

    /// Whether it is a stop, which must always be passed on.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(self.0, Reason::Stopped)
    }

    /// The exception as a value; `None` for a stop or a `break`, which must be passed on.
    pub fn exception(&self, ruby: Ruby<'r>) -> Option<Value<'r>> {
        match &self.0 {
            Reason::Exception(value) if value.is_break() => None,
            Reason::Exception(value) => Some(*value),
            Reason::New(class, message) => ruby.make_exception(class, message).ok(),
            Reason::Stopped => None,
        }
    }
}

/// Why an entry ended without its result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An exception that was not rescued.
    #[error("{0}")]
    Raised(Exception),
    /// The memory limit was reached, and that was not rescued.
    #[error("the interpreter's memory limit is reached")]
    OutOfMemory,
    /// A [`Stopper`](crate::Stopper) ended the run.
    #[error("the run was stopped")]
    Stopped,
    /// A run of the interpreter was stopped midway, or a native panicked in it; it can only be restored or dropped.
    #[error("the interpreter was interrupted and has not been restored")]
    Unusable,
    /// Ruby code runs or waits in it, so its state cannot be saved.
    #[error("the interpreter is busy")]
    Busy,
    /// It could not be created.
    #[error("no interpreter could be made: {0}")]
    Create(String),
    /// A snapshot could not be taken or restored.
    #[error("the interpreter's state cannot be kept: {0}")]
    Snapshot(String),
}

/// An exception as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exception {
    /// Its class.
    pub class: String,
    /// Its message.
    pub message: String,
    /// Where it was raised, innermost first: `file:line` or `file:line:in method`.
    pub backtrace: Vec<String>,
    /// The exception being handled when it was raised, if any.
    pub cause: Option<Box<Exception>>,
}

impl Exception {
    /// File and line where it was raised, if known.
    #[must_use]
    pub fn place(&self) -> Option<(&str, u32)> {
        let known = |line: &&String| !line.starts_with("(unknown)");
        let line = self.backtrace.iter().find(known)?;
        let place = line.split(":in ").next().unwrap_or(line);
        let (file, number) = place.rsplit_once(':')?;
        Some((file, number.parse().ok()?))
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A syntax error's message begins with its location.
        if let Some((file, line)) = self.place().filter(|_| self.class != "SyntaxError") {
            write!(f, "{file}:{line}: ")?;
        }
        write!(f, "{} ({})", self.message, self.class)
    }
}
