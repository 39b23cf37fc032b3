//! The worker of an interpreter thread: it has an interpreter for each mode that its requests have needed so far.

use super::answer::{Answer, Body};
use super::app::App;
use super::boot::Booted;
use super::state::State;
use super::stream::{Reply, Sink};
use super::{failure, natives};
use crate::stdlib;
use anyhow::Context;
use bytes::Bytes;
use foolsgold_core::work::{
    Application, BodyError, Job, Loss, Mode, Request, RequestBody, RequestOutcome, Response, ResponseBody, Slot,
    Timings, Worker,
};
use http::{Method, StatusCode};
use mruby::{Error, Kind, Outcome, Ruby, Value};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A body larger than this fraction of an interpreter's memory is large: an application holds it once, and what it
/// makes from it several times.
const SHARE_OF_BODY: usize = 32;

/// One thread's worker.
pub(super) struct RackWorker {
    app: Arc<App>,
    slot: Arc<dyn Slot>,
    // Fields of their own: they are taken out for each request.
    shared_nothing: Option<Box<Booted>>,
    prefork: Option<Box<Booted>>,
    /// The modes that the rackup file sets.
    routes: Vec<(String, Mode)>,
    /// Whether an interpreter that stays was just made: pages that were needed only for that can be given back.
    made: bool,
}

impl RackWorker {
    /// Loads the application once, so that errors in it are known before the first request.
    pub(super) fn new(app: Arc<App>, slot: Arc<dyn Slot>) -> anyhow::Result<RackWorker> {
        let mode = app.settings().mode;
        let mut worker = RackWorker { app, slot, shared_nothing: None, prefork: None, routes: Vec::new(), made: true };
        let booted = worker.boot(mode).map_err(|error| anyhow::anyhow!(failure::words(&error)));
        let booted = booted.with_context(|| format!("cannot load {}", worker.app.settings().rackup))?;
        worker.routes.clone_from(&booted.routes);
        worker.put(mode, booted);
        Ok(worker)
    }

    fn boot(&self, mode: Mode) -> Result<Box<Booted>, Error> {
        let mut booted = Box::new(Booted::new(self.app.settings(), mode, &self.slot)?);
        if mode == Mode::SharedNothing {
            booted.interpreter.snapshot(None)?;
        }
        Ok(booted)
    }

    /// Takes the interpreter of a mode out of its field, or makes one.
    fn take(&mut self, mode: Mode) -> Result<Box<Booted>, Error> {
        let kept = match mode {
            Mode::SharedNothing => self.shared_nothing.take(),
            Mode::Prefork => self.prefork.take(),
            Mode::Fresh => return self.boot(mode),
        };
        self.made |= kept.is_none();
        kept.map_or_else(|| self.boot(mode), Ok)
    }

    /// Puts it back for the next request; a fresh one is dropped.
    fn put(&mut self, mode: Mode, booted: Box<Booted>) {
        match mode {
            Mode::SharedNothing => self.shared_nothing = Some(booted),
            Mode::Prefork => self.prefork = Some(booted),
            Mode::Fresh => {}
        }
    }

    /// Prepares an interpreter for the next request. One that cannot be restored is dropped.
    fn renew(&mut self, mode: Mode, mut booted: Box<Booted>, outcome: RequestOutcome) {
        booted.state.forget();
        match mode {
            Mode::SharedNothing => {
                if let Err(error) = booted.interpreter.restore() {
                    self.note(&format!("an interpreter could not be restored and is replaced: {error}"));
                    return;
                }
            }
            Mode::Prefork if outcome == RequestOutcome::OutOfMemory || !booted.interpreter.usable() => return,
            Mode::Prefork => {
                if let Err(error) = booted.interpreter.enter(|ruby| stdlib::forget(ruby, booted.last_match)) {
                    self.note(&format!("an interpreter could not forget its request and is replaced: {error}"));
                    return;
                }
            }
            Mode::Fresh => {}
        }
        self.put(mode, booted);
    }

    fn note(&self, text: &str) {
        (self.app.settings().error_log)(text);
    }

