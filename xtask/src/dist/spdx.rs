//! The list of what is inside a program: SPDX 2.3 as JSON, one package for each crate that is linked.

use super::{Release, VERSION, sha256};
use crate::run;
use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// One crate.
struct Crate {
    name: String,
    version: String,
    licence: String,
}

/// The document of a release, the same for the same sources.
pub fn list(sources: &Path, release: &Release<'_>) -> anyhow::Result<String> {
    let product = release.product.name;
    let checksums = checksums(&fs::read_to_string(sources.join("Cargo.lock"))?);
    let program = fs::read(release.program)?;
    let mut packages = vec![json!({
        "SPDXID": "SPDXRef-product",
        "name": product,
        "versionInfo": VERSION,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": "MIT OR Apache-2.0",
        "licenseDeclared": "MIT OR Apache-2.0",
        "copyrightText": "NOASSERTION",
        "checksums": [{ "algorithm": "SHA256", "checksumValue": sha256(&program) }],
    })];
    let mut relations = vec![relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-product")];
    for part in crates(sources, release)? {
        let id = format!("SPDXRef-{}-{}", plain(&part.name), plain(&part.version));
        packages.push(package(&id, &part, checksums.get(&(part.name.clone(), part.version.clone()))));
        relations.push(relation("SPDXRef-product", "CONTAINS", &id));
    }
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("{product}-{VERSION}-{}", release.processor.of_kernel()),
        // A name for this very file: the program's own checksum makes it unique.
        "documentNamespace": format!("urn:sha256:{}", sha256(&program)),
        "creationInfo": { "created": utc(release.date)?, "creators": ["Tool: cargo-xtask-dist"] },
        "packages": packages,
        "relationships": relations,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn package(id: &str, part: &Crate, checksum: Option<&String>) -> Value {
    let mut package = json!({
        "SPDXID": id,
        "name": part.name,
        "versionInfo": part.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": part.licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": format!("pkg:cargo/{}@{}", part.name, part.version),
        }],
    });
    if let Some(checksum) = checksum {
        package["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": checksum }]);
    }
    package
}

fn relation(from: &str, kind: &str, to: &str) -> Value {
    json!({ "spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to })
}

/// Letters, digits, dots and hyphens are all that an identifier may hold (SPDX 2.3, 3.2).
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' }).collect()
}

/// The crates that are linked, by cargo's own account: without build scripts' and tests'.
fn crates(sources: &Path, release: &Release<'_>) -> anyhow::Result<Vec<Crate>> {
    let mut command = Command::new(run::cargo());
    command.args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"]);
    command.args(["--format", "{p}|{l}", "--package", release.product.name, "--target", release.processor.triple()]);
    let output = command.current_dir(sources).output()?;
    if !output.status.success() {
        bail!("cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    }
    let mut found = BTreeMap::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let (name, licence) = line.split_once('|').with_context(|| format!("cargo tree: {line}"))?;
        let mut words = name.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { bail!("cargo tree: {line}") };
        let version = version.trim_start_matches('v').to_owned();
        // `MIT/Apache-2.0` is from before Cargo knew SPDX; a mark of repetition follows some licences.
        let licence = licence.trim_end_matches(" (*)").replace('/', " OR ").replace("  ", " ");
        let licence = if licence.is_empty() { "NOASSERTION".to_owned() } else { licence };
        if name != release.product.name {
            found.insert((name.to_owned(), version.clone()), Crate { name: name.to_owned(), version, licence });
        }
    }
    Ok(found.into_values().collect())
}

/// Name and version to SHA-256, from the lock file: three keys of each `[[package]]`.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"').to_owned())
    };
    let of = |block: &str| Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?));
    lock.split("[[package]]").filter_map(of).collect()
}

fn utc(date: u64) -> anyhow::Result<String> {
    let date = format!("--date=@{date}");
    let output = Command::new("date").args(["--utc", &date, "+%Y-%m-%dT%H:%M:%SZ"]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_gives_a_checksum_for_each_version() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0\"\nchecksum = \"00ff\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1\"\n";
        let found = checksums(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[&("a".to_owned(), "1.0".to_owned())], "00ff");
    }

    #[test]
    fn an_identifier_holds_letters_digits_dots_and_hyphens() {
        assert_eq!(plain("a_b+1.0"), "a-b-1.0");
    }
}
