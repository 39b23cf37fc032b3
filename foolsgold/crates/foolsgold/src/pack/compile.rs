//! Compiles Ruby to bytecode, with the interpreter that will run it.

use foolsgold_core::files::VPath;
use mruby::{Error, Interpreter, Limits};

/// Compiles a file; see [`super::Compile`].
///
/// # Errors
/// Ruby's message with file and line, or why no interpreter could be made.
pub fn compile(path: &VPath, source: &[u8]) -> Result<Vec<u8>, String> {
    let text = str::from_utf8(source)
        .map_err(|error| format!("{path}: byte {} is not UTF-8, which is all that mruby reads", error.valid_up_to()))?;
    let compiled = Interpreter::new(Limits::default())
        .and_then(|mut interpreter| interpreter.enter(|ruby| ruby.compile(text, path.as_str())));
    compiled.map_err(|error| match error {
        Error::Raised(exception) => exception.message,
        other => format!("{path}: {other}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> VPath {
        VPath::new("/foolsgold/app/lib/a.rb").unwrap()
    }

    #[test]
    fn the_bytecode_is_that_of_its_path() {
        let bytecode = compile(&path(), b"[__FILE__, 6 * 7].inspect").unwrap();
        let mut interpreter = Interpreter::new(Limits::default()).unwrap();
        let said = interpreter.enter(|ruby| ruby.string(ruby.load(&bytecode)?)).unwrap();
        assert_eq!(said, "[\"/foolsgold/app/lib/a.rb\", 42]");
    }

    #[test]
    fn an_error_has_file_and_line() {
        let said = compile(&path(), b"a = 1\nb = (\n").unwrap_err();
        assert!(said.starts_with("/foolsgold/app/lib/a.rb:"), "{said}");
        assert!(said.contains("syntax error"), "{said}");
        assert!(compile(&path(), b"a\xff").unwrap_err().contains("byte 1 is not UTF-8"));
    }
}
