//! Defines the parts of this folder as methods in an interpreter, with a thin layer of Ruby on top.
//!
//! Natives hold names and the positions of classes, nothing of a request. What a match, a digest or a parsed text
//! leaves behind are Ruby objects, so a restored heap has none of it.

mod json;
mod number;
mod parts;
mod regexp;
mod search;
mod string;
mod time;
mod web;

pub use parts::{features, require};

use mruby::{Args, Kept, Outcome, Raise, Ruby, Sym, Value};

/// Which environment variables of the process an application sees in `ENV`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Environment {
    /// All.
    #[default]
    All,
    /// Those with these names.
    Only(Vec<String>),
}

impl Environment {
    fn shows(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|one| one == name),
        }
    }
}

/// The classes, and names that are used in each call.
#[derive(Clone, Copy, Debug)]
struct Core {
    regexp: Kept,
    match_data: Kept,
    source: Sym,
    options: Sym,
    data: Sym,
    last_match: Sym,
    new: Sym,
    dup: Sym,
    to_s: Sym,
}

/// Defines everything in a new interpreter, with all environment variables.
///
/// # Errors
/// If Ruby raises, which happens only when memory is short.
pub fn define(ruby: Ruby<'_>) -> Outcome<'_, ()> {
    define_with(ruby, &Environment::All)
}

/// Defines everything in a new interpreter.
///
/// # Errors
/// If Ruby raises, which happens only when memory is short.
pub fn define_with<'r>(ruby: Ruby<'r>, environment: &Environment) -> Outcome<'r, ()> {
    let object = ruby.object_class();
    let regexp = ruby.define_class("Regexp", object)?;
    let match_data = ruby.define_class("MatchData", object)?;
    let foolsgold = ruby.define_module("FoolsGold")?;
    let native = ruby.define_module_under(foolsgold, "Native")?;
    let core = Core {
        regexp: ruby.keep(regexp)?,
        match_data: ruby.keep(match_data)?,
        source: ruby.intern("@source")?,
        options: ruby.intern("@options")?,
        data: ruby.intern("@data")?,
        last_match: ruby.intern("$~")?,
        new: ruby.intern("new")?,
        dup: ruby.intern("dup")?,
        to_s: ruby.intern("to_s")?,
    };
    define_errors(ruby, regexp)?;
    regexp::define(ruby, core)?;
    string::define(ruby, core)?;
    web::define(ruby, native)?;
    time::define(ruby, native)?;
    number::define(ruby, native)?;
    let variables = ruby.hash()?;
    for (name, value) in std::env::vars_os() {
        if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
            && environment.shows(name)
        {
            let (name, value) = (ruby.str(name)?, ruby.str(value)?);
            ruby.hash_set(variables, ruby.freeze(name), ruby.freeze(value))?;
        }
    }
    ruby.const_set(native, "ENVIRONMENT", variables)?;
    parts::define(ruby, native)
}

/// The name of the state that an interpreter has to [`forget`].
///
/// # Errors
/// If Ruby raises, which happens only when memory is short.
pub fn last_match(ruby: Ruby<'_>) -> Outcome<'_, Sym> {
    ruby.intern("$~")
}

/// Makes an interpreter forget the last match, so that the next request does not see it: for interpreters that are not
/// restored between two requests.
///
/// # Errors
/// If Ruby raises, which happens only when memory is short.
pub fn forget(ruby: Ruby<'_>, last_match: Sym) -> Outcome<'_, ()> {
    const NAMES: [&str; 14] = ["$~", "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$&", "$`", "$'", "$+"];
    if ruby.gvar_get(last_match)?.is_nil() {
        return Ok(());
    }
    for name in NAMES.iter().filter(|name| ruby.is_interned(name)) {
        ruby.gvar_set(*name, Value::NIL)?;
    }
    Ok(())
}

fn define_errors<'r>(ruby: Ruby<'r>, regexp: Value<'r>) -> Outcome<'r, ()> {
    let standard = ruby.class("StandardError")?;
    let error = ruby.define_class("RegexpError", standard)?;
    ruby.define_class_under(regexp, "TimeoutError", error)?;
    Ok(())
}

fn raise<'r>(class: &'static str, message: impl std::fmt::Display) -> Raise<'r> {
    Raise::new(class, message.to_string())
}

/// The bytes of an argument that must be a String; copied, since Ruby may change it while they are used.
fn text<'r>(ruby: Ruby<'r>, args: &Args<'r>, index: usize) -> Outcome<'r, Vec<u8>> {
    ruby.to_vec(args.required(index)?)
}

/// A count that is not negative, for results of the requested size; limited to what an interpreter can hold.
fn count<'r>(args: &Args<'r>, index: usize, default: usize) -> Outcome<'r, usize> {
    match args.get(index) {
        value if value.is_nil() => Ok(default),
        value => match value.as_int().map(usize::try_from) {
            Some(Ok(count)) if count <= 64 << 20 => Ok(count),
            Some(_) => Err(raise("ArgumentError", "negative or too large a size")),
            None => Err(raise("TypeError", "no implicit conversion into Integer")),
        },
    }
}

#[cfg(test)]
mod tests;
