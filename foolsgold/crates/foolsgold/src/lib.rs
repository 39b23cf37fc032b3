//! foolsgold: a Rack server with an embedded mruby.
//!
//! Three parts that know each other only through [`work`]: the server (`server`, hyper on tokio) takes requests and writes
//! answers; the pool (`pool`) has interpreter threads and a bounded queue; the runtime (`runtime`) is what such a
//! thread does with one request: Rack's environment, the Ruby application, its answer. `stdlib` is what Ruby applications
//! expect and mruby lacks.
#![forbid(unsafe_code)]

pub mod cli;
pub mod compose;
pub mod config;
pub mod log;
pub mod metrics;
pub mod pack;
pub mod pool;
pub mod runtime;
pub mod server;
pub mod stdlib;
pub mod vfs;
pub mod work;
