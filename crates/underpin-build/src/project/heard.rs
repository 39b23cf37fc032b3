//! The user's variables that a build system compiles by. Objects made with others are not reused: make goes by the times of
//! files alone (its manual, "Rule Syntax"), and CMake and meson read `CFLAGS` and the like only when a folder is configured for
//! the first time (cmake-env-variables(7), meson's manual, "Compiler options").

use crate::tool::SEARCHED;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

/// What pkg-config, CMake (`find_package`) and configure scripts read, mentioned or not, as compilers do [`SEARCHED`].
const SITE: &str = "CONFIG_SITE";
const BEGINNINGS: [&str; 2] = ["CMAKE_", "PKG_CONFIG"];
const ENDINGS: [&str; 4] = ["FLAGS", "LIBS", "_ROOT", "_DIR"];
/// The answers that are given to a configure script (Autoconf's manual, "Cache Variable Names").
const CACHED: &str = "_cv_";
/// Those of a session: they differ between two terminals, or below another make, and say nothing of what is compiled.
const SESSION: [&str; 24] = [
    "_",
    "COLUMNS",
    "DISPLAY",
    "HOME",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOGNAME",
    "MAIL",
    "MAKE",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "OLDPWD",
    "PATH",
    "PWD",
    "SHELL",
    "SHLVL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "USER",
];
const OF_SESSIONS: [&str; 5] = ["CARGO", "LC_", "RUST", "SSH_", "XDG_"];

/// Those among `all` that decide what is made of sources with these texts (makefiles, scripts), sorted by name.
pub fn heard(texts: &[String], all: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
    let mentioned: BTreeSet<&str> = texts.iter().flat_map(|text| mentions(text)).collect();
    let is_heard = |name: &str| is_known(name) || mentioned.contains(name) && !is_of_session(name);
    all.filter(|(name, _)| name.to_str().is_some_and(is_heard)).collect()
}

/// [`heard`] among this process's variables, as bytes for a hash.
pub fn bytes(texts: &[String]) -> Vec<u8> {
    let pairs = heard(texts, std::env::vars_os());
    let words = pairs.iter().flat_map(|(name, value)| [name.as_os_str(), value]);
    words.flat_map(|word: &OsStr| word.as_encoded_bytes().iter().copied().chain([0])).collect()
}

fn is_known(name: &str) -> bool {
    let by_its_form = BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name.contains(CACHED);
    SEARCHED.contains(&name) || name == SITE || by_its_form && !is_of_session(name)
}

fn is_of_session(name: &str) -> bool {
    SESSION.contains(&name) || OF_SESSIONS.iter().any(|beginning| name.starts_with(beginning))
}

/// The names behind `$`: `$NAME`, `${NAME}`, `$(NAME)`, and CMake's `$ENV{NAME}`.
fn mentions(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).map(|rest| {
        let rest = rest.strip_prefix("ENV{").unwrap_or_else(|| rest.trim_start_matches(['{', '(']));
        let end = rest.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str], all: &[&str]) -> Vec<String> {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        let all = all.iter().map(|name| (OsString::from(name), OsString::from("1")));
        heard(&texts, all).into_keys().map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn what_every_build_system_reads_is_heard() {
        let all = ["CFLAGS", "ZLIB_CFLAGS", "ZLIB_LIBS", "CMAKE_PREFIX_PATH", "OpenSSL_ROOT", "LIBRARY_PATH"];
        let mut sorted = all.map(str::to_owned).to_vec();
        sorted.sort();
        assert_eq!(names(&[], &all), sorted);
        assert_eq!(names(&[], &["ac_cv_func_fork", "gl_cv_host"]), ["ac_cv_func_fork", "gl_cv_host"]);
    }

    #[test]
    fn what_the_sources_mention_is_heard() {
        let texts = ["a: ; $(CC) $(OPT) -o $@\n", "x=${WITH_SSL:-no}; $DEBUG", "if($ENV{VARIANT})"];
        let all = ["OPT", "WITH_SSL", "DEBUG", "VARIANT", "EDITOR"];
        assert_eq!(names(&texts, &all), ["DEBUG", "OPT", "VARIANT", "WITH_SSL"]);
    }

    #[test]
    fn another_terminal_or_an_outer_make_changes_nothing() {
        let texts = ["a: ; $(MAKE) -C $(PWD) $(MAKEFLAGS) $(HOME) $(TERM) $(LC_ALL)"];
        let all =
            ["PWD", "HOME", "TERM", "MAKEFLAGS", "XDG_RUNTIME_DIR", "SSH_TTY", "LC_ALL", "SHLVL", "CARGO_MANIFEST_DIR"];
        assert_eq!(names(&texts, &all), [""; 0]);
    }
}
