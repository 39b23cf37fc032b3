//! `FoolsGold::Native`: the functions that the Ruby library gets from Rust.

use super::state::State;
use foolsgold_core::files::{VPath, entity_tag};
use foolsgold_core::metrics::{MetricError, SECONDS};
use mruby::{Args, Outcome, Raise, Ruby, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Defines the module and the other natives specific to this server.
pub(super) fn define(ruby: Ruby<'_>) -> Outcome<'_, ()> {
    let outer = ruby.define_module("FoolsGold")?;
    let native = ruby.define_module_under(outer, "Native")?;
    ruby.define_singleton_method(native, "counter_get", counter_get)?;
    ruby.define_singleton_method(native, "counter_add", counter_add)?;
    ruby.define_singleton_method(native, "gauge_get", gauge_get)?;
    ruby.define_singleton_method(native, "gauge_set", gauge_set)?;
    ruby.define_singleton_method(native, "gauge_add", gauge_add)?;
    ruby.define_singleton_method(native, "histogram_observe", histogram_observe)?;
    ruby.define_singleton_method(native, "log", log)?;
    ruby.define_singleton_method(native, "write_error", write_error)?;
    ruby.define_singleton_method(native, "read_file", read_file)?;
    ruby.define_singleton_method(native, "stat_file", stat_file)?;
    ruby.define_singleton_method(native, "file_tag", file_tag)?;
    ruby.define_singleton_method(native, "file_below?", is_file_below)?;
    ruby.define_singleton_method(native, "list_folder", list_folder)?;
    ruby.define_singleton_method(native, "folder", |ruby, _| ruby.str(State::of(ruby)?.folder.as_str()))?;
    ruby.define_singleton_method(native, "monotonic", |ruby, _| ruby.float(monotonic().as_secs_f64()))?;
    ruby.define_singleton_method(native, "pid", |ruby, _| ruby.int(i64::from(std::process::id())))?;
    ruby.define_singleton_method(native, "output_write", write_output)?;
    ruby.define_singleton_method(native, "output_close", close_output)?;
    ruby.define_singleton_method(native, "sleep", sleep)?;
    ruby.define_singleton_method(native, "input_read", read_input)
}

/// Labels of a metric and their values.
type Labels<'a> = [(&'a str, &'a str)];

/// Parses `name{label="value",...}`, as `FoolsGold::Metrics` writes it: `\\`, `\"` and `\n` in values are escapes.
fn labelled(full: &str) -> (&str, Vec<(&str, String)>) {
    let Some((name, mut rest)) = full.strip_suffix('}').and_then(|full| full.split_once('{')) else {
        return (full, Vec::new());
    };
    let mut labels = Vec::new();
    while let Some((label, quoted)) = rest.split_once("=\"") {
        let mut value = String::new();
        let mut end = quoted.len();
        let mut letters = quoted.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => value.push(match letters.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, other)) => other,
                    None => '\\',
                }),
                other => value.push(other),
            }
        }
        labels.push((label, value));
        rest = quoted[end..].trim_start_matches(',');
    }
    (name, labels)
}

/// A metric by its name, from this interpreter's cache or from the registry.
fn metric<'r, T>(
    cache: &RefCell<HashMap<Vec<u8>, Arc<T>>>,
    name: &[u8],
    make: impl FnOnce(&str, &Labels) -> Result<Arc<T>, MetricError>,
) -> Outcome<'r, Arc<T>> {
    if let Some(found) = cache.borrow().get(name) {
        return Ok(Arc::clone(found));
    }
    let text = String::from_utf8_lossy(name);
    let (plain, labels) = labelled(&text);
    let labels: Vec<(&str, &str)> = labels.iter().map(|(label, value)| (*label, value.as_str())).collect();
    let made = make(plain, &labels).map_err(|error| Raise::new("ArgumentError", error.to_string()))?;
    cache.borrow_mut().insert(name.to_vec(), Arc::clone(&made));
    Ok(made)
}

/// Help text of metrics that an application made.
const HELP: &str = "Kept by the application.";

fn counter_get<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let state = State::of(ruby)?;
    let make = |name: &str, labels: &Labels| state.registry.counter(name, HELP, labels);
    let counter = metric(&state.counters, &ruby.bytes(args.required(0)?)?, make)?;
    ruby.int(i64::try_from(counter.get()).unwrap_or(i64::MAX))
}

