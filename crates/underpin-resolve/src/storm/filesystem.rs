//! The table of file systems: parameters of clients and servers, each group with its source and its uncertainty.
//!
//! The data is `data/filesystems.toml`, compiled in; a user's own file has the same form. This module reads and checks
//! it; it decides nothing.

use super::client::Client;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

/// The data file as it is compiled in.
const EMBEDDED: &str = include_str!("../../data/filesystems.toml");

/// All file systems of a data file, in its order.
#[derive(Clone, Debug)]
pub struct FileSystemTable {
    /// Where facts come from, by the key that file systems name.
    pub sources: BTreeMap<String, ParameterSource>,
    /// The file systems.
    pub systems: Vec<FileSystem>,
}

/// Where a parameter was taken from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterSource {
    /// What was read or measured, in words.
    pub text: String,
    /// Read in the named place or measured; otherwise it is general knowledge that was not re-checked.
    pub verified: bool,
}

/// One file system: its clients and its server.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSystem {
    /// As `--fs` names it.
    pub name: String,
    /// The display name.
    pub title: String,
    /// How the kernel of a node uses it.
    pub client: Client,
    /// The server.
    pub server: Server,
    /// Share of each mapped file that a start reads.
    pub touched: f64,
    /// Keys of the sources, by the parameters that they cover.
    pub sources: BTreeMap<String, String>,
}

/// Which nodes share a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serves {
    /// All nodes of the job.
    Job,
    /// One node: a daemon or the kernel on it.
    Node,
}

/// The server of a file system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Server {
    /// From sending a request to receiving its answer, on an otherwise idle server.
    pub latency: Duration,
    /// The latency may be smaller or larger by this factor.
    pub latency_doubt: f64,
    /// Operations per second; `None` for no limit.
    pub rate: Option<f64>,
    /// Factor, as above.
    pub rate_doubt: f64,
    /// Bytes per second of contents; `None` for no limit.
    pub bandwidth: Option<f64>,
    /// Factor, as above.
    pub bandwidth_doubt: f64,
    /// Bytes that one read brings.
    pub read_size: u64,
    /// Which nodes share it.
    pub serves: Serves,
    /// Squared coefficient of variation of its service times: 0 all alike, 1 exponential.
    pub variation: f64,
    /// Processor time that one operation costs the node that asks.
    pub client_processor: Duration,
    /// Time beside latency and processor that one operation costs a process that is alone on its node: being woken.
    pub client_wait: Duration,
}

/// Why a data file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileSystemError {
    /// Not of the form of `data/filesystems.toml`.
    #[error("not a table of file systems: {0}")]
    Form(String),
    /// A file system names a source that is not there.
    #[error("file system {name} names the source {key:?}, which the file does not have")]
    Source {
        /// The file system.
        name: String,
        /// The key.
        key: String,
    },
    /// A figure is out of its range.
    #[error("file system {name}: {field} must be {must}")]
    Range {
        /// The file system.
        name: String,
        /// Which figure.
        field: &'static str,
        /// What it must be.
        must: &'static str,
    },
}

impl FileSystemTable {
    /// The table that is compiled in.
    ///
    /// # Panics
    /// Never: a test reads the same bytes.
    #[must_use]
    #[allow(clippy::expect_used, reason = "the compiled-in bytes are read by a test")]
    pub fn embedded() -> &'static FileSystemTable {
        static TABLE: OnceLock<FileSystemTable> = OnceLock::new();
        TABLE.get_or_init(|| FileSystemTable::parse(EMBEDDED).expect("the compiled-in table"))
    }

    /// Its source text: a template for a user's own table.
    #[must_use]
    pub fn embedded_text() -> &'static str {
        EMBEDDED
    }

    /// Reads a table.
    ///
    /// # Errors
    /// [`FileSystemError`], by what is wrong with it.
    pub fn parse(text: &str) -> Result<FileSystemTable, FileSystemError> {
        let file: File = toml::from_str(text).map_err(|error| FileSystemError::Form(error.to_string()))?;
        let systems: Vec<FileSystem> = file.filesystem.into_iter().map(FileSystem::from).collect();
        systems.iter().try_for_each(|system| check(system, &file.sources))?;
        Ok(FileSystemTable { sources: file.sources, systems })
    }

    /// The file system of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FileSystem> {
        self.systems.iter().find(|system| system.name == name)
    }
}

