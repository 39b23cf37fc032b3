//! Replacements for functions of musl that cost a static program a third of its speed: today the copying and comparing of
//! memory on x86-64.
//!
//! A program gets them by naming this crate (`use underpin_overlay as _;`): the linker finds the names here before it comes
//! to the C library. With glibc, whose functions choose by processor, nothing is replaced. There is nothing to call.

#[cfg(all(test, target_arch = "x86_64"))]
mod copy;
