//! Ruby source text and bytecode.

use crate::error::{Outcome, Raise};
use crate::ruby::Ruby;
use crate::sys;
use crate::value::Value;
use std::ffi::CString;

impl<'r> Ruby<'r> {
    /// Runs a text at the top level and returns its last value.
    ///
    /// # Errors
    /// `SyntaxError`, its message beginning with file and line; or whatever the text raises.
    pub fn eval(self, text: &str, file: &str, line: u32) -> Outcome<'r> {
        self.check_quiet();
        let file = file_name(file)?;
        let mut source = source(text.as_bytes(), &file, line);
        let mut result = 0;
        // SAFETY: text and name are valid for the call.
        let status = unsafe { sys::fg_eval(self.fg(), &raw mut source, &raw mut result) };
        self.outcome(status, result)
    }

    /// Compiles a text to bytecode, including what backtraces need. Only this version of mruby can load it.
    ///
    /// # Errors
    /// `SyntaxError`, its message beginning with file and line.
    pub fn compile(self, text: &str, file: &str) -> Outcome<'r, Vec<u8>> {
        self.check_quiet();
        let file = file_name(file)?;
        let mut source = source(text.as_bytes(), &file, 1);
        let mut result = 0;
        // SAFETY: text and name are valid for the call.
        let status = unsafe { sys::fg_compile(self.fg(), &raw mut source, &raw mut result) };
        self.outcome(status, result)?;
        // SAFETY: the compiled bytes are in the arena until they are freed here.
        unsafe {
            let bytecode = std::slice::from_raw_parts(source.bytecode, source.size).to_vec();
            sys::fg_free_bytecode(self.fg(), &raw mut source);
            Ok(bytecode)
        }
    }

    /// Runs bytecode at the top level. It must come from [`Ruby::compile`]: mruby trusts it.
    ///
    /// # Errors
    /// `ScriptError` if it is not bytecode of this version; or whatever it raises.
    pub fn load(self, bytecode: &[u8]) -> Outcome<'r> {
        self.load_source(source(bytecode, c"", 1))
    }

    /// The same for static bytecode: instructions and strings are not copied, so all interpreters share them.
    ///
    /// # Errors
    /// As [`Ruby::load`].
    pub fn load_in_place(self, bytecode: &'static [u8]) -> Outcome<'r> {
        self.load_source(sys::Source { stays: 1, ..source(bytecode, c"", 1) })
    }

    fn load_source(self, mut source: sys::Source) -> Outcome<'r> {
        self.check_quiet();
        let mut result = 0;
        // SAFETY: the bytes are valid for the call; what is kept is copied, unless the bytes are static.
        let status = unsafe { sys::fg_load(self.fg(), &raw mut source, &raw mut result) };
        self.outcome(status, result)
    }

    /// `eval` as file `(eval)` from line 1, for tests and small snippets.
    ///
    /// # Errors
    /// As [`Ruby::eval`].
    pub fn run(self, text: &str) -> Outcome<'r, Value<'r>> {
        self.eval(text, "(eval)", 1)
    }
}

fn file_name<'r>(file: &str) -> Outcome<'r, CString> {
    CString::new(file).map_err(|_| Raise::new("ArgumentError", "a file name has a zero byte"))
}

fn source(text: &[u8], file: &std::ffi::CStr, line: u32) -> sys::Source {
    let (text, length) = (text.as_ptr().cast(), text.len());
    sys::Source { text, length, file: file.as_ptr(), line, bytecode: std::ptr::null_mut(), size: 0, stays: 0 }
}
