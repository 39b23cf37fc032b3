//! Requests that Ruby could not answer: the lines in the log, and the answer to the client.

use foolsgold_core::work::Response;
use http::StatusCode;
use mruby::{Error, Exception};
use std::fmt::Write;

/// `file:line: message (Class)` and the backtrace, as Ruby prints an exception; then the same for its causes.
pub(super) fn ruby_words(exception: &Exception) -> String {
    let mut text = without_cause(exception);
    let mut causes = exception.cause.as_deref();
    while let Some(cause) = causes {
        let _ = write!(text, "\ncaused by {}", without_cause(cause));
        causes = cause.cause.as_deref();
    }
    text
}

fn without_cause(exception: &Exception) -> String {
    let mut calls = exception.backtrace.iter();
    let first = calls.next();
    // A syntax error's message begins with its location.
    let mut text = match first.filter(|_| exception.class != "SyntaxError") {
        Some(place) => format!("{place}: {} ({})", exception.message, exception.class),
        None => format!("{} ({})", exception.message, exception.class),
    };
    for call in calls {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n\tfrom {call}");
    }
    text
}

/// The same for any other error that ends a run.
pub(super) fn words(error: &Error) -> String {
    match error {
        Error::Raised(exception) => ruby_words(exception),
        other => other.to_string(),
    }
}

/// The status for an exception that the application did not rescue: 400 and 413 if Rack found the request invalid (its
/// classes include Rack::BadRequest), otherwise 500.
pub(super) fn status(exception: &Exception) -> StatusCode {
    const BY_CLASS: [(&str, StatusCode); 4] = [
        ("Rack::QueryParser::QueryLimitError", StatusCode::PAYLOAD_TOO_LARGE),
        ("Rack::QueryParser::", StatusCode::BAD_REQUEST),
        ("Rack::Multipart::MultipartTotalPartLimitError", StatusCode::PAYLOAD_TOO_LARGE),
        ("Rack::Multipart::", StatusCode::BAD_REQUEST),
    ];
    let known = BY_CLASS.iter().find(|(class, _)| exception.class.starts_with(class));
    known.map_or(StatusCode::INTERNAL_SERVER_ERROR, |(_, status)| *status)
}

/// The answer to the client, with the reason only in development.
pub(super) fn answer(status: StatusCode, reason: Option<&str>) -> Response {
    let mut text = format!("{}\n", status.canonical_reason().unwrap_or("Error"));
    if let Some(reason) = reason {
        let _ = writeln!(text, "\n{reason}");
    }
    Response::words(status, text)
}

#[cfg(test)]
mod tests {
    use super::words;
    use mruby::{Interpreter, Limits};

    #[test]
    fn an_exception_is_told_with_what_caused_it() {
        let mut interpreter = Interpreter::new(Limits::default()).expect("an interpreter");
        let text = "def read\n  raise KeyError, 'no key'\nend\nbegin\n  read\nrescue KeyError\n  raise 'no page'\nend";
        let failed = interpreter.enter(|ruby| ruby.eval(text, "app.rb", 1).map(drop)).expect_err("an exception");
        let told = "app.rb:7: no page (RuntimeError)\ncaused by app.rb:2:in read: no key (KeyError)\n\tfrom app.rb:5";
        assert_eq!(words(&failed), told);
    }
}
