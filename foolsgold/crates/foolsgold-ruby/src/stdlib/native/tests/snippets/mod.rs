//! Tables of snippets, by class.

mod causes;
mod core;
mod formats;
mod numbers;
mod patterns;

use super::{evaluate, interpreter};
use crate::stdlib::oracle::ruby;
use serde_json::json;

/// Evaluates each in both, and reports all that differ.
fn compare(snippets: &[&str]) {
    let theirs = ruby(
        "INPUT.map { |snippet| begin; eval(\"proc do\\n#{snippet}\\nend\").call; rescue StandardError, ScriptError => error; \"#{error.class}: #{error.message}\"; end.inspect }",
        &json!(snippets),
    );
    let mut interpreter = interpreter();
    evaluate(&mut interpreter, "FoolsGold::Native.require_feature('json'); FoolsGold::Native.require_feature('uri')");
    let mut wrong = Vec::new();
    for (snippet, expected) in snippets.iter().zip(theirs.as_array().unwrap()) {
        let ours = evaluate(&mut interpreter, snippet);
        if json!(ours) != *expected {
            wrong.push(format!("{snippet}\n    CRuby {}\n    ours  {ours}", expected.as_str().unwrap()));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), snippets.len(), wrong.join("\n"));
}