fn counter_add<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let state = State::of(ruby)?;
    let make = |name: &str, labels: &Labels| state.registry.counter(name, HELP, labels);
    let counter = metric(&state.counters, &ruby.bytes(args.required(0)?)?, make)?;
    let change = u64::try_from(args.int(1)?).map_err(|_| Raise::new("ArgumentError", "a counter only grows"))?;
    counter.add(change);
    ruby.int(i64::try_from(counter.get()).unwrap_or(i64::MAX))
}

fn gauge<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r, Arc<foolsgold_core::metrics::Gauge>> {
    let state = State::of(ruby)?;
    metric(&state.gauges, &ruby.bytes(args.required(0)?)?, |name, labels| state.registry.gauge(name, HELP, labels))
}

fn gauge_get<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    ruby.float(gauge(ruby, args)?.get())
}

fn gauge_set<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    gauge(ruby, args)?.set(float(args.required(1)?)?);
    args.required(1)
}

fn gauge_add<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let gauge = gauge(ruby, args)?;
    gauge.add(float(args.required(1)?)?);
    ruby.float(gauge.get())
}

fn histogram_observe<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let state = State::of(ruby)?;
    let make = |name: &str, labels: &Labels| state.registry.histogram(name, HELP, labels, &SECONDS);
    metric(&state.histograms, &ruby.bytes(args.required(0)?)?, make)?.observe(float(args.required(1)?)?);
    Ok(Value::NIL)
}

/// A Float or an Integer as a float.
fn float<'r>(value: Value<'r>) -> Outcome<'r, f64> {
    let number = value.as_float().or_else(|| value.as_int().map(|whole| whole as f64));
    number.ok_or_else(|| Raise::new("TypeError", "a number is expected here"))
}

/// `log(level, text)`, with the level's name in Logger.
fn log<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let (level, text) = (args.string(0)?, args.string(1)?);
    (State::of(ruby)?.error_log)(&format!("{level}: {}", text.trim_end_matches('\n')));
    Ok(Value::NIL)
}

/// Writes to `rack.errors`.
fn write_error<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    (State::of(ruby)?.error_log)(ruby.string(args.required(0)?)?.trim_end_matches('\n'));
    Ok(Value::NIL)
}

fn place<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r, VPath> {
    let name = ruby.string(args.required(0)?)?;
    let path = State::of(ruby)?.folder.join(&name);
    path.ok_or_else(|| Raise::new("ArgumentError", format!("invalid path `{name}`")))
}

/// A file of the application, or nil if there is none.
fn read_file<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let content = State::of(ruby)?.files.read(&place(ruby, args)?);
    match content.map_err(|error| Raise::new("IOError", error.to_string()))? {
        Some(content) => content.text().map_or(Ok(Value::NIL), |text| ruby.str(text)),
        None => Ok(Value::NIL),
    }
}

/// `[:file, bytes, seconds since 1970]` for a file, or nil; a folder on disk has `:directory`.
fn stat_file<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let (state, path) = (State::of(ruby)?, place(ruby, args)?);
    let disk = state.files.on_disk(&path).and_then(|path| std::fs::metadata(path).ok());
    let (kind, size, changed) = match disk {
        Some(found) => {
            let changed = found.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            let kind = if found.is_dir() { "directory" } else { "file" };
            (kind, found.len(), changed.unwrap_or_default().as_secs())
        }
        None => match state.files.read(&path).map_err(|error| Raise::new("IOError", error.to_string()))? {
            Some(content) => ("file", content.text().map_or(0, bytes::Bytes::len) as u64, 0),
            None => return Ok(Value::NIL),
        },
    };
    let number = |number: u64| ruby.int(i64::try_from(number).unwrap_or(i64::MAX));
    ruby.array(&[ruby.symbol(kind)?, number(size)?, number(changed)?])
}

/// The ETag of a file whose hash is known, or nil: then the file's date is its validator.
fn file_tag<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    match State::of(ruby)?.files.hash(&place(ruby, args)?) {
        Some(hash) => ruby.str(entity_tag(&hash)),
        None => Ok(Value::NIL),
    }
}

