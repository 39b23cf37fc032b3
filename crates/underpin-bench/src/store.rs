//! Records on disk: one JSON Lines file each, written line by line as the runs end.
//!
//! The first line is the header, then one line for each run, then the end. A file without an end is an experiment that
//! was interrupted, and can be read like any other; a last line that was cut off is left out. Lines of kinds that this
//! version does not know are refused, not skipped: figures would be missing.

use crate::error::ObserverError;
use crate::observer::Observer;
use crate::record::{BenchRecord, End, Header, MemoryRun, Sample, Stopped};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// The format of the lines; a changed format gets another number.
const FORM: &str = "underpin.record/1";

/// A record that could not be kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// Write, read, ...
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is not what it ought to be.
    #[error("{}: line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// There is no such record.
    #[error("there is no saved run {name:?} in {}; {hint}", folder.display())]
    NoSuch {
        /// As asked for.
        name: String,
        /// Where it was looked for.
        folder: PathBuf,
        /// What there is.
        hint: String,
    },
    /// A name that cannot be a file name.
    #[error("invalid name {0:?} for a saved run: use letters, digits, `-`, `_` and `.`")]
    Name(String),
}

/// One line of a file.
#[derive(Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Entry<'a> {
    Header { form: String, header: std::borrow::Cow<'a, Header> },
    Sample(std::borrow::Cow<'a, Sample>),
    Memory(std::borrow::Cow<'a, MemoryRun>),
    End(std::borrow::Cow<'a, End>),
}

/// A folder of records: `.underpin/bench` in the current directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
}

/// A record that is being written.
#[derive(Debug)]
pub struct RunFile {
    path: PathBuf,
    target: PathBuf,
    file: Option<File>,
    failure: Option<StoreError>,
}

const EXTENSION: &str = "jsonl";

impl Store {
    /// The store of a folder.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Store {
        Store { folder: folder.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Begins a record. With a name it takes the place of an older one of that name, but only once it is complete.
    ///
    /// # Errors
    /// [`StoreError::Name`]; a folder that cannot be written is reported by [`RunFile::failure`], so that the figures can
    /// be shown first.
    pub fn begin(&self, started: u64, name: Option<&str>) -> Result<RunFile, StoreError> {
        if let Some(name) = name {
            Store::check_name(name)?;
        }
        let made = fs::create_dir_all(&self.folder);
        let stem = |number: u32| if number == 0 { format!("run-{started}") } else { format!("run-{started}-{number}") };
        let mut attempt = made.map_err(|source| (self.folder.clone(), source)).map(|()| None);
        let mut path = self.path(&stem(0));
        for number in 0..1000 {
            if !matches!(attempt, Ok(None)) {
                break;
            }
            path = self.path(&stem(number));
            match File::options().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => attempt = other.map(Some).map_err(|source| (path.clone(), source)),
            }
        }
        let (file, failure) = match attempt {
            Ok(file) => (file, None),
            Err((path, source)) => (None, Some(StoreError::Io { what: "write", path, source })),
        };
        let target = name.map_or_else(|| path.clone(), |name| self.path(name));
        Ok(RunFile { path, target, file, failure })
    }

    fn path(&self, stem: &str) -> PathBuf {
        self.folder.join(format!("{stem}.{EXTENSION}"))
    }

    /// The record of a name, of a path, or the newest one.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn load(&self, name: Option<&str>) -> Result<(PathBuf, BenchRecord), StoreError> {
        let path = self.find(name)?;
        Ok((path.clone(), read(&path)?))
    }

    fn find(&self, name: Option<&str>) -> Result<PathBuf, StoreError> {
        let files = self.list()?;
        let missing = |name: &str| {
            let stems: Vec<String> =
                files.iter().filter_map(|path| Some(path.file_stem()?.to_string_lossy().into())).collect();
            let hint = match stems.as_slice() {
                [] => "nothing has been measured here yet".to_owned(),
                stems => format!("there are {}", stems.join(", ")),
            };
            StoreError::NoSuch { name: name.to_owned(), folder: self.folder.clone(), hint }
        };
        let Some(name) = name else { return files.last().cloned().ok_or_else(|| missing("latest")) };
        let as_path = Path::new(name);
        if as_path.is_file() {
            return Ok(as_path.to_owned());
        }
        let known = self.path(name);
        if files.contains(&known) { Ok(known) } else { Err(missing(name)) }
    }

    /// Every record, the newest last.
    ///
    /// # Errors
    /// If the folder cannot be read; a folder that is not there holds none.
    pub fn list(&self) -> Result<Vec<PathBuf>, StoreError> {
        let failed = |source| StoreError::Io { what: "read", path: self.folder.clone(), source };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                let changed = fs::metadata(&path).and_then(|metadata| metadata.modified());
                files.push((changed.map_err(failed)?, path));
            }
        }
        files.sort();
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }

    /// Whether a run can be saved under a name.
    ///
    /// # Errors
    /// [`StoreError::Name`].
    pub fn check_name(name: &str) -> Result<(), StoreError> {
        let fine = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_' | '.');
        let good = !name.is_empty() && !name.starts_with('.') && name.len() <= 200 && name.chars().all(fine);
        if good { Ok(()) } else { Err(StoreError::Name(name.to_owned())) }
    }
}

