//! What an interpreter thread does with a request: Rack's environment, the Ruby application, its answer.
//!
//! An [`App`] is the served application, the same for all threads; each thread makes a worker from it, and the worker
//! makes an interpreter for each mode that its requests need. In shared-nothing mode nothing of a request is left in
//! the interpreter: its heap is restored after the answer has been sent. Nothing here depends on sockets.

mod answer;
mod app;
mod boot;
mod env;
mod failure;
mod input;
mod loading;
mod natives;
mod settings;
mod state;
mod stream;
mod worker;

pub use app::{App, interpreter_version};
pub use settings::{ErrorLog, Settings};
