//! The state of one interpreter outside its heap.

use super::input::Incoming;
use super::settings::{ErrorLog, Settings};
use super::stream::Sink;
use crate::require::{Features, Mark};
use crate::stdlib;
use foolsgold_core::files::{Files, VPath};
use foolsgold_core::metrics::{Counter, Gauge, Histogram, Registry};
use foolsgold_core::work::Slot;
use mruby::{Outcome, Raise, Ruby};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The state that the natives of one interpreter use. Nothing of a request outlives it: [`State::forget`].
pub(super) struct State {
    pub(super) files: Arc<dyn Files>,
    /// The rackup file's folder.
    pub(super) folder: VPath,
    pub(super) features: RefCell<Features>,
    /// Files being loaded, the innermost last.
    pub(super) loading: RefCell<Vec<VPath>>,
    pub(super) error_log: ErrorLog,
    pub(super) registry: Arc<Registry>,
    /// Metrics looked up before: the registry has a lock.
    pub(super) counters: RefCell<HashMap<Vec<u8>, Arc<Counter>>>,
    pub(super) gauges: RefCell<HashMap<Vec<u8>, Arc<Gauge>>>,
    pub(super) histograms: RefCell<HashMap<Vec<u8>, Arc<Histogram>>>,
    /// The body of the present request.
    pub(super) input: RefCell<Incoming>,
    /// Where the body of the present answer goes, if it is streamed.
    pub(super) sink: RefCell<Option<Sink>>,
    /// The watchdog's slot, which limits Ruby's time.
    slot: Arc<dyn Slot>,
    /// What was loaded when the application was ready.
    ready: Cell<Option<Mark>>,
}

impl State {
    /// The initial state: nothing loaded, and no request.
    pub(super) fn new(settings: &Settings, slot: &Arc<dyn Slot>) -> State {
        State {
            files: Arc::clone(&settings.files),
            folder: settings.rackup.parent(),
            features: RefCell::new(Features::with_native(stdlib::features())),
            loading: RefCell::default(),
            error_log: Arc::clone(&settings.error_log),
            registry: Arc::clone(&settings.metrics),
            counters: RefCell::default(),
            gauges: RefCell::default(),
            histograms: RefCell::default(),
            input: RefCell::default(),
            sink: RefCell::default(),
            slot: Arc::clone(slot),
            ready: Cell::new(None),
        }
    }

    /// Records that the application is loaded: what it required stays for every request.
    pub(super) fn mark_ready(&self) {
        self.ready.set(Some(self.features.borrow().mark()));
    }

    pub(super) fn of<'r>(ruby: Ruby<'r>) -> Outcome<'r, Rc<State>> {
        ruby.data::<State>().ok_or_else(|| Raise::new("ScriptError", "this interpreter has no application"))
    }

    /// Ruby's time does not count while it waits for the client.
    pub(super) fn wait(&self, waits: bool) {
        if waits {
            self.slot.pause();
        } else {
            self.slot.resume();
        }
    }

    /// Ruby sleeps: its time counts, but other threads may use the processor.
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