fn check(system: &FileSystem, sources: &BTreeMap<String, ParameterSource>) -> Result<(), FileSystemError> {
    if let Some(key) = system.sources.values().find(|key| !sources.contains_key(*key)) {
        return Err(FileSystemError::Source { name: system.name.clone(), key: key.clone() });
    }
    let server = &system.server;
    let figure = |figure: Option<f64>| figure.is_none_or(|figure| figure.is_finite() && figure > 0.0);
    let doubts = [server.latency_doubt, server.rate_doubt, server.bandwidth_doubt];
    let wrong = [
        (!figure(server.rate), "rate", "above 0"),
        (!figure(server.bandwidth), "bandwidth", "above 0"),
        (server.read_size == 0, "read_size", "above 0"),
        (doubts.iter().any(|doubt| !doubt.is_finite() || *doubt < 1.0), "a doubt", "a factor of at least 1"),
        (!(0.0..=1.0).contains(&system.touched), "touched", "between 0 and 1"),
        (!(0.0..=1.0).contains(&server.variation), "variation", "between 0 and 1"),
    ];
    match wrong.into_iter().find(|(is, ..)| *is) {
        Some((_, field, must)) => Err(FileSystemError::Range { name: system.name.clone(), field, must }),
        None => Ok(()),
    }
}

/// The form of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    sources: BTreeMap<String, ParameterSource>,
    filesystem: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    title: String,
    client: Client,
    server: ServerEntry,
    touched: f64,
    #[serde(default)]
    sources: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerEntry {
    latency_us: u32,
    latency_doubt: f64,
    rate: Option<f64>,
    #[serde(default = "one")]
    rate_doubt: f64,
    bandwidth_mib: Option<f64>,
    #[serde(default = "one")]
    bandwidth_doubt: f64,
    read_kib: u64,
    serves: Serves,
    variation: f64,
    #[serde(default)]
    client_processor_us: u32,
    #[serde(default)]
    client_wait_us: u32,
}

fn one() -> f64 {
    1.0
}

impl From<Entry> for FileSystem {
    fn from(entry: Entry) -> FileSystem {
        let Entry { name, title, client, server, touched, sources } = entry;
        let microseconds = |figure: u32| Duration::from_micros(u64::from(figure));
        let server = Server {
            latency: microseconds(server.latency_us),
            latency_doubt: server.latency_doubt,
            rate: server.rate,
            rate_doubt: server.rate_doubt,
            bandwidth: server.bandwidth_mib.map(|figure| figure * 1_048_576.0),
            bandwidth_doubt: server.bandwidth_doubt,
            read_size: server.read_kib.saturating_mul(1024),
            serves: server.serves,
            variation: server.variation,
            client_processor: microseconds(server.client_processor_us),
            client_wait: microseconds(server.client_wait_us),
        };
        FileSystem { name, title, client, server, touched, sources }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiled_in_table_is_whole_and_every_system_names_its_sources() {
        let table = FileSystemTable::parse(EMBEDDED).expect("the table");
        let names: Vec<&str> = table.systems.iter().map(|system| system.name.as_str()).collect();
        assert_eq!(names, ["nfs", "nfs3", "lustre", "gpfs", "beegfs", "cvmfs", "local", "slowfs"]);
        for system in &table.systems {
            for group in ["caching", "latency", "rate", "contents"] {
                assert!(system.sources.contains_key(group), "{}: no source for {group}", system.name);
            }
        }
        let used = |key: &String| table.systems.iter().any(|system| system.sources.values().any(|used| used == key));
        assert!(table.sources.keys().all(used), "a source that nothing names");
    }

    #[test]
    fn a_figure_out_of_range_is_refused_by_name() {
        let with = |from: &str, to: &str| FileSystemTable::parse(&EMBEDDED.replacen(from, to, 1)).map(|_| ());
        assert!(with("name = \"nfs\"", "name = \"other\"").is_ok());
        let error = with("touched = 0.", "touched = 7.").expect_err("a share above 1");
        assert!(error.to_string().contains("touched must be between 0 and 1"), "{error}");
        let error = with("found = \"30s\"", "found = \"perhaps\"").expect_err("no time");
        assert!(error.to_string().contains("perhaps"), "{error}");
        assert!(with("\n[sources]", "\n[surces]").is_err());
    }
}
