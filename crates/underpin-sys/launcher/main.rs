//! The launcher of a bundle: the few instructions that a bundled program starts with, before its own loader.
//!
//! It is in a segment of the bundled program itself, which the kernel maps as it maps any program. The kernel finds
//! no PT_INTERP there, so it starts here; the launcher then does what the kernel would have done with one: it maps the
//! loader (the bundle's own, found from where the program is) and hands over with the auxiliary vector that the
//! kernel would have written. So `/proc/self/exe`, `argv[0]`, the heap and the environment are those of a plain start.
//!
//! No libc, no allocation, no relocation: the image works at any address. Compiled by `build.rs` alone; not a module
//! of the crate. Its data, the [`head::Head`], is written by `underpin_rewrite::bundle`.
#![no_std]
#![no_main]
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;
mod calls;
mod charsets;
mod head;
#[cfg(target_arch = "x86_64")]
mod hooks;
mod load;
mod maps;
mod memory;
mod names;
mod place;
mod say;
mod share;
mod start;

/// Called when nothing more can be done. The launcher has no code that panics; this is for the compiler.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    calls::exit(127)
}