impl RunFile {
    /// Where the record is, once it is complete.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Where the lines are now.
    #[must_use]
    pub fn partial(&self) -> &Path {
        &self.path
    }

    /// Removes what was written: nothing was measured.
    pub fn discard(&mut self) {
        if self.file.take().is_some() {
            // One that stays is a record without runs, and says so.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// The first thing that went wrong with keeping it; what was written before is kept.
    pub fn failure(&mut self) -> Option<StoreError> {
        self.failure.take()
    }

    /// Writes a line. The first failure ends writing, not measuring: it is reported by [`RunFile::failure`].
    fn write(&mut self, entry: &Entry<'_>) {
        let Some(file) = &mut self.file else { return };
        let line = serde_json::to_string(entry).map_err(io::Error::from);
        // One write for one line: a line is whole or, on a full disk, the last.
        if let Err(source) = line.and_then(|line| file.write_all(format!("{line}\n").as_bytes())) {
            self.failure = Some(StoreError::Io { what: "write", path: self.path.clone(), source });
            self.file = None;
        }
    }

    fn complete(&mut self) {
        if self.file.is_some()
            && self.path != self.target
            && let Err(source) = fs::rename(&self.path, &self.target)
        {
            self.failure = Some(StoreError::Io { what: "write", path: self.target.clone(), source });
        }
    }
}

impl Observer for RunFile {
    fn begin(&mut self, header: &Header) -> Result<(), ObserverError> {
        self.write(&Entry::Header { form: FORM.to_owned(), header: std::borrow::Cow::Borrowed(header) });
        Ok(())
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), ObserverError> {
        self.write(&Entry::Sample(std::borrow::Cow::Borrowed(sample)));
        Ok(())
    }

    fn memory(&mut self, run: &MemoryRun) -> Result<(), ObserverError> {
        self.write(&Entry::Memory(std::borrow::Cow::Borrowed(run)));
        Ok(())
    }

    fn end(&mut self, end: &End) -> Result<(), ObserverError> {
        self.write(&Entry::End(std::borrow::Cow::Borrowed(end)));
        // One that was cut short does not take the place of an older one.
        if end.stopped != Stopped::Interrupted {
            self.complete();
        }
        Ok(())
    }
}

/// Reads a file of lines.
fn read(path: &Path) -> Result<BenchRecord, StoreError> {
    let io = |source| StoreError::Io { what: "read", path: path.to_owned(), source };
    let mut reader = BufReader::new(File::open(path).map_err(io)?);
    let mut record: Option<BenchRecord> = None;
    let (mut text, mut line) = (String::new(), 0);
    loop {
        text.clear();
        line += 1;
        let wrong = |reason: String| StoreError::Line { path: path.to_owned(), line, reason };
        if reader.read_line(&mut text).map_err(io)? == 0 {
            return record.ok_or_else(|| wrong("the file is empty".to_owned()));
        }
        let entry = match serde_json::from_str::<Entry<'static>>(&text) {
            Ok(entry) => entry,
            // The last line of an experiment that was cut off.
            Err(_) if !text.ends_with('\n') && record.is_some() => continue,
            Err(error) => return Err(wrong(format!("{error}; is it a file of `underpin bench`?"))),
        };
        add(&mut record, entry).map_err(wrong)?;
    }
}

fn add(record: &mut Option<BenchRecord>, entry: Entry<'static>) -> Result<(), String> {
    match (record.as_mut(), entry) {
        (None, Entry::Header { form, header }) if form == FORM => {
            let header = header.into_owned();
            if header.reference >= header.variants.len() {
                return Err("the reference is not one of the variants".to_owned());
            }
            *record = Some(BenchRecord { header, samples: Vec::new(), memory: Vec::new(), end: None });
        }
        (None, Entry::Header { form, .. }) => {
            return Err(format!("unsupported format {form:?}: this underpin reads {FORM:?}"));
        }
        (None, _) => return Err("the header is missing".to_owned()),
        (Some(_), Entry::Header { .. }) => return Err("a second header".to_owned()),
        (Some(record), Entry::Sample(sample)) if sample.variant < record.header.variants.len() => {
            record.samples.push(sample.into_owned());
        }
        (Some(record), Entry::Memory(run)) if run.variant < record.header.variants.len() => {
            record.memory.push(run.into_owned());
        }
        (Some(record), Entry::End(end)) => record.end = Some(end.into_owned()),
        (Some(_), _) => return Err("a run of a variant that the header does not have".to_owned()),
    }
    Ok(())
}