    /// The answer to a request that Ruby could not answer, and how it ended. `large` means that its body takes much of
    /// an interpreter's memory.
    fn failed(&self, what: &str, error: &Error, body: Option<BodyError>, large: bool) -> (Response, RequestOutcome) {
        let words = failure::words(error);
        if body.is_none() {
            self.note(&format!("{what}: {words}"));
        }
        let (status, outcome) = match (error, body) {
            (_, Some(BodyError::TooLarge)) => (StatusCode::PAYLOAD_TOO_LARGE, RequestOutcome::Raised),
            (_, Some(BodyError::TooSlow)) => (StatusCode::REQUEST_TIMEOUT, RequestOutcome::Raised),
            (_, Some(BodyError::Broken)) => (StatusCode::BAD_REQUEST, RequestOutcome::Raised),
            (Error::Stopped, None) => (StatusCode::SERVICE_UNAVAILABLE, RequestOutcome::OutOfTime),
            // If the client sent much of what the interpreter can hold, its body is too large: the server is not at
            // fault.
            (Error::OutOfMemory, None) if large => (StatusCode::PAYLOAD_TOO_LARGE, RequestOutcome::OutOfMemory),
            (Error::OutOfMemory, None) => (StatusCode::INTERNAL_SERVER_ERROR, RequestOutcome::OutOfMemory),
            (Error::Raised(exception), None) => (failure::status(exception), RequestOutcome::Raised),
            (_, None) => (StatusCode::INTERNAL_SERVER_ERROR, RequestOutcome::Raised),
        };
        let shown = self.app.settings().development.then_some(words.as_str());
        (failure::answer(status, shown), outcome)
    }
}

impl Application for App {
    fn worker(self: Arc<Self>, slot: Arc<dyn Slot>) -> anyhow::Result<Box<dyn Worker>> {
        Ok(Box::new(RackWorker::new(self, slot)?))
    }
}

impl Worker for RackWorker {
    fn work(&mut self, job: Job) {
        let Job { mut request, reply, queued } = job;
        let began = Instant::now();
        let mode = self.app.settings().mode_of(request.uri.path(), &self.routes);
        let timings = Timings { queued: began - queued, mode: Some(mode), ..Timings::default() };
        let way = Arc::new(Mutex::new(Some(reply)));
        let mut reply = Some(Reply { way: Arc::clone(&way), timings, began });
        let mut booted = match self.take(mode) {
            Ok(booted) => booted,
            Err(error) => {
                let (response, outcome) = self.failed("loading the application", &error, None, false);
                finish(reply, response, outcome);
                return;
            }
        };
        let whole = match &request.body {
            RequestBody::Whole(bytes) => bytes.len(),
            RequestBody::Coming(_) => 0,
        };
        let stopper = booted.interpreter.stopper();
        self.slot.begin(
            self.app.settings().budget,
            Arc::new(move || {
                stopper.stop();
            }),
        );
        self.slot.on_loss(lost(Reply { way, timings, began }, &request));
        let result = serve(&mut booted, &mut request, &mut reply);
        self.slot.end();
        let mut outcome = RequestOutcome::Answered;
        if let Err(error) = result {
            let what = format!("{} {}", request.method, request.uri.path());
            let body = booted.state.input.borrow().failure();
            let sent = whole.max(booted.state.input.borrow().received());
            let large = sent > self.app.settings().memory / SHARE_OF_BODY;
            let (response, how) = self.failed(&what, &error, body, large);
            finish(reply, response, how);
            outcome = how;
        }
        self.renew(mode, booted, outcome);
        if std::mem::take(&mut self.made) {
            mruby::give_back_code();
        }
    }
}

/// Answers a request whose worker cannot be stopped, unless it has begun to answer; and returns which request it is.
fn lost(mut reply: Reply, request: &Request) -> Loss {
    let (method, uri) = (request.method.clone(), request.uri.clone());
    Box::new(move || {
        reply.timings.outcome = RequestOutcome::OutOfTime;
        reply.send(failure::answer(StatusCode::SERVICE_UNAVAILABLE, None));
        format!("{method} {}", uri.path())
    })
}

fn finish(reply: Option<Reply>, response: Response, outcome: RequestOutcome) {
    if let Some(mut reply) = reply {
        reply.timings.outcome = outcome;
        reply.send(response);
    }
}

/// Calls the application and sends its answer. If `reply` is left, the request was not answered.
fn serve(booted: &mut Booted, request: &mut Request, reply: &mut Option<Reply>) -> Result<(), Error> {
    let Booted { interpreter, state, application, call, env, .. } = booted;
    let result = interpreter.enter(|ruby| {
        let environment = env.build(ruby, state, request)?;
        let mut head = Head { status: Value::NIL, headers: Value::NIL };
        let answered = ruby.send(ruby.kept(*application), *call, &[environment]).and_then(|returned| {
            let answer = understand(ruby, returned, &mut head)?;
            let object = answer.object;
            let sent = send(ruby, state, answer, environment, request, reply);
            let closed = close(ruby, object);
            sent.and(closed)
        });
        announce(ruby, state, env.finished(ruby, environment), environment, &head, answered)
    });
    if result.is_err()
        && let Some(mut sink) = state.sink.borrow_mut().take()
        && let Some(unanswered) = sink.abort()
    {
        *reply = Some(unanswered);
    }
    result
}

