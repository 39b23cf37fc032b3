//! An interpreter with an application in it.

use super::app::{App, Journal};
use super::env::EnvTemplate;
use super::input::Incoming;
use super::stream::Sink;
use super::{loading, natives};
use crate::require::{Features, Mark};
use crate::stdlib;
use foolsgold_core::files::{Files, VPath};
use foolsgold_core::metrics::{Counter, Gauge, Histogram, Registry};
use foolsgold_core::work::{Mode, Slot};
use mruby::{Error, Interpreter, Kept, Limits, Outcome, Raise, Ruby, Sym, Value};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// What the natives of one interpreter know. Nothing of a request outlives it: [`State::forget`].
pub(super) struct State {
    pub(super) files: Arc<dyn Files>,
    /// The rackup file's folder.
    pub(super) folder: VPath,
    pub(super) features: RefCell<Features>,
    /// Files that are being loaded, the innermost last.
    pub(super) loading: RefCell<Vec<VPath>>,
    pub(super) journal: Journal,
    pub(super) registry: Arc<Registry>,
    /// Metrics found before: the registry has a lock.
    pub(super) counters: RefCell<HashMap<Vec<u8>, Arc<Counter>>>,
    pub(super) gauges: RefCell<HashMap<Vec<u8>, Arc<Gauge>>>,
    pub(super) histograms: RefCell<HashMap<Vec<u8>, Arc<Histogram>>>,
    /// The body of the present request.
    pub(super) input: RefCell<Incoming>,
    /// Where the body of the present answer goes, where it is written by and by.
    pub(super) sink: RefCell<Option<Sink>>,
    /// The watch over Ruby's time.
    slot: Arc<dyn Slot>,
    /// What was loaded when the application was ready.
    ready: Cell<Option<Mark>>,
}

impl State {
    pub(super) fn of<'r>(ruby: Ruby<'r>) -> Outcome<'r, Rc<State>> {
        ruby.data::<State>().ok_or_else(|| Raise::new("ScriptError", "this interpreter has no application"))
    }

    /// While the client is waited for, Ruby's time does not count.
    pub(super) fn wait(&self, waits: bool) {
        if waits {
            self.slot.pause();
        } else {
            self.slot.resume();
        }
    }

    /// Ruby sleeps: its time counts, but others may use the processor.
    pub(super) fn sleeps(&self, sleeps: bool) {
        self.slot.sleeps(sleeps);
    }

    /// Forgets the request, as the restored heap has.
    pub(super) fn forget(&self) {
        if let Some(mark) = self.ready.get() {
            self.features.borrow_mut().rewind(mark);
        }
        self.loading.borrow_mut().clear();
        *self.input.borrow_mut() = Incoming::default();
        *self.sink.borrow_mut() = None;
    }
}

/// An interpreter whose application waits for requests.
pub(super) struct Booted {
    pub(super) interpreter: Interpreter,
    pub(super) state: Rc<State>,
    /// The application.
    pub(super) application: Kept,
    /// Names that every request needs.
    pub(super) call: Sym,
    pub(super) last_match: Sym,
    pub(super) env: EnvTemplate,
    /// What the rackup file says of modes.
    pub(super) routes: Vec<(String, Mode)>,
}

impl Booted {
    /// Loads an application into a new interpreter.
    ///
    /// # Errors
    /// What its loading raised, a syntax error, too little memory.
    pub(super) fn new(app: &App, mode: Mode, slot: &Arc<dyn Slot>) -> Result<Booted, Error> {
        let settings = app.settings();
        let mut interpreter = Interpreter::new(Limits { memory: settings.memory })?;
        interpreter.insert_data(State {
            files: Arc::clone(&settings.files),
            folder: settings.rackup.parent(),
            features: RefCell::new(Features::with_native(stdlib::features())),
            loading: RefCell::default(),
            journal: Arc::clone(&settings.journal),
            registry: Arc::clone(&settings.metrics),
            counters: RefCell::default(),
            gauges: RefCell::default(),
            histograms: RefCell::default(),
            input: RefCell::default(),
            sink: RefCell::default(),
            slot: Arc::clone(slot),
            ready: Cell::new(None),
        });
        let (state, application, names, env, routes) = interpreter.enter(|ruby| {
            let state = State::of(ruby)?;
            loading::define(ruby, &settings.load_path)?;
            natives::define(ruby)?;
            stdlib::define(ruby)?;
            for feature in ["foolsgold", "foolsgold/input", "foolsgold/stream", "foolsgold/logger"] {
                require(ruby, feature)?;
            }
            let (application, routes) = build(ruby, &settings.rackup, settings.development)?;
            let env = EnvTemplate::new(ruby, app, mode)?;
            let names = (ruby.intern("call")?, stdlib::last_match(ruby)?);
            Ok((state, ruby.keep(application)?, names, env, routes))
        })?;
        state.ready.set(Some(state.features.borrow().mark()));
        let (call, last_match) = names;
        Ok(Booted { interpreter, state, application, call, last_match, env, routes })
    }
}

fn require<'r>(ruby: Ruby<'r>, name: &str) -> Outcome<'r, ()> {
    ruby.send(ruby.top_self(), "require", &[ruby.str(name)?]).map(drop)
}

/// The application of a rackup file, and its routes.
fn build<'r>(ruby: Ruby<'r>, rackup: &VPath, development: bool) -> Outcome<'r, (Value<'r>, Vec<(String, Mode)>)> {
    require(ruby, "foolsgold/rackup")?;
    let given = [ruby.str(rackup.as_str())?, Value::from_bool(development)];
    let application = ruby.send(ruby.class("FoolsGold::Rackup")?, "load", &given)?;
    let list = ruby.send(ruby.class("FoolsGold")?, "routes", &[])?;
    let mut routes = Vec::new();
    for pair in ruby.array_values(list)? {
        let prefix = ruby.string(ruby.array_get(pair, 0)?)?;
        let mode = ruby.string(ruby.to_s(ruby.array_get(pair, 1)?)?)?;
        let mode = match mode.as_str() {
            "shared_nothing" => Mode::SharedNothing,
            "prefork" => Mode::Prefork,
            "fresh" => Mode::Fresh,
            other => return Err(Raise::new("ArgumentError", format!("there is no mode `{other}`"))),
        };
        routes.push((prefix, mode));
    }
    Ok((application, routes))
}
