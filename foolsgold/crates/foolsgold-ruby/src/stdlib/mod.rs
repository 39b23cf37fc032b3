//! What Ruby applications expect but mruby does not have: regular expressions, JSON, times as text, digests, Base64,
//! URIs, random numbers from the system, encodings.
//!
//! Each part is plain Rust over bytes, tested against CRuby, and does not depend on an interpreter. Nothing here keeps
//! state that one request could leave to the next: results live in Ruby's heap (which is restored after each request),
//! and what a thread caches is immutable and depends on its key alone.

pub mod case;
pub mod digest;
pub mod encoding;
pub mod escape;
pub mod json;
mod native;
pub mod number;
pub mod random;
pub mod regexp;
pub mod time;
pub mod uri;

pub use native::{Environment, define, define_with, features, forget, last_match, require};

#[cfg(test)]
mod oracle;