/// `file_below?(path, folder)`: whether the file is below the folder once links are resolved in both. A file outside
/// the folder that is reached through a link is not served to clients by any part of this server: an upload or a
/// package may contain a link, and only the administrator names folders.
fn is_file_below<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let (state, path) = (State::of(ruby)?, place(ruby, args)?);
    let folder = ruby.string(args.required(1)?)?;
    let Some(folder) = state.folder.join(&folder) else { return Ok(Value::from_bool(false)) };
    let on_disk = state.files.on_disk(&folder).and_then(|folder| folder.canonicalize().ok());
    let folder =
        on_disk.and_then(|folder| VPath::from_disk(&folder)).unwrap_or_else(|| state.files.real_folder(&folder));
    let below = state.files.identity(&path).is_some_and(|file| file.below(&folder).is_some());
    Ok(Value::from_bool(below))
}

/// Names in a folder on disk, sorted, or nil.
fn list_folder<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let (state, path) = (State::of(ruby)?, place(ruby, args)?);
    let entries = state.files.on_disk(&path).and_then(|path| std::fs::read_dir(path).ok());
    let Some(entries) = entries else { return Ok(Value::NIL) };
    let mut names: Vec<_> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let names = names.iter().map(|name| ruby.str(name)).collect::<Result<Vec<_>, _>>()?;
    ruby.array(&names)
}

/// Time since the first call.
fn monotonic() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Sleeps on this thread; it counts as Ruby's time. It sleeps in steps, and checks for a stop between them. The pool is
/// told, so that another interpreter can take the requests that wait meanwhile.
fn sleep<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    const STEP: Duration = Duration::from_millis(20);
    let seconds = float(args.required(0)?)?;
    let whole = Duration::try_from_secs_f64(seconds)
        .map_err(|_| Raise::new("ArgumentError", "time interval must not be negative"))?;
    let begun = Instant::now();
    let state = State::of(ruby)?;
    state.sleeps(true);
    let slept = loop {
        let left = whole.saturating_sub(begun.elapsed());
        if left.is_zero() {
            break Ok(Value::from_bool(true));
        }
        std::thread::sleep(left.min(STEP));
        if let Err(stop) = ruby.check() {
            break Err(stop);
        }
    };
    state.sleeps(false);
    slept
}

/// `FoolsGold::Native.input_read(max)`: a String of at most `max` bytes, nil at the end.
fn read_input<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    args.expect(1..=1)?;
    let most = usize::try_from(args.int(0)?).unwrap_or(0).max(1);
    let state = State::of(ruby)?;
    let wait = |waits: bool| state.wait(waits);
    let read = state.input.borrow_mut().read(most, &wait);
    match read {
        Ok(Some(bytes)) => ruby.str(&bytes),
        Ok(None) => Ok(Value::NIL),
        Err(error) => Err(Raise::new("IOError", error.to_string())),
    }
}

/// The block that is passed to `each`.
pub(super) fn each_block(ruby: Ruby<'_>) -> Outcome<'_> {
    ruby.proc(|ruby, args| {
        let chunk = ruby.to_vec(args.required(0)?)?;
        write_chunk(ruby, &chunk)
    })
}

/// `FoolsGold::Native.output_write(text)`.
fn write_output<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let chunk = ruby.to_vec(args.required(0)?)?;
    write_chunk(ruby, &chunk)
}

/// `FoolsGold::Native.output_close`: the answer is complete.
fn close_output<'r>(ruby: Ruby<'r>, _: Args<'r>) -> Outcome<'r> {
    if let Some(sink) = State::of(ruby)?.sink.borrow_mut().as_mut() {
        sink.finish();
    }
    Ok(Value::NIL)
}

fn write_chunk<'r>(ruby: Ruby<'r>, chunk: &[u8]) -> Outcome<'r> {
    let state = State::of(ruby)?;
    match state.sink.borrow_mut().as_mut() {
        Some(sink) => sink.write(&|waits| state.wait(waits), chunk)?,
        None => return Err(Raise::new("IOError", "there is no response to write to")),
    }
    Ok(Value::NIL)
}

#[cfg(test)]
mod tests {
    use super::labelled;

    #[test]
    fn labels_are_taken_out_of_a_name() {
        assert_eq!(labelled("plain"), ("plain", vec![]));
        let labels = vec![("path", "/a,b=\"c\"".to_owned()), ("line", "x\ny\\".to_owned())];
        assert_eq!(labelled("name{path=\"/a,b=\\\"c\\\"\",line=\"x\\ny\\\\\"}"), ("name", labels));
        assert_eq!(labelled("broken{a=\"b}"), ("broken", vec![("a", "b".to_owned())]));
    }
}
