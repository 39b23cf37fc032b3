//! Writes a packed executable: files are collected, compiled and read back, and only then is the output put in place.

use super::collect::{Item, collect};
use super::elf;
use super::read::{self, PACKED, running};
use super::{Compile, PackError, Packed};
use crate::config::{CONFIG_FILE, Settings};
use foolsgold_core::files::VPath;
use foolsgold_pack::Data;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// Pack an application and this server into one executable
///
/// Ruby files are compiled and checked first. The executable needs no other file: it serves the application as `foolsgold
/// config.ru` does here, with the foolsgold.toml of the folder. Files whose names begin with a dot are left out.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Folder of the application, with a config.ru
    #[arg(value_name = "APP")]
    pub app: PathBuf,
    /// Executable to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Include Ruby sources as well as bytecode, so that development mode can show them
    #[arg(long)]
    pub with_source: bool,
    /// Exclude a file or folder (path relative to APP); may be repeated
    #[arg(long, value_name = "NAME")]
    pub exclude: Vec<String>,
}

/// What was packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Files, including links.
    pub files: usize,
    /// Those that were compiled.
    pub compiled: usize,
    /// Names that begin with a dot, which were left out.
    pub hidden: usize,
    /// Bytes of the whole executable.
    pub bytes: u64,
}

/// Appends an application to the running executable.
///
/// # Errors
/// If something cannot be packed, compiled or written; an existing output is then left as it was.
pub fn pack(options: &Options, compile: &Compile) -> Result<Report, PackError> {
    let own = &running();
    let named = std::env::current_exe().unwrap_or_else(|_| own.clone());
    if !options.app.join("config.ru").is_file() {
        return Err(PackError::NoConfig(options.app.clone()));
    }
    let executable = executable(own, &named)?;
    refuse_output(&options.output, own)?;
    let collection = collect(&options.app, &options.exclude, &options.output)?;
    check_settings(&collection.items)?;
    let mut files = BTreeMap::new();
    for (name, item) in &collection.items {
        files.insert(name.clone(), data(name, item, options.with_source, compile)?);
    }
    let compiled = files.values().filter(|data| matches!(data, Data::Ruby(..))).count();
    let archive = foolsgold_pack::write(executable.len() as u64, &files);
    write(&options.output, &executable, &archive)?;
    let bytes = (executable.len() + archive.len()) as u64;
    Ok(Report { files: files.len(), compiled, hidden: collection.hidden, bytes })
}

/// Settings that the packed program would refuse at start-up are refused here, where they can still be changed.
fn check_settings(items: &BTreeMap<String, Item>) -> Result<(), PackError> {
    let Some(Item::File(path)) = items.get(CONFIG_FILE) else { return Ok(()) };
    let text = fs::read_to_string(path).map_err(PackError::system("read", path))?;
    let settings = Settings::of_pack(&text, path)?;
    for folder in settings.statics.iter().map(|mount| &mount.folder).filter(|folder| folder.is_relative()) {
        let plain: PathBuf = folder.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        if !items.keys().any(|name| Path::new(name).starts_with(&plain)) {
            return Err(PackError::NothingToServe(folder.clone()));
        }
    }
    Ok(())
}

/// The bytes of the running executable without any pack of its own.
fn executable(own: &Path, named: &Path) -> Result<Vec<u8>, PackError> {
    let mut bytes = Vec::new();
    let mut file = File::open(own).map_err(PackError::system("read", named))?;
    file.read_to_end(&mut bytes).map_err(PackError::system("read", named))?;
    let end = match read::trailer(&file, named)? {
        Some(trailer) => Some(trailer.start),
        None => bytes.first_chunk().and_then(elf::end).filter(|end| *end == bytes.len() as u64),
    };
    let end = end.ok_or_else(|| PackError::Executable(named.to_owned()))?;
    bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
    Ok(bytes)
}

fn refuse_output(output: &Path, own: &Path) -> Result<(), PackError> {
    let Ok(there) = fs::metadata(output) else { return Ok(()) };
    if !there.is_file() {
        return Err(PackError::Output(output.to_owned()));
    }
    let same = fs::metadata(own).is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()));
    if same { Err(PackError::Itself(output.to_owned())) } else { Ok(()) }
}

fn data(name: &str, item: &Item, with_source: bool, compile: &Compile) -> Result<Data, PackError> {
    let path = match item {
        Item::Link(target) => return Ok(Data::Link(target.clone())),
        Item::File(path) => path,
    };
    let bytes = fs::read(path).map_err(PackError::system("read", path))?;
    let ruby = Path::new(name).extension().is_some_and(|extension| extension == "rb" || extension == "ru");
    if !ruby {
        return Ok(Data::Plain(bytes));
    }
    let seen = VPath::new(PACKED).and_then(|root| root.join(name)).ok_or_else(|| PackError::Name(path.clone()))?;
    let bytecode = compile(&seen, &bytes).map_err(PackError::Syntax)?;
    Ok(Data::Ruby(bytecode, with_source.then_some(bytes)))
}

/// Writes a temporary file beside the output, and renames it once it is complete on disk and can be read.
fn write(output: &Path, executable: &[u8], archive: &[u8]) -> Result<(), PackError> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = output.file_name().ok_or_else(|| PackError::Output(output.to_owned()))?;
    let temporary = folder.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(&temporary)?;
        file.write_all(executable)?;
        file.write_all(archive)?;
        // Sets the mode regardless of the umask.
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        file.sync_all()
    })();
    let result = written.map_err(PackError::system("write", &temporary)).and_then(|()| {
        Packed::open(&temporary)?;
        fs::rename(&temporary, output).map_err(PackError::system("write", output))
    });
    if result.is_err() {
        // If it was never created there is nothing to remove.
        let _ = fs::remove_file(&temporary);
    }
    result
}
