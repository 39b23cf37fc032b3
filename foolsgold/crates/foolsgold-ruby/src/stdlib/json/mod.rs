//! JSON read and written as CRuby's `json` does. Reading calls a [`Builder`] for each value, so no tree is built in
//! between; writing is a set of pieces for the code that walks over the values.

mod parse;
mod write;

pub use parse::{Builder, Error, Limits, parse};
pub use write::{Unwritable, float_text, write_float, write_string};

#[cfg(test)]
mod tests;