/// Status and fields as the application returned them, otherwise nil.
struct Head<'r> {
    status: Value<'r>,
    headers: Value<'r>,
}

/// Parses what the application returned. A body is closed even if its answer cannot be sent.
fn understand<'r>(ruby: Ruby<'r>, returned: Value<'r>, head: &mut Head<'r>) -> Outcome<'r, Answer<'r>> {
    let triplet = returned.kind() == Kind::Array && ruby.array_len(returned) == 3;
    if triplet {
        *head = Head { status: ruby.array_get(returned, 0)?, headers: ruby.array_get(returned, 1)? };
    }
    let answer = Answer::of(ruby, returned);
    if answer.is_err() && triplet {
        close(ruby, ruby.array_get(returned, 2)?)?;
    }
    answer
}

/// Sends the answer; a streaming body is written here.
fn send<'r>(
    ruby: Ruby<'r>,
    state: &State,
    answer: Answer<'r>,
    environment: Value<'r>,
    request: &Request,
    reply: &mut Option<Reply>,
) -> Outcome<'r, ()> {
    let Answer { status, headers, object, body } = answer;
    let Some(to) = reply.take() else { return Ok(()) };
    let bodiless =
        request.method == Method::HEAD || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
    let body = match body {
        Body::Whole(bytes) => ResponseBody::Whole(Bytes::from(bytes)),
        Body::File(path) => ResponseBody::File(path),
        Body::Each | Body::Call(_) if bodiless => ResponseBody::Whole(Bytes::new()),
        Body::Each => {
            *state.sink.borrow_mut() = Some(Sink::new(to, status, headers));
            ruby.send_with_block(object, "each", &[], natives::each_block(ruby)?)?;
            complete(state);
            return Ok(());
        }
        Body::Call(callable) => {
            *state.sink.borrow_mut() = Some(Sink::new(to, status, headers));
            // The rest of the request's body can be read from the stream.
            let input = ruby.hash_get(environment, ruby.str("rack.input")?)?;
            let stream = ruby.send(ruby.class("FoolsGold::Stream")?, "new", &[input])?;
            ruby.send(callable, "call", &[stream])?;
            complete(state);
            return Ok(());
        }
    };
    to.send(Response { status, headers, body });
    Ok(())
}

fn complete(state: &State) {
    if let Some(mut sink) = state.sink.borrow_mut().take() {
        sink.finish();
    }
}

/// Closes the body if it has `close`: always, and once.
fn close<'r>(ruby: Ruby<'r>, body: Value<'r>) -> Outcome<'r, ()> {
    if body.kind() != Kind::Array && ruby.respond_to(body, "close")? {
        ruby.send(body, "close", &[])?;
    }
    Ok(())
}

/// Rack 3's `rack.response_finished`: the last callable first, each called with environment, status, fields and the
/// exception. If one raises, that is logged and the others are still called. Returns `answered`.
fn announce<'r>(
    ruby: Ruby<'r>,
    state: &State,
    list: Outcome<'r>,
    env: Value<'r>,
    head: &Head<'r>,
    answered: Outcome<'r, ()>,
) -> Outcome<'r, ()> {
    let list = match list {
        Ok(list) if list.kind() == Kind::Array && ruby.array_len(list) > 0 => list,
        _ => return answered,
    };
    // Once the time is used up nothing can be called any more.
    if answered.as_ref().is_err_and(mruby::Raise::is_stop) {
        return answered;
    }
    let error = answered.as_ref().err().and_then(|raise| raise.exception(ruby)).unwrap_or(Value::NIL);
    for callable in ruby.array_values(list)?.into_iter().rev() {
        let Err(raise) = ruby.send(callable, "call", &[env, head.status, head.headers, error]) else { continue };
        if raise.is_stop() {
            return answered.and(Err(raise));
        }
        if let Some(exception) = raise.exception(ruby) {
            let words = failure::ruby_words(&ruby.describe(exception));
            (state.error_log)(&format!("rack.response_finished: {words}"));
        }
    }
    answered
}
