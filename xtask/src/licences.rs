//! The licences of what is linked in: each dependency has one that `deny.toml` accepts.

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use std::process::Command;

    /// Whether an SPDX expression without `WITH` can be met: `AND` binds tighter than `OR`; crates of old separate by `/`.
    fn is_met(expression: &str, accepted: &[String]) -> bool {
        let expression = expression.replace(['(', ')'], " ").replace('/', " OR ");
        let one = |name: &str| accepted.iter().any(|own| own == name.trim());
        expression.split(" OR ").any(|all| all.split(" AND ").all(one))
    }

    #[test]
    fn every_dependency_has_an_accepted_licence() {
        let folder = crate::run::workspace();
        let text = std::fs::read_to_string(folder.join("deny.toml")).expect("deny.toml");
        let list = text.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']')).expect("a list").0;
        let accepted: Vec<String> = list
            .lines()
            .map(|line| line.trim().trim_matches([',', '"']).to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        let cargo = crate::run::cargo();
        let metadata = ["metadata", "--format-version", "1", "--all-features", "--locked", "--offline"];
        let output = Command::new(cargo).args(metadata).current_dir(&folder).output().expect("cargo metadata");
        let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
        let packages = document["packages"].as_array().expect("packages");
        assert!(packages.len() > 100, "{}", packages.len());
        let refused: Vec<String> = packages
            .iter()
            .filter(|package| !is_met(package["license"].as_str().unwrap_or("none"), &accepted))
            .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
            .collect();
        assert!(refused.is_empty(), "{refused:#?}");
    }

    #[test]
    fn all_parts_of_an_and_are_needed_and_one_of_an_or() {
        let accepted = ["MIT".to_owned(), "ISC".to_owned()];
        for (expression, met) in [
            ("MIT", true),
            ("GPL-3.0 OR MIT", true),
            ("MIT AND GPL-3.0", false),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0", false),
        ] {
            assert_eq!(is_met(expression, &accepted), met, "{expression}");
        }
    }
}
