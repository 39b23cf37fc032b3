//! What a user names: an allocator and its settings.

use crate::MallocError;
use crate::on_board::AllocatorKind;
use crate::settings::{self, Setting};
use std::path::PathBuf;
use std::str::FromStr;

/// One allocator and its settings, as named by a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malloc {
    /// As it was typed: the allocator's name in tables.
    pub label: String,
    /// Which allocator.
    pub choice: Choice,
    /// Settings, in the order given.
    pub settings: Vec<Setting>,
}

/// Which allocator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The C library's own.
    System,
    /// One that underpin includes.
    OnBoard(AllocatorKind),
    /// A shared object of the user's.
    File(PathBuf),
}

impl FromStr for Malloc {
    type Err = MallocError;

    /// `NAME` or `NAME:SETTINGS`; a name with a slash or of the form `*.so*` is a file.
    fn from_str(text: &str) -> Result<Malloc, MallocError> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let on_board = crate::on_board::on_board().iter().map(|allocator| allocator.kind);
        let choice = match name {
            "system" => Choice::System,
            "" => return Err(MallocError::Unknown { name: text.to_owned() }),
            name if name.contains('/') || name.ends_with(".so") || name.contains(".so.") => Choice::File(name.into()),
            name => on_board
                .into_iter()
                .find(|kind| kind.name() == name)
                .map(Choice::OnBoard)
                .ok_or_else(|| MallocError::Unknown { name: name.to_owned() })?,
        };
        let settings = rest.map_or(Ok(Vec::new()), |rest| settings::parse(text, rest))?;
        Ok(Malloc { label: text.to_owned(), choice, settings })
    }
}

/// Several allocators in one text, as in `system,jemalloc:narenas:2,dirty_decay_ms:100,mimalloc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MallocList(pub Vec<Malloc>);

impl FromStr for MallocList {
    type Err = MallocError;

    /// A comma begins another allocator, unless it is among settings and what follows it is neither an allocator's
    /// name nor a path.
    fn from_str(text: &str) -> Result<MallocList, MallocError> {
        let mut texts: Vec<String> = Vec::new();
        for part in text.split(',') {
            match texts.last_mut() {
                Some(last) if last.contains(':') && is_setting(part) => {
                    last.push(',');
                    last.push_str(part);
                }
                _ => texts.push(part.to_owned()),
            }
        }
        texts.iter().map(|text| text.parse()).collect::<Result<_, _>>().map(MallocList)
    }
}

fn is_setting(part: &str) -> bool {
    let name = part.split(':').next().unwrap_or_default();
    part.contains([':', '=']) && !name.is_empty() && name.parse::<Malloc>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_begins_a_variant_or_continues_its_settings() {
        let labels = |text: &str| {
            let list: MallocList = text.parse().unwrap();
            list.0.into_iter().map(|allocator| allocator.label).collect::<Vec<_>>()
        };
        assert_eq!(labels("system,jemalloc,mimalloc"), ["system", "jemalloc", "mimalloc"]);
        assert_eq!(
            labels("jemalloc:narenas:2,dirty_decay_ms:100,system:arena_max=2,./a.so"),
            ["jemalloc:narenas:2,dirty_decay_ms:100", "system:arena_max=2", "./a.so"]
        );
        assert_eq!(labels("jemalloc:a=1,mimalloc:b=2,c=3"), ["jemalloc:a=1", "mimalloc:b=2,c=3"]);
        for (text, blamed) in [("jemalloc,hoard", "hoard"), ("jemalloc:narenas:2,hoard", "hoard"), ("system,", "")] {
            let error = text.parse::<MallocList>().unwrap_err();
            assert!(matches!(&error, MallocError::Unknown { name } if name == blamed), "{text}: {error}");
        }
    }

    fn settings(text: &str) -> Vec<(String, String)> {
        let allocator: Malloc = text.parse().unwrap();
        allocator.settings.into_iter().map(|setting| (setting.name, setting.value)).collect()
    }

    #[test]
    fn a_name_is_followed_by_settings_in_either_style() {
        let pairs = settings("jemalloc:dirty_decay_ms:100,narenas:2");
        assert_eq!(pairs, [("dirty_decay_ms".into(), "100".into()), ("narenas".into(), "2".into())]);
        assert_eq!(settings("system:arena_max=2"), [("arena_max".into(), "2".into())]);
        assert_eq!(settings("jemalloc:slab_sizes:1-4:1|5-8:2")[0].1, "1-4:1|5-8:2");
        assert!(settings("mimalloc").is_empty());
    }

    #[test]
    fn a_path_is_a_file() {
        for path in ["/usr/lib/libtcmalloc.so.4", "./mine.so", "mine.so"] {
            assert_eq!(path.parse::<Malloc>().unwrap().choice, Choice::File(path.into()), "{path}");
        }
    }

    #[test]
    fn an_unknown_name_and_half_a_setting_are_refused() {
        for text in [
            "hoard",
            "",
            ":x=1",
            "jemalloc:",
            "jemalloc:narenas",
            "jemalloc:=2",
            "system:arena_max=",
            "jemalloc:a:1,,b:2",
        ] {
            assert!(text.parse::<Malloc>().is_err(), "{text}");
        }
    }
}
