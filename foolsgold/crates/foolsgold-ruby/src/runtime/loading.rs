//! `require`, `require_relative` and `load` of one interpreter, over the virtual file system.

use super::state::State;
use crate::require::{Features, Found, RequireError};
use crate::stdlib;
use foolsgold_core::files::{Bytecode, Content, VPath};
use mruby::{Args, Outcome, Raise, Ruby, Value};

/// Defines them on Kernel, and `$LOAD_PATH`, `$LOADED_FEATURES`.
pub(super) fn define<'r>(ruby: Ruby<'r>, load_path: &[String]) -> Outcome<'r, ()> {
    let kernel = ruby.class("Kernel")?;
    ruby.define_method(kernel, "require", require)?;
    ruby.define_method(kernel, "require_relative", require_relative)?;
    ruby.define_method(kernel, "load", load)?;
    let entries: Vec<Value<'r>> = load_path.iter().map(|entry| ruby.str(entry)).collect::<Result<_, _>>()?;
    let path = ruby.array(&entries)?;
    for name in ["$LOAD_PATH", "$:"] {
        ruby.gvar_set(name, path)?;
    }
    let features = ruby.array(&[])?;
    for name in ["$LOADED_FEATURES", "$\""] {
        ruby.gvar_set(name, features)?;
    }
    Ok(())
}

fn require<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    args.expect(1..=1)?;
    let name = ruby.string(args.required(0)?)?;
    let (state, path) = (State::of(ruby)?, load_path(ruby)?);
    let found = state.features.borrow_mut().require(&*state.files, &name, &path, &state.folder);
    if matches!(found, Ok(Found::Already)) {
        // Does nothing for files that were already loaded; the interpreter's own library may have a part for the name.
        return Ok(Value::from_bool(stdlib::require(ruby, &name)?.unwrap_or(false)));
    }
    finish(ruby, found)
}

fn require_relative<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    args.expect(1..=1)?;
    let name = ruby.string(args.required(0)?)?;
    let state = State::of(ruby)?;
    let from = state.loading.borrow().last().cloned();
    let from = from.or_else(|| state.folder.join("main.rb")).unwrap_or_else(VPath::root);
    let found = state.features.borrow_mut().require_relative(&*state.files, &name, &from);
    finish(ruby, found)
}

fn load<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    args.expect(1..=2)?;
    let name = ruby.string(args.required(0)?)?;
    let (state, path) = (State::of(ruby)?, load_path(ruby)?);
    match Features::load(&*state.files, &name, &path, &state.folder) {
        Ok((path, content)) => {
            run(ruby, &path, &content)?;
            Ok(Value::from_bool(true))
        }
        Err(error) => Err(refuse(&error)),
    }
}

fn finish<'r>(ruby: Ruby<'r>, found: Result<Found, RequireError>) -> Outcome<'r> {
    match found {
        Ok(Found::Already) => Ok(Value::from_bool(false)),
        Ok(Found::Load(path, content)) => {
            let feature = ruby.str(path.as_str())?;
            let loaded = run(ruby, &path, &content);
            if let Err(raise) = loaded {
                State::of(ruby)?.features.borrow_mut().failed(&path);
                return Err(raise);
            }
            ruby.array_push(ruby.gvar_get("$LOADED_FEATURES")?, feature)?;
            Ok(Value::from_bool(true))
        }
        Err(error) => Err(refuse(&error)),
    }
}

/// Runs a file's code at the top level.
pub(super) fn run<'r>(ruby: Ruby<'r>, path: &VPath, content: &Content) -> Outcome<'r> {
    let state = State::of(ruby)?;
    state.loading.borrow_mut().push(path.clone());
    let result = match content {
        Content::Plain(source) => ruby.eval(&String::from_utf8_lossy(source), path.as_str(), 1),
        Content::Compiled { bytecode: Bytecode::Constant(bytecode), .. } => ruby.load_in_place(bytecode),
        Content::Compiled { bytecode: Bytecode::Read(bytecode), .. } => ruby.load(bytecode),
    };
    state.loading.borrow_mut().pop();
    result
}

fn refuse<'r>(error: &RequireError) -> Raise<'r> {
    Raise::new("LoadError", error.to_string())
}

/// The present `$LOAD_PATH`: applications extend it.
fn load_path(ruby: Ruby<'_>) -> Outcome<'_, Vec<String>> {
    let path = ruby.gvar_get("$LOAD_PATH")?;
    ruby.array_values(path)?.into_iter().map(|entry| ruby.string(entry)).collect()
}
