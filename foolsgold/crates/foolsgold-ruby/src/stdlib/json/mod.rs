//! Reads and writes JSON as CRuby's `json` does. The reader calls a [`Builder`] for each value, so no intermediate tree
//! is built; the writer is a set of functions for the code that walks over the values.

mod parse;
mod write;

pub use parse::{Builder, Error, Limits, parse};
pub use write::{Unwritable, float_text, write_float, write_string};

#[cfg(test)]
mod tests;
