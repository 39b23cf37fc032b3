//! Settings of an allocator: parsed, checked against the names that it has, and turned into an environment variable.

use crate::MallocError;
use crate::on_board::{AllocatorKind, allocator};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use underpin_sys::{QUESTION_LIMIT, answer};

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name, as the allocator has it.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Reads `a=1,b:2`. The first `=` or `:` of a part ends the name.
pub(crate) fn parse(allocator: &str, text: &str) -> Result<Vec<Setting>, MallocError> {
    text.split(',')
        .map(|part| {
            let refused = || MallocError::Setting { allocator: allocator.to_owned(), part: part.to_owned() };
            let (name, value) = part.split_once(['=', ':']).ok_or_else(refused)?;
            if name.is_empty() || value.is_empty() {
                return Err(refused());
            }
            Ok(Setting { name: name.to_owned(), value: value.to_owned() })
        })
        .collect()
}

/// Makes sure that an allocator on board has settings of these names; mimalloc and glibc silently ignore others.
pub(crate) fn check_names(kind: AllocatorKind, settings: &[Setting]) -> Result<(), MallocError> {
    let known = allocator(kind).map_or(&[][..], |allocator| allocator.options);
    for setting in settings {
        if !known.contains(&setting.name.as_str()) {
            return Err(MallocError::UnknownSetting {
                allocator: kind.name().to_owned(),
                name: setting.name.clone(),
                known: known.iter().map(|&name| name.to_owned()).collect(),
            });
        }
    }
    Ok(())
}

/// `MALLOC_CONF`: what the user has there already comes first, since in jemalloc the last value of a name counts.
/// `abort_conf` makes it refuse a value that it would otherwise only complain about.
pub(crate) fn jemalloc(settings: &[Setting], before: Option<&OsStr>) -> Vec<(OsString, OsString)> {
    if settings.is_empty() {
        return Vec::new();
    }
    let mut parts: Vec<String> = settings.iter().map(|setting| format!("{}:{}", setting.name, setting.value)).collect();
    parts.push("abort_conf:true".to_owned());
    vec![("MALLOC_CONF".into(), joined(before, ",", &parts.join(",")))]
}

/// `MIMALLOC_NAME`.
pub(crate) fn mimalloc(settings: &[Setting]) -> Vec<(OsString, OsString)> {
    let variable = |setting: &Setting| {
        (format!("MIMALLOC_{}", setting.name.to_ascii_uppercase()).into(), setting.value.clone().into())
    };
    settings.iter().map(variable).collect()
}

/// `GLIBC_TUNABLES`, checked against what the program's own loader lists if it can (`--list-tunables`, since glibc
/// 2.33); glibc ignores what it does not know or finds out of range.
pub(crate) fn glibc(
    settings: &[Setting],
    loader: &Path,
    before: Option<&OsStr>,
) -> Result<Vec<(OsString, OsString)>, MallocError> {
    if settings.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(tunables) = list_tunables(loader) {
        settings.iter().try_for_each(|setting| check_tunable(setting, &tunables))?;
    }
    let parts: Vec<String> =
        settings.iter().map(|setting| format!("glibc.malloc.{}={}", setting.name, setting.value)).collect();
    Ok(vec![("GLIBC_TUNABLES".into(), joined(before, ":", &parts.join(":")))])
}

fn joined(before: Option<&OsStr>, separator: &str, added: &str) -> OsString {
    let mut whole = before.filter(|before| !before.is_empty()).map(OsStr::to_owned).unwrap_or_default();
    if !whole.is_empty() {
        whole.push(separator);
    }
    whole.push(added);
    whole
}

/// A tunable of malloc with its range.
#[derive(Debug, PartialEq, Eq)]
struct Tunable {
    name: String,
    low: u64,
    high: u64,
}

fn list_tunables(loader: &Path) -> Option<Vec<Tunable>> {
    let output = answer(Command::new(loader).arg("--list-tunables").env_clear(), QUESTION_LIMIT).ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let tunables: Vec<Tunable> = text.lines().filter_map(tunable).collect();
    (!tunables.is_empty()).then_some(tunables)
}

/// `glibc.malloc.arena_max: 0x0 (min: 0x1, max: 0xffffffffffffffff)`
fn tunable(line: &str) -> Option<Tunable> {
    let (name, rest) = line.strip_prefix("glibc.malloc.")?.split_once(':')?;
    let (_, range) = rest.split_once("(min: ")?;
    let (low, high) = range.strip_suffix(')')?.split_once(", max: ")?;
    // glibc prints the limits of signed tunables with their sign; those of malloc that have one start at 0.
    Some(Tunable { name: name.to_owned(), low: number(low)?, high: number(high)? })
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn check_tunable(setting: &Setting, tunables: &[Tunable]) -> Result<(), MallocError> {
    let Some(tunable) = tunables.iter().find(|tunable| tunable.name == setting.name) else {
        return Err(MallocError::UnknownSetting {
            allocator: "glibc's malloc".to_owned(),
            name: setting.name.clone(),
            known: tunables.iter().map(|tunable| tunable.name.clone()).collect(),
        });
    };
    match number(&setting.value) {
        Some(value) if (tunable.low..=tunable.high).contains(&value) => Ok(()),
        _ => Err(MallocError::OutOfRange {
            name: setting.name.clone(),
            value: setting.value.clone(),
            low: tunable.low,
            high: tunable.high,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, value: &str) -> Setting {
        Setting { name: name.into(), value: value.into() }
    }

    #[test]
    fn the_users_own_settings_are_kept_and_ours_count_last() {
        let variables = jemalloc(&[setting("narenas", "2")], Some(OsStr::new("narenas:7,tcache:false")));
        assert_eq!(variables[0].1, "narenas:7,tcache:false,narenas:2,abort_conf:true");
        assert!(jemalloc(&[], Some(OsStr::new("narenas:7"))).is_empty());
    }

    #[test]
    fn a_line_of_tunables_is_read() {
        let line = "glibc.malloc.arena_max: 0x0 (min: 0x1, max: 0xffffffffffffffff)";
        assert_eq!(tunable(line), Some(Tunable { name: "arena_max".into(), low: 1, high: u64::MAX }));
        let line = "glibc.malloc.perturb: 0 (min: 0, max: 255)";
        assert_eq!(tunable(line), Some(Tunable { name: "perturb".into(), low: 0, high: 255 }));
        assert_eq!(tunable("glibc.rtld.nns: 0x4 (min: 0x1, max: 0x10)"), None);
    }

    #[test]
    fn a_value_that_glibc_would_ignore_is_refused() {
        let tunables = [Tunable { name: "arena_max".into(), low: 1, high: 8 }];
        assert!(check_tunable(&setting("arena_max", "2"), &tunables).is_ok());
        for (name, value) in [("arena_max", "0"), ("arena_max", "9"), ("arena_max", "two"), ("arena_mx", "2")] {
            assert!(check_tunable(&setting(name, value), &tunables).is_err(), "{name}={value}");
        }
    }

    #[test]
    fn names_are_checked_against_the_allocators_own_list() {
        assert!(check_names(AllocatorKind::Mimalloc, &[setting("purge_delay", "0")]).is_ok());
        let error = check_names(AllocatorKind::Mimalloc, &[setting("purge_dealy", "0")]).unwrap_err();
        assert!(error.to_string().contains("purge_delay"), "{error}");
        assert!(check_names(AllocatorKind::Jemalloc, &[setting("narenas", "2")]).is_ok());
        assert!(check_names(AllocatorKind::Snmalloc, &[setting("anything", "2")]).is_err());
    }
}
