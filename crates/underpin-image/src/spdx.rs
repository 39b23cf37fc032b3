//! Lists of what something consists of, for others: SPDX 2.3 as JSON.

use crate::installed::Installed;
use crate::oci::times::rfc3339;
use crate::store::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// In place of what is not known.
pub const NOTHING: &str = "NOASSERTION";

/// What a document lists so far.
#[derive(Default)]
pub struct List {
    packages: Vec<Value>,
    relations: Vec<Value>,
    names: BTreeSet<String>,
}

impl List {
    /// Adds a package, or a file that is a package of its own, under an identifier of [`List::id`]. `sum` is a SHA-256; `more`
    /// are further fields.
    pub fn push(&mut self, id: &str, name: &str, version: Option<&str>, licence: &str, sum: Option<&str>, more: Value) {
        let mut package = json!({
            "SPDXID": id,
            "name": name,
            "downloadLocation": NOTHING,
            "filesAnalyzed": false,
            "licenseConcluded": NOTHING,
            "licenseDeclared": licence,
            "copyrightText": NOTHING,
        });
        if let Some(version) = version.filter(|version| !version.is_empty()) {
            package["versionInfo"] = version.into();
        }
        if let Some(sum) = sum {
            package["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": sum }]);
        }
        if let (Some(package), Value::Object(more)) = (package.as_object_mut(), more) {
            package.extend(more);
        }
        self.packages.push(package);
    }

    /// Adds a relationship.
    pub fn relate(&mut self, from: &str, kind: &str, to: &str) {
        self.relations.push(json!({
            "spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to,
        }));
    }

    /// An identifier that nothing else has: letters, digits, dots and hyphens (SPDX 2.3, 3.2).
    pub fn id(&mut self, words: &[&str]) -> String {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
        let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
        let text: String = words.join("-").chars().map(plain).collect();
        let with = |number: usize| if number == 0 { text.clone() } else { format!("{text}-{number}") };
        let free = (0..).map(with).find(|name| !self.names.contains(name)).unwrap_or(text.clone());
        self.names.insert(free.clone());
        format!("SPDXRef-{free}")
    }

    /// Adds a package that a machine has, which is in `whole`; returns its identifier.
    pub fn installed(&mut self, package: &Installed, whole: &str) -> String {
        let id = self.id(&[&package.name, &package.version]);
        let more = json!({
            "sourceInfo": format!("the source package {} of {}", package.source, package.distribution),
            "externalRefs": [purl(&package.distribution, &package.name, &package.version, &package.architecture)],
        });
        self.push(&id, &package.name, Some(&package.version), NOTHING, None, more);
        self.relate(whole, "CONTAINS", &id);
        id
    }

    /// The document. `created` is in seconds since 1970.
    #[must_use]
    pub fn document(self, name: &str, created: u32) -> Value {
        let List { packages, relations, .. } = self;
        let content = json!([packages, relations]).to_string();
        json!({
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": name,
            // A name for this very list.
            "documentNamespace": format!("urn:sha256:{}", hex(&Sha256::digest(content))),
            "creationInfo": {
                "created": rfc3339(created),
                "creators": [format!("Tool: underpin-{}", env!("CARGO_PKG_VERSION"))],
            },
            "packages": packages,
            "relationships": relations,
        })
    }
}

pub(crate) fn purl(distribution: &str, name: &str, version: &str, architecture: &str) -> Value {
    reference(&format!("pkg:deb/{distribution}/{name}@{}?arch={architecture}", escaped(version)))
}

pub(crate) fn reference(locator: &str) -> Value {
    json!({ "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator })
}

/// A version in a package's address: of what versions have, only these are not as they are.
pub(crate) fn escaped(version: &str) -> String {
    version.replace('%', "%25").replace(':', "%3A").replace('+', "%2B")
}
