//! CRuby as the reference in the tests of this folder: one process for a whole table.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs a CRuby program over a JSON document on its standard input (`INPUT` in the program) and returns the program's
/// value as JSON.
pub fn ruby(program: &str, input: &Value) -> Value {
    let whole = format!(
        "# encoding: utf-8\nrequire 'json'; require 'time'; require 'uri'; require 'cgi'; require 'digest'; require 'openssl'; require 'base64'; require 'securerandom'\nEncoding.default_external = Encoding::UTF_8\nINPUT = JSON.parse(STDIN.read, max_nesting: 0)\n$stderr = File.open(File::NULL, 'w') unless ENV['ORACLE_DEBUG']\nputs JSON.generate(begin\n{program}\nend)\n"
    );
    let mut child = Command::new("ruby")
        .args(["-W0", "-e", &whole])
        .env("TZ", "UTC")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ruby starts");
    let text = serde_json::to_vec(input).expect("the input is JSON");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&text));
    let output = child.wait_with_output().expect("ruby ends");
    writer.join().expect("the writer ends").expect("ruby reads its input");
    assert!(output.status.success(), "CRuby failed on:\n{program}");
    serde_json::from_slice(&output.stdout).expect("CRuby writes JSON")
}
