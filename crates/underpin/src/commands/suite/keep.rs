//! A run of suites on disk: a folder with a record for each row, and a file that says what was asked for and what is done.

use super::name;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use underpin_bench::{BenchError, BenchRecord, Machine, Observer, Store};
use underpin_suite::{Build, Failure, Guest, Row};

/// The format of the file; a changed format gets another number.
const FORM: &str = "underpin.suite-run/1";
/// The file.
const FILE: &str = "suite.json";

/// A run of suites: all but the records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    form: String,
    /// Seconds since 1970, when it began.
    pub started: u64,
    /// The version of underpin.
    pub underpin: String,
    /// Where.
    pub machine: Machine,
    /// What it was asked for.
    asked: String,
    /// The builds, once they are made.
    pub builds: Vec<Build>,
    /// The guest that the rows ran in, if they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// The short form.
    pub is_quick: bool,
    /// The originals whose programs measured the rows of their suites.
    #[serde(default)]
    pub originals: Vec<String>,
    /// How long it has taken.
    pub seconds: f64,
    /// How many rows it is to have.
    pub count: usize,
    /// The rows that are done.
    pub rows: Vec<KeptRow>,
    /// Every row was reached.
    is_finished: bool,
    /// The name that it gets then.
    #[serde(default)]
    save: Option<String>,
    #[serde(skip)]
    folder: PathBuf,
}

/// What is known of a run of suites when it begins.
pub struct Begun<'a> {
    /// Where.
    pub machine: &'a Machine,
    /// What it is asked for.
    pub asked: &'a str,
    /// The guest that the rows run in, if they do.
    pub guest: Option<Guest>,
    /// The short form.
    pub is_quick: bool,
    /// How many rows it is to have.
    pub count: usize,
    /// The name that it gets.
    pub save: Option<&'a str>,
}

/// A row that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRow {
    /// Its suite.
    pub suite: String,
    /// Its name.
    pub row: String,
    /// There is a record: it did not fail under every build.
    pub is_measured: bool,
    /// The builds under which it failed.
    pub failures: Vec<Failure>,
}

impl KeptRow {
    /// A row with the builds under which it failed, and whether any other was measured.
    pub fn new(row: &Row, failures: Vec<Failure>, is_measured: bool) -> KeptRow {
        KeptRow { suite: row.suite.to_string(), row: row.name.to_owned(), is_measured, failures }
    }
}

impl Kept {
    /// A new run in a folder of its own. One with a name takes the place of an older one of that name once it is finished.
    ///
    /// # Errors
    /// If the name cannot be a file's, or the folder cannot be written to.
    pub fn begin(place: &Path, begun: Begun<'_>, started: u64) -> anyhow::Result<Kept> {
        if let Some(name) = begun.save {
            Store::check_name(name)?;
        }
        let folder = free(place, started);
        fs::create_dir_all(&folder).with_context(|| format!("cannot write {}", folder.display()))?;
        let kept = Kept {
            form: FORM.to_owned(),
            started,
            underpin: env!("CARGO_PKG_VERSION").to_owned(),
            machine: begun.machine.clone(),
            asked: begun.asked.to_owned(),
            builds: Vec::new(),
            guest: begun.guest,
            is_quick: begun.is_quick,
            originals: Vec::new(),
            seconds: 0.0,
            count: begun.count,
            rows: Vec::new(),
            is_finished: false,
            save: begun.save.map(str::to_owned),
            folder,
        };
        kept.write()?;
        Ok(kept)
    }

    /// The latest run of the same words that did not reach its end.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn unfinished(place: &Path, asked: &str) -> anyhow::Result<Option<Kept>> {
        let runs = all(place)?.into_iter();
        Ok(runs.filter(|kept| !kept.is_finished && kept.asked == asked).max_by_key(|kept| kept.started))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a row is done.
    pub fn has(&self, row: &Row) -> bool {
        self.rows.iter().any(|kept| kept.suite == row.suite.name() && kept.row == row.name)
    }

