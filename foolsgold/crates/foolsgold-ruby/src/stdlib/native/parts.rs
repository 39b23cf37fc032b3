//! The Ruby on top of the natives: some of it is loaded from the start, the rest when it is required or one of its
//! constants is first missed, since every byte of a heap is copied when it is restored. An application that requires
//! what it uses has it in its snapshot.
//!
//! The build compiles it. Each interpreter records in its own heap what it has loaded.

use super::{json, raise};
use crate::library::Builtin;
use mruby::{Args, Kind, Outcome, Ruby, Value};

/// One file of Ruby, and when it is loaded.
struct Part {
    /// Its name among the embedded files.
    file: &'static str,
    /// Names for `require`. A part without any is loaded from the start.
    features: &'static [&'static str],
    /// Constants that it defines.
    constants: &'static [&'static str],
    /// Natives that it needs.
    natives: Option<for<'r> fn(Ruby<'r>) -> Outcome<'r, ()>>,
}

impl Part {
    const fn from_the_start(file: &'static str) -> Self {
        Self { file, features: &[], constants: &[], natives: None }
    }
}

static PARTS: [Part; 10] = [
    Part::from_the_start("stdlib/parts.rb"),
    Part::from_the_start("stdlib/regexp.rb"),
    Part::from_the_start("stdlib/string.rb"),
    Part::from_the_start("stdlib/gaps.rb"),
    Part::from_the_start("stdlib/time.rb"),
    Part::from_the_start("stdlib/env.rb"),
    Part {
        file: "stdlib/json.rb",
        features: &["json", "json/ext", "json/generic_object"],
        constants: &["JSON"],
        natives: Some(json::define),
    },
    Part {
        file: "stdlib/digest.rb",
        features: &["digest", "digest/md5", "digest/sha1", "digest/sha2", "openssl", "base64", "securerandom"],
        constants: &["Digest", "OpenSSL", "Base64", "SecureRandom"],
        natives: None,
    },
    Part {
        file: "stdlib/uri.rb",
        features: &["uri", "cgi", "cgi/escape", "cgi/util"],
        constants: &["URI", "CGI"],
        natives: None,
    },
    Part { file: "stdlib/strscan.rb", features: &["strscan"], constants: &["StringScanner"], natives: None },
];

/// Features that are available from the start, under names that programs require.
const FROM_THE_START: &[&str] = &["time", "enumerator", "fiber", "rational", "complex", "thread", "etc", "set", "pp"];

/// All names for `require` that [`require`] knows.
pub fn features() -> impl Iterator<Item = &'static str> {
    PARTS.iter().flat_map(|part| part.features).chain(FROM_THE_START).copied()
}

/// `require` for one of these names: whether something was loaded now, or `None` if the name is not known here.
///
/// # Errors
/// If Ruby raises, which happens only when memory is short.
pub fn require<'r>(ruby: Ruby<'r>, feature: &str) -> Outcome<'r, Option<bool>> {
    let feature = feature.strip_suffix(".rb").unwrap_or(feature);
    match PARTS.iter().find(|part| part.features.contains(&feature)) {
        Some(part) => load(ruby, part).map(Some),
        None => Ok(FROM_THE_START.contains(&feature).then_some(false)),
    }
}

/// Loads the parts needed from the start, and prepares for the rest.
pub fn define<'r>(ruby: Ruby<'r>, native: Value<'r>) -> Outcome<'r, ()> {
    ruby.const_set(native, LOADED, ruby.hash()?)?;
    // load_constant(name): whether a part has defined it now.
    ruby.define_singleton_method(native, "load_constant", |ruby, args: Args<'_>| {
        let name = args.required(0)?;
        let name = if name.kind() == Kind::String { name } else { ruby.to_s(name)? };
        let name = ruby.string(name)?;
        match PARTS.iter().find(|part| part.constants.contains(&name.as_str())) {
            Some(part) => load(ruby, part).map(Value::from_bool),
            None => Ok(Value::FALSE),
        }
    })?;
    ruby.define_singleton_method(native, "require_feature", |ruby, args: Args<'_>| {
        Ok(require(ruby, &args.string(0)?)?.map_or(Value::NIL, Value::from_bool))
    })?;
    for part in PARTS.iter().filter(|part| part.features.is_empty()) {
        load(ruby, part)?;
    }
    Ok(())
}

/// The constant in `FoolsGold::Native` that lists the loaded files.
const LOADED: &str = "PARTS";

fn load<'r>(ruby: Ruby<'r>, part: &'static Part) -> Outcome<'r, bool> {
    let loaded = ruby.const_get(ruby.class("FoolsGold::Native")?, LOADED)?;
    let file = ruby.str(part.file)?;
    if ruby.hash_get(loaded, file)?.truthy() {
        return Ok(false);
    }
    ruby.hash_set(loaded, file, Value::TRUE)?;
    if let Some(natives) = part.natives {
        natives(ruby)?;
    }
    let bytecode = Builtin::bytecode(part.file);
    ruby.load_in_place(bytecode.ok_or_else(|| raise("LoadError", format!("{} is not in this build", part.file)))?)?;
    Ok(true)
}
