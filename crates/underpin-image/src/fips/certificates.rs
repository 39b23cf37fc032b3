//! Which versions of a FIPS provider have a certificate, from a dated table with sources; and the only words about it that are shown.

use serde::Deserialize;
use std::sync::OnceLock;

const TABLE: &str = include_str!("../../data/fips-certificates.toml");

/// A certificate for one version of a module.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Certificate {
    /// What the module calls itself.
    pub module: String,
    /// Its version.
    pub version: String,
    /// The certificate's number.
    pub number: u32,
    /// The standard it was issued for.
    pub standard: String,
    /// The day on which the source says so.
    pub announced: String,
    /// The day to which it is listed as active.
    pub until: String,
    /// Where that is said.
    pub source: String,
}

/// The shipped table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Certificates {
    /// The day on which it was made.
    pub as_of: String,
    /// Its rows.
    #[serde(rename = "certificate")]
    pub all: Vec<Certificate>,
}

/// The table that this program carries.
pub fn certificates() -> &'static Certificates {
    static READ: OnceLock<Certificates> = OnceLock::new();
    // A test reads it; a table that cannot be read knows no certificate.
    READ.get_or_init(|| toml::from_str(TABLE).unwrap_or_default())
}

impl Certificates {
    /// The certificate of exactly this module and version.
    #[must_use]
    pub fn find(&self, module: &str, version: &str) -> Option<&Certificate> {
        self.all.iter().find(|row| row.module == module && row.version == version)
    }

    /// What can be said of a module: never more than number, standard and dates of a certificate for its version.
    #[must_use]
    pub fn standing(&self, module: &str, version: &str) -> String {
        match self.find(module, version) {
            Some(row) => format!(
                "version {version} was validated: certificate #{} ({}), announced {}, listed as active until {}; whether this file is built \
                 and installed as its security policy demands cannot be seen in it (table of {})",
                row.number, row.standard, row.announced, row.until, self.as_of
            ),
            None => format!("no certificate is known for {module} {version} (table of {})", self.as_of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_day(text: &str) -> bool {
        let parts: Vec<&str> = text.split('-').collect();
        let number = |text: &str, digits| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        matches!(parts.as_slice(), [year, month, day] if number(year, 4) && number(month, 2) && number(day, 2))
    }

    #[test]
    fn every_row_of_the_table_has_number_days_and_source() {
        let table: Certificates = toml::from_str(TABLE).unwrap();
        assert!(is_day(&table.as_of) && !table.all.is_empty());
        for row in &table.all {
            assert!(is_day(&row.announced) && is_day(&row.until) && row.announced < row.until, "{row:?}");
            assert!(row.announced <= table.as_of && row.source.starts_with("https://") && row.number > 0, "{row:?}");
        }
        let mut keys: Vec<_> = table.all.iter().map(|row| (&row.module, &row.version)).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), table.all.len(), "a version stands twice");
    }

    #[test]
    fn what_is_said_of_a_version_has_number_and_day_or_says_that_nothing_is_known() {
        let table = certificates();
        for row in &table.all {
            let said = table.standing(&row.module, &row.version);
            assert!(said.contains(&format!("#{}", row.number)) && said.contains(&row.announced), "{said}");
        }
        for (module, version) in [("OpenSSL FIPS Provider", "3.5.9"), ("Another FIPS Provider", "3.1.2"), ("", "")] {
            let said = table.standing(module, version);
            assert!(said.starts_with("no certificate is known") && said.contains(&table.as_of), "{said}");
            assert!(!said.contains("validated") && !said.contains("complian"), "{said}");
        }
    }
}
