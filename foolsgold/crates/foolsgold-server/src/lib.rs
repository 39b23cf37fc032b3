//! foolsgold's server: connections, HTTP, limits and time-outs ([`Server`]), and the pool of worker threads behind a
//! bounded queue. What a worker does with a request is up to the application ([`foolsgold_core::work`]); this crate
//! does not depend on Ruby.
#![forbid(unsafe_code)]

pub mod config;
pub mod log;
mod pool;
mod server;

pub use pool::Report;
pub use server::{Archive, Ending, Facts, Loader, Parts, Server, Signalled};
