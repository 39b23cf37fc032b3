//! Runs the same snippets in an interpreter and in CRuby; the results are compared as `inspect` shows them.

mod isolation;
mod numbers;
mod snippets;

use super::define;
use mruby::{Interpreter, Limits};

/// A new interpreter with everything of this folder.
fn interpreter() -> Interpreter {
    let mut interpreter = Interpreter::new(Limits::default()).unwrap();
    interpreter.enter(define).unwrap_or_else(|error| panic!("{error}"));
    interpreter
}

/// The result of a snippet, or how it fails.
fn evaluate(interpreter: &mut Interpreter, snippet: &str) -> String {
    let whole = format!(
        "begin\n{snippet}\nrescue StandardError, ScriptError, NoMemoryError => error\n\"#{{error.class}}: #{{error.message}}\"\nend.inspect"
    );
    match interpreter.enter(|ruby| ruby.string(ruby.eval(&whole, "snippet.rb", 0)?)) {
        Ok(shown) => shown,
        Err(error) => format!("{error}"),
    }
}
