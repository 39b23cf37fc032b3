//! An interpreter with an application loaded into it.

use super::env::EnvTemplate;
use super::settings::Settings;
use super::state::State;
use super::{loading, natives};
use crate::stdlib;
use foolsgold_core::files::VPath;
use foolsgold_core::work::{Mode, Slot};
use mruby::{Error, Interpreter, Kept, Limits, Outcome, Raise, Ruby, Sym, Value};
use std::rc::Rc;
use std::sync::Arc;

/// An interpreter whose application is ready for requests.
pub(super) struct Booted {
    pub(super) interpreter: Interpreter,
    pub(super) state: Rc<State>,
    /// The application.
    pub(super) application: Kept,
    /// Names that every request needs.
    pub(super) call: Sym,
    pub(super) last_match: Sym,
    pub(super) env: EnvTemplate,
    /// The modes that the rackup file sets.
    pub(super) routes: Vec<(String, Mode)>,
}

impl Booted {
    /// Loads an application into a new interpreter.
    ///
    /// # Errors
    /// Whatever loading raised, a syntax error, or too little memory.
    pub(super) fn new(settings: &Settings, mode: Mode, slot: &Arc<dyn Slot>) -> Result<Booted, Error> {
        let mut interpreter = Interpreter::new(Limits { memory: settings.memory })?;
        interpreter.insert_data(State::new(settings, slot));
        let (state, application, names, env, routes) = interpreter.enter(|ruby| {
            let state = State::of(ruby)?;
            loading::define(ruby, &settings.load_path)?;
            natives::define(ruby)?;
            stdlib::define(ruby)?;
            for feature in ["foolsgold", "foolsgold/input", "foolsgold/stream", "foolsgold/logger"] {
                require(ruby, feature)?;
            }
            let (application, routes) = build(ruby, &settings.rackup, settings.development)?;
            let env = EnvTemplate::new(ruby, settings, mode)?;
            let names = (ruby.intern("call")?, stdlib::last_match(ruby)?);
            Ok((state, ruby.keep(application)?, names, env, routes))
        })?;
        state.mark_ready();
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
            other => return Err(Raise::new("ArgumentError", format!("unknown mode `{other}`"))),
        };
        routes.push((prefix, mode));
    }
    Ok((application, routes))
}
