//! The corpus in a worker of this process, without a server.

use crate::client::{Answer, unchunked};
use crate::server::files;
use crate::spec::{Case, Request};
use crate::support::{self, Stage};
use bytes::Bytes;
use foolsgold_core::work::mpsc;
use foolsgold_core::work::{self, Mode, RequestBody};

/// The answers from one interpreter.
pub fn answers(mode: Mode, cases: &[Case]) -> Vec<Vec<Option<Answer>>> {
    let files = files(cases);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
    let mut stage = Stage::with_files(&files, mode);
    let all = |case: &Case| case.requests.iter().map(|request| Some(ask(&mut stage, case, request))).collect();
    cases.iter().map(all).collect()
}

fn ask(stage: &mut Stage, case: &Case, request: &Request) -> Answer {
    let answer = stage.ask(as_checked(case, request));
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let fields = answer.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let body = if request.method == "HEAD" { Vec::new() } else { answer.body };
    Answer { status: answer.status, fields, body, whole: !answer.aborted }
}

/// The request as a server passes it to a worker.
fn as_checked(case: &Case, request: &Request) -> work::Request {
    let mut checked = support::request(&request.method, &request.target, b"");
    let fields = [("host".to_owned(), "localhost".to_owned()), ("x-corpus".to_owned(), case.name.clone())];
    for (name, value) in fields.iter().chain(&request.fields) {
        let name = http::HeaderName::from_bytes(name.as_bytes()).expect("a name");
        checked.headers.insert(name, value.parse().expect("a value"));
    }
    let host = checked.headers["host"].to_str().expect("a host").to_owned();
    let (name, port) = host.rsplit_once(':').unwrap_or((&host, "80"));
    checked.server = (name.into(), port.parse().expect("a port"));
    checked.peer = Some("127.0.0.1".parse().expect("an address"));
    if let Some(body) = &request.body {
        if checked.headers.contains_key("transfer-encoding") {
            checked.body = coming(unchunked(body).0);
        } else {
            checked.headers.insert("content-length", body.len().into());
            checked.body = RequestBody::Whole(Bytes::from(body.clone()));
        }
    }
    checked
}

/// A body in two pieces.
fn coming(mut body: Vec<u8>) -> RequestBody {
    let (to, from) = mpsc::channel(2);
    let rest = body.split_off(body.len() / 2);
    for piece in [body, rest] {
        to.try_send(Ok(Bytes::from(piece))).expect("room for two");
    }
    RequestBody::Coming(from)
}
