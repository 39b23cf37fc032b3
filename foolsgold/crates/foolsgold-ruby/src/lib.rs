//! foolsgold's Ruby: what a worker thread does with one request (Rack's environment, the application, its answer), and
//! what Ruby applications expect but mruby does not have. This crate does not depend on sockets.
#![forbid(unsafe_code)]

pub mod library;
pub mod require;
mod runtime;
pub mod stdlib;

pub use runtime::{App, ErrorLog, Settings, interpreter_version};
