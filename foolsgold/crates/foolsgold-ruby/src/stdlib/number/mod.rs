//! Numbers as text and back: CRuby's `format`, rounding to decimal digits, sums, `to_f` and `Float()`.
//!
//! Digits come from Rust's core library, which writes a float's exact decimal expansion to any length and reads a text
//! to the nearest float. mruby's own formatting computes with floats and loses the last digits. CRuby's own rounding is
//! followed where it is not exact (`halves`, `round`).

mod directive;
mod float;
mod halves;
mod integer;
mod parse;
mod round;
mod sprintf;
mod sum;

pub use directive::Directive;
pub use integer::Whole;
pub use parse::{FloatSyntax, leading_float, strict_float};
pub use round::{Half, Rounding, float_vanishes, integer_vanishes, round_float, round_integer, round_to_whole};
pub use sprintf::{Arguments, FormatError, format};
pub use sum::FloatSum;
