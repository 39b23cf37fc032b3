//! Any request that the server may let through, as Rack's environment: Rack::Lint finds nothing to complain of, and the
//! application sees path, query and body byte for byte.
#![no_main]

use bytes::Bytes;
use foolsgold_core::metrics::Registry;
use foolsgold_ruby::{App, Settings};
use foolsgold_core::files::{Content, FileError, Files, Layers, VPath};
use foolsgold_ruby::library::{BUILTIN, Builtin};
use foolsgold_core::work::{Application, Job, Mode, Request, RequestBody, ResponseBody, Unwatched, Worker};
use http::header::{CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{Method, Uri, Version};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

const RACKUP: &str = r#"
require "rack/lint"
use Rack::Lint
run lambda { |env|
  [200, { "content-type" => "text/plain" }, [env["PATH_INFO"], "\n", env["QUERY_STRING"], "\n", env["rack.input"].read]]
}
"#;

/// One file: the application.
#[derive(Debug)]
struct Rackup;

impl Files for Rackup {
    fn read(&self, path: &VPath) -> Result<Option<Content>, FileError> {
        Ok(self.identity(path).map(|_| Content::Plain(Bytes::from_static(RACKUP.as_bytes()))))
    }

    fn identity(&self, path: &VPath) -> Option<VPath> {
        (path.as_str() == "/fuzz/config.ru").then(|| path.clone())
    }
}

thread_local! {
    static WORKER: RefCell<Box<dyn Worker>> = RefCell::new(worker());
}

fn worker() -> Box<dyn Worker> {
    let settings = Settings {
        files: Arc::new(Layers::new(vec![Arc::new(Rackup), Arc::new(Builtin)])),
        rackup: VPath::new("/fuzz/config.ru").expect("a path"),
        load_path: vec![BUILTIN.to_owned()],
        mode: Mode::SharedNothing,
        routes: Vec::new(),
        development: false,
        memory: 64 << 20,
        budget: Duration::from_secs(60),
        metrics: Arc::new(Registry::new(1000)),
        error_log: Arc::new(|text| eprintln!("{text}")),
    };
    Arc::new(App::new(settings)).worker(Arc::new(Unwatched)).expect("the application loads")
}

/// A method and a target, fields a line each, an empty line, a body. What the server answers itself is not a request,
/// and fields that it drops (`drop_doubtful`) are left out.
fn request(bytes: &[u8]) -> Option<Request> {
    let end = bytes.windows(2).position(|two| two == b"\n\n")?;
    let (head, body) = (&bytes[..end], &bytes[end + 2..]);
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut words = lines.next()?.splitn(2, |byte| *byte == b' ');
    let method = Method::from_bytes(words.next()?).ok()?;
    let uri = Uri::try_from(words.next()?).ok()?;
    let target = uri.path();
    if uri.authority().is_some() || method == Method::CONNECT || (!target.starts_with('/') && method != Method::OPTIONS)
    {
        return None;
    }
    let mut headers = HeaderMap::new();
    for line in lines {
        let at = line.iter().position(|byte| *byte == b':')?;
        let (name, value) =
            (HeaderName::from_bytes(&line[..at]).ok()?, HeaderValue::from_bytes(line[at + 1..].trim_ascii()).ok()?);
        let is_dropped = name.as_str().contains('_') || name == "proxy";
        if !is_dropped && ![CONTENT_LENGTH, TRANSFER_ENCODING, HOST].contains(&name) && headers.len() < 100 {
            headers.append(name, value);
        }
    }
    headers.insert(HOST, HeaderValue::from_static("example.org"));
    Some(Request {
        method,
        uri,
        version: Version::HTTP_11,
        headers,
        scheme: "http",
        server: ("example.org".into(), 80),
        peer: None,
        body: RequestBody::Whole(Bytes::copy_from_slice(body)),
        arrived: Instant::now(),
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some(request) = request(bytes) else { return };
    let head = request.method == Method::HEAD;
    let RequestBody::Whole(body) = &request.body else { return };
    let query = request.uri.query().unwrap_or_default();
    let expected = [request.uri.path().as_bytes(), b"\n", query.as_bytes(), b"\n", body].concat();
    let (reply, answer) = foolsgold_core::work::oneshot::channel();
    WORKER.with_borrow_mut(|worker| worker.work(Job { request, reply, queued: Instant::now() }));
    let (response, timings) = answer.blocking_recv().expect("an answer");
    assert_eq!(response.status, 200, "{timings:?}");
    let ResponseBody::Whole(seen) = response.body else { panic!("a body that is whole") };
    assert!(head || seen == expected, "path, query or body changed on their way");
});
