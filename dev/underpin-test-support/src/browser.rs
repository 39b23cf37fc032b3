//! A page in headless Chromium, driven over a pipe by the DevTools protocol: what a reader's browser makes of it.
//!
//! Nothing is fetched: pages are files, and every request that one makes is recorded. A browser ends with its value.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A browser with one tab.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    next: u64,
    complaints: Vec<String>,
    requests: Vec<String>,
    _profile: TempDir,
}

/// How a page is viewed.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Width of the window in pixels.
    pub width: u32,
    /// The reader prefers a dark page.
    pub dark: bool,
}

/// No page may take longer.
const PATIENCE: Duration = Duration::from_secs(60);

const FLAGS: [&str; 13] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "about:blank",
];

impl Browser {
    /// Starts `chromium`; call `need!("chromium")` first.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start() -> Browser {
        let profile = TempDir::new().expect("a folder for the browser's profile");
        // The protocol wants descriptors 3 and 4; a shell makes them from our pipes without unsafe code.
        let mut child = Command::new("/bin/sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "chromium"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(FLAGS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                if let Ok(value) = serde_json::from_slice(&message)
                    && sender.send(value).is_err()
                {
                    break;
                }
            }
        });
        let (complaints, requests) = (Vec::new(), Vec::new());
        let mut browser = Browser {
            child,
            input,
            messages,
            session: String::new(),
            next: 0,
            complaints,
            requests,
            _profile: profile,
        };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = self.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        self.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Opens a file; complaints and requests from now on are its own.
    ///
    /// # Panics
    /// If it does not load.
    pub fn open(&mut self, page: &Path, look: Look) {
        let scheme = if look.dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
        let metrics = json!({"width": look.width, "height": 1000, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.complaints.clear();
        self.requests.clear();
        let url = format!("file://{}", page.display());
        self.call("Page.navigate", json!({"url": url}));
        let loaded = "new Promise(done => document.readyState === 'complete' ? done(location.href) : \
                      addEventListener('load', () => done(location.href)))";
        let at = self.evaluate(loaded);
        assert_eq!(at, url, "the page is loaded");
    }

    /// The value of an expression in the page; promises are awaited.
    ///
    /// # Panics
    /// If it throws.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let arguments = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", arguments);
        assert!(answer.get("exceptionDetails").is_none(), "{}", answer["exceptionDetails"]);
        answer["result"]["value"].take()
    }

    /// Errors and warnings of the console, and what the page threw.
    #[must_use]
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// Every address that the page asked for, its own among them.
    #[must_use]
    pub fn requests(&self) -> &[String] {
        &self.requests
    }

    /// The page from one height to another as a PNG file, in base64.
    ///
    /// # Panics
    /// If the browser does not answer.
    pub fn picture(&mut self, top: u32, bottom: u32) -> String {
        let width = self.evaluate("innerWidth");
        let clip = json!({"x": 0, "y": top, "width": width, "height": bottom - top, "scale": 1});
        let arguments = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let answer = self.call("Page.captureScreenshot", arguments);
        answer["data"].as_str().expect("a picture").to_owned()
    }

    /// Calls a method and returns its result; events before it are recorded.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let bytes = format!("{message}\0");
        self.input.write_all(bytes.as_bytes()).unwrap_or_else(|error| panic!("the browser has ended: {error}"));
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let mut answer =
                self.messages.recv_timeout(left).unwrap_or_else(|error| panic!("no answer to {method}: {error}"));
            if answer["id"] == json!(self.next) {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(parameters["exceptionDetails"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(parameters["entry"].to_string()),
            Some("Runtime.consoleAPICalled") if matches!(parameters["type"].as_str(), Some("error" | "warning")) => {
                self.complaints.push(parameters["args"].to_string());
            }
            Some("Network.requestWillBeSent") => {
                self.requests.push(parameters["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.input.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
