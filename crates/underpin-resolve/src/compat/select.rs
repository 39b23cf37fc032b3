//! From what a user types after `--on` to a system of the table.
//!
//! Spelling is forgiving (`RHEL-8`, `rhel:8`, `rhel8.6`), meaning is not: a name that selects nothing is an error that
//! lists similar names, never a guess.

use super::systems::{System, SystemTable};

/// A name that selects no system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown system {asked:?}{}: expected one of {}", did_you_mean(.near), .known.join(", "))]
pub struct UnknownSystem {
    /// What was asked for.
    pub asked: String,
    /// Similar names, best first. May be empty.
    pub near: Vec<String>,
    /// All identifiers, in the table's order.
    pub known: Vec<String>,
}

fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => String::new(),
        names => format!(" (did you mean {}?)", names.join(" or ")),
    }
}

impl SystemTable {
    /// Finds a system by identifier or alias, in any case, with or without separators. A point release (`rhel8.6`)
    /// selects its release if the table has no entry of its own for it.
    ///
    /// # Errors
    /// [`UnknownSystem`] with similar names.
    pub fn select(&self, asked: &str) -> Result<&System, UnknownSystem> {
        let wanted = normal_form(asked);
        let release = wanted.rsplit_once('.').map(|(release, _)| release.to_owned());
        [Some(wanted.clone()), release]
            .into_iter()
            .flatten()
            .find_map(|name| self.systems.iter().find(|system| names(system).any(|own| normal_form(own) == name)))
            .ok_or_else(|| UnknownSystem {
                asked: asked.to_owned(),
                near: self.near(&wanted),
                known: self.systems.iter().map(|system| system.id.clone()).collect(),
            })
    }

    /// Up to four names within an edit distance of a third of the length, or sharing the letters before the number.
    fn near(&self, wanted: &str) -> Vec<String> {
        let letters = |name: &str| name.trim_end_matches(|c: char| !c.is_ascii_alphabetic()).to_owned();
        let mut scored: Vec<(usize, &String)> = Vec::new();
        for name in self.systems.iter().flat_map(names) {
            let own = normal_form(name);
            let distance = edit_distance(&own, wanted);
            let same_letters = !letters(wanted).is_empty() && letters(&own) == letters(wanted);
            if same_letters || distance <= wanted.chars().count() / 3 {
                scored.push((distance, name));
            }
        }
        scored.sort();
        scored.into_iter().map(|(_, name)| name.clone()).take(4).collect()
    }
}

fn names(system: &System) -> impl Iterator<Item = &String> {
    std::iter::once(&system.id).chain(&system.aliases)
}

/// Lower case, without the separators that people put between a name and its number.
fn normal_form(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, ' ' | '-' | '_' | ':' | '/')).flat_map(char::to_lowercase).collect()
}

/// Levenshtein's distance, in one row. Names are short; input is cut at 64 characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (i, cb) in b.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, ca) in a.iter().enumerate() {
            let substituted = diagonal + usize::from(*ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[a.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static SystemTable {
        SystemTable::embedded().expect("the embedded table is sound")
    }

    fn id(asked: &str) -> Option<&'static str> {
        table().select(asked).ok().map(|system| system.id.as_str())
    }

    #[test]
    fn the_names_people_use_select_the_system_they_mean() {
        for (asked, expected) in [
            ("rhel8", "rhel8"),
            ("RHEL 8", "rhel8"),
            ("rhel-8.6", "rhel8"),
            ("rocky8", "rhel8"),
            ("almalinux:9", "rhel9"),
            ("el10", "rhel10"),
            ("centos7", "rhel7"),
            ("debian11", "debian11"),
            ("bullseye", "debian11"),
            ("ubuntu22.04", "ubuntu22.04"),
            ("jammy", "ubuntu22.04"),
            ("alpine3.19", "alpine3.19"),
            ("alpine3.19.1", "alpine3.19"),
            ("amazonlinux2", "amazonlinux2"),
            ("al2023", "amazonlinux2023"),
            ("sles15sp5", "sles15sp5"),
            ("arch", "arch"),
        ] {
            assert_eq!(id(asked), Some(expected), "{asked}");
        }
    }

    #[test]
    fn an_unknown_name_names_its_neighbours_and_the_whole_list() {
        let error = table().select("debain11").expect_err("misspelt");
        assert_eq!(error.near.first().map(String::as_str), Some("debian11"));
        assert!(error.to_string().contains("did you mean debian11"), "{error}");
        assert!(error.known.contains(&"alpine3.19".to_owned()));
        let error = table().select("ubuntu").expect_err("no release named");
        assert!(error.near.iter().all(|name| name.starts_with("ubuntu")), "{error}");
        assert!(table().select("solaris").expect_err("unknown").near.is_empty());
        assert!(table().select("").is_err());
    }

    #[test]
    fn the_distance_counts_single_edits() {
        for (a, b, expected) in
            [("", "", 0), ("abc", "abc", 0), ("abc", "abd", 1), ("kitten", "sitting", 3), ("", "ab", 2)]
        {
            assert_eq!(edit_distance(a, b), expected, "{a} {b}");
            assert_eq!(edit_distance(b, a), expected, "{b} {a}");
        }
    }
}
