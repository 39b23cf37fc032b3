//! For `cargo xtask sanitize`: a run that must be reported. A sanitizer that reports nothing here checks nothing.
#![cfg(mruby_sanitize)]

use mruby::{Interpreter, Limits};

#[test]
#[ignore = "ends the process, which is its purpose"]
fn memory_is_read_after_its_end() {
    let mut interpreter = Interpreter::new(Limits::default()).unwrap();
    interpreter.misuse_memory();
}
