//! A worker with an application in it, and requests made by hand.
#![allow(dead_code, clippy::unwrap_used, reason = "each test program uses its part; a panic is how a test fails")]

use bytes::Bytes;
use foolsgold_core::files::{Disk, Files, Layers, VPath};
use foolsgold_core::metrics::Registry;
use foolsgold_core::work::{Application, Job, Mode, Request, RequestBody, Response, ResponseBody, Slot, Timings};
use foolsgold_ruby::library::{BUILTIN, Builtin, DEMONSTRATION};
use foolsgold_ruby::{App, ErrorLog, Settings};
use http::{HeaderMap, Version};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The stack of a thread that runs Ruby.
const STACK: usize = 16 << 20;

/// Longer than anything takes unless it hangs, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A worker on a thread of its own, as in the pool.
pub struct Stage {
    jobs: mpsc::Sender<Job>,
    pub metrics: Arc<Registry>,
    log: Arc<Mutex<String>>,
    _folder: tempfile::TempDir,
}

/// An answer with its complete body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    pub timings: Timings,
    /// Whether the body was aborted.
    pub aborted: bool,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// All fields, sorted by name.
    pub fn fields(&self) -> Vec<String> {
        let mut fields: Vec<String> =
            self.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        fields.sort();
        fields
    }
}

impl Stage {
    pub fn new(rackup: &str) -> Stage {
        Stage::with_mode(rackup, Mode::SharedNothing)
    }

    pub fn with_mode(rackup: &str, mode: Mode) -> Stage {
        Stage::with_files(&[("config.ru", rackup)], mode)
    }

    /// A stage whose requests have only this much time.
    pub fn with_budget(rackup: &str, mode: Mode, budget: Duration) -> Stage {
        Stage::try_new(&[("config.ru", rackup)], mode, |settings| settings.budget = budget)
            .unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    pub fn with_files(files: &[(&str, &str)], mode: Mode) -> Stage {
        Stage::try_new(files, mode, |_| ()).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Why an application cannot be loaded.
    pub fn refusal(rackup: &str) -> String {
        match Stage::try_new(&[("config.ru", rackup)], Mode::SharedNothing, |_| ()) {
            Ok(_) => panic!("it was loaded: {rackup}"),
            Err(refusal) => refusal,
        }
    }

    /// A stage in development mode.
    pub fn of_a_developer(rackup: &str) -> Stage {
        let (folder, rackup) = Stage::laid_out(&[("config.ru", rackup)]);
        Stage::load(folder, rackup, Mode::SharedNothing, |settings| settings.development = true)
            .unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    pub fn demonstration() -> Stage {
        Stage::load(tempfile::tempdir().unwrap(), VPath::new(DEMONSTRATION).unwrap(), Mode::SharedNothing, |_| ())
            .unwrap()
    }

    fn try_new(files: &[(&str, &str)], mode: Mode, change: impl FnOnce(&mut Settings)) -> Result<Stage, String> {
        let (folder, rackup) = Stage::laid_out(files);
        Stage::load(folder, rackup, mode, change)
    }

    fn laid_out(files: &[(&str, &str)]) -> (tempfile::TempDir, VPath) {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let rackup = Disk::new(folder.path()).unwrap().root().join("config.ru").unwrap();
        (folder, rackup)
    }

    fn load(
        folder: tempfile::TempDir,
        rackup: VPath,
        mode: Mode,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Stage, String> {
        let log = Arc::new(Mutex::new(String::new()));
        let lines = Arc::clone(&log);
        let error_log: ErrorLog = Arc::new(move |text| {
            let mut lines = lines.lock().unwrap();
            lines.push_str(text);
            lines.push('\n');
        });
        let metrics = Arc::new(Registry::new(1000));
        let disk: Arc<dyn Files> = Arc::new(Disk::new(folder.path()).unwrap());
        let mut settings = Settings {
            files: Arc::new(Layers::new(vec![disk, Arc::new(Builtin)])),
            rackup,
            load_path: vec![BUILTIN.to_owned()],
            mode,
            routes: Vec::new(),
            development: false,
            memory: 32 << 20,
            budget: PATIENCE,
            metrics: Arc::clone(&metrics),
            error_log,
        };
        change(&mut settings);
        let app = Arc::new(App::new(settings));
        let (jobs, queue) = mpsc::channel::<Job>();
        let (told, ready) = mpsc::channel();
        let run = move || match app.worker(Arc::new(Watch::default())) {
            Ok(mut worker) => {
                told.send(Ok(())).unwrap();
                queue.iter().for_each(|job| worker.work(job));
            }
            Err(refusal) => told.send(Err(format!("{refusal:#}"))).unwrap(),
        };
        thread::Builder::new().stack_size(STACK).spawn(run).unwrap();
        ready.recv().unwrap()?;
        Ok(Stage { jobs, metrics, log, _folder: folder })
    }

    /// Answers one request.
    pub fn ask(&mut self, request: Request) -> Answer {
        let (reply, answer) = foolsgold_core::work::oneshot::channel();
        self.jobs.send(Job { request, reply, queued: Instant::now() }).unwrap();
        let (Response { status, headers, body }, timings) = answer.blocking_recv().expect("an answer");
        let (mut whole, mut aborted) = (Vec::new(), false);
        match body {
            ResponseBody::Whole(bytes) => whole = bytes.to_vec(),
            ResponseBody::File(path) => whole = std::fs::read(path).unwrap(),
            ResponseBody::Coming(mut chunks) => {
                while let Some(chunk) = chunks.blocking_recv() {
                    match chunk {
                        Ok(chunk) => whole.extend_from_slice(&chunk),
                        Err(_) => aborted = true,
                    }
                }
            }
        }
        Answer { status: status.as_u16(), headers, body: whole, timings, aborted }
    }

    /// The contents of the error log.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }
}

/// A request from a client.
pub fn request(method: &str, target: &str, body: &'static [u8]) -> Request {
    Request {
        method: method.parse().unwrap(),
        uri: target.parse().unwrap(),
        version: Version::HTTP_11,
        headers: HeaderMap::new(),
        scheme: "http",
        server: ("example.org".into(), 8080),
        peer: Some("192.0.2.7".parse().unwrap()),
        body: RequestBody::Whole(Bytes::from_static(body)),
        arrived: Instant::now(),
    }
}

pub fn get(target: &str) -> Request {
    request("GET", target, b"")
}

/// A watchdog for one worker: a thread for each run.
#[derive(Default)]
struct Watch {
    ended: Mutex<Option<mpsc::Sender<()>>>,
}

impl Slot for Watch {
    fn begin(&self, budget: Duration, stop: Arc<dyn Fn() + Send + Sync>) {
        let (ended, end) = mpsc::channel();
        *self.ended.lock().unwrap() = Some(ended);
        thread::spawn(move || {
            if end.recv_timeout(budget) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop();
            }
        });
    }

    fn pause(&self) {}

    fn resume(&self) {}

    fn end(&self) -> bool {
        self.ended.lock().unwrap().take().is_some_and(|ended| ended.send(()).is_err())
    }
}
