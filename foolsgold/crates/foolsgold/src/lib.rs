//! foolsgold: a Rack server with an embedded mruby, put together from its parts.
//!
//! The server with its pool of threads is [`foolsgold_server`], Ruby is [`foolsgold_ruby`], and the types that pass
//! between them are in [`foolsgold_core::work`]; neither of the two depends on the other. This crate has the command
//! line, the configuration file and applications packed into the executable.
#![forbid(unsafe_code)]

pub mod cli;
pub mod compose;
pub mod config;
pub mod pack;
