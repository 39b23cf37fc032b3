//! What an interpreter thread does with a request: Rack's environment, the Ruby application, its answer.
//!
//! An [`App`] is what is served, the same for all threads; each thread makes a worker of it, and the worker an interpreter
//! for each mode that its requests ask for. Nothing of a request is left in an interpreter whose mode shares nothing:
//! its heap is restored after the answer is on its way. Nothing here knows a socket.

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