    /// A row is done.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn add(&mut self, row: KeptRow, seconds: f64) -> anyhow::Result<()> {
        self.rows.push(row);
        self.seconds = seconds;
        self.write()
    }

    /// Every row was reached: one with a name takes the place of an older one of that name.
    ///
    /// # Errors
    /// If that cannot be written; the run is then kept where it is.
    pub fn finish(&mut self) -> anyhow::Result<()> {
        self.is_finished = true;
        self.write()?;
        let (Some(name), Some(place)) = (&self.save, self.folder.parent()) else { return Ok(()) };
        let target = place.join(name);
        let replaced = match fs::remove_dir_all(&target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::rename(&self.folder, &target),
        };
        replaced.with_context(|| format!("the run is kept as {}, not as {name}", self.folder.display()))
    }

    /// The whole file anew, in one step: an end at any moment leaves the old one or the new one.
    fn write(&self) -> anyhow::Result<()> {
        let path = self.folder.join(FILE);
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)
            .with_context(|| format!("cannot write {}", path.display()))?;
        serde_json::to_writer(&mut file, self).with_context(|| format!("cannot write {}", path.display()))?;
        file.persist(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(())
    }
}

/// Keeps the record of a row.
///
/// # Errors
/// If it cannot be written.
pub fn write(run: &Kept, row: &Row, record: &BenchRecord) -> anyhow::Result<()> {
    let mut file = Store::new(run.folder()).begin(run.started, Some(&name(row)))?;
    let kept = |error| anyhow::Error::from(BenchError::from(error));
    file.begin(&record.header).map_err(kept)?;
    for sample in &record.samples {
        file.sample(sample).map_err(kept)?;
    }
    if let Some(end) = &record.end {
        file.end(end).map_err(kept)?;
    }
    file.failure().map_or(Ok(()), |failure| Err(failure.into()))
}

/// A folder that is not there yet.
fn free(place: &Path, started: u64) -> PathBuf {
    let folder = |number: u32| {
        place.join(if number == 0 { format!("run-{started}") } else { format!("run-{started}-{number}") })
    };
    (0..1000).map(folder).find(|folder| !folder.exists()).unwrap_or_else(|| folder(1000))
}

fn read(folder: &Path) -> anyhow::Result<Kept> {
    let path = folder.join(FILE);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let kept: Kept = serde_json::from_str(&text).with_context(|| format!("{}: not a run of suites", path.display()))?;
    if kept.form != FORM {
        anyhow::bail!("{}: unsupported format {:?}: this underpin reads {FORM:?}", path.display(), kept.form);
    }
    Ok(Kept { folder: folder.to_owned(), ..kept })
}

/// Every run that can be read.
fn all(place: &Path) -> anyhow::Result<Vec<Kept>> {
    let entries = match fs::read_dir(place) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", place.display())),
    };
    let folders = entries.filter_map(Result::ok).map(|entry| entry.path());
    Ok(folders.filter(|folder| folder.join(FILE).is_file()).filter_map(|folder| read(&folder).ok()).collect())
}

/// The run that a name means: of `--save`, of a folder, or none.
///
/// # Errors
/// If it is one and cannot be read.
pub fn find(store: &Path, wanted: &str) -> anyhow::Result<Option<Kept>> {
    let candidates = [store.join("suites").join(wanted), PathBuf::from(wanted)];
    let folder = candidates.into_iter().find(|folder| folder.join(FILE).is_file());
    folder.map(|folder| read(&folder)).transpose()
}

/// The names of the runs, the latest last.
///
/// # Errors
/// If the folder cannot be read.
pub fn names(store: &Path) -> anyhow::Result<Vec<String>> {
    let mut runs = all(&store.join("suites"))?;
    runs.sort_by_key(|run| run.started);
    Ok(runs.iter().filter_map(|run| Some(run.folder.file_name()?.to_string_lossy().into_owned())).collect())
}
