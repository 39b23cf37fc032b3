//! A container image that is run: its files written out for a runtime of the Open Container Initiative (runc, crun), or put into a
//! guest of a machine's image where no runtime works.
//!
//! Specification: opencontainers/runtime-spec 1.0 (`config.md`, `config-linux.md`).

mod bundle;
mod guest;
mod runtime;

pub use bundle::write;
pub use guest::plan;
pub use runtime::{Ran, Refused, Runtime};

use crate::oci::{FileKind, Image};
use crate::{ImageError, Target};
use bstr::{BStr, BString, ByteSlice};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Where engines look for a command if the image sets no PATH.
const PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The process of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The program, by its path in the image, and its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub directory: OsString,
    /// As whom.
    pub uid: u32,
    /// In which group.
    pub gid: u32,
}

/// Why a command cannot be started: as execve(2) would say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCommand {
    /// There is no such file, or a link leads nowhere.
    NotFound,
    /// It is a directory, or its mode has no right to execute.
    NotExecutable,
}

impl Process {
    /// What the image starts, or another command in its place; variables are added to the image's own. The user is looked up in the
    /// image's /etc/passwd and /etc/group.
    ///
    /// # Errors
    /// If the image starts nothing and no command was given, or its user is unknown.
    pub fn new(image: &Image, command: &[OsString], given: &[(OsString, OsString)]) -> Result<Process, ImageError> {
        let config = image.config.clone().unwrap_or_default();
        let refused = |reason: String| ImageError::Container { path: image.path.clone(), reason };
        let own = config.entrypoint.iter().chain(&config.command).map(OsString::from);
        let arguments: Vec<OsString> = if command.is_empty() { own.collect() } else { command.to_vec() };
        if arguments.is_empty() {
            return Err(refused("it names no command: give one after `--`".to_owned()));
        }
        let split = |pair: &String| pair.split_once('=').map(|(name, value)| (name.into(), value.into()));
        let mut environment: Vec<(OsString, OsString)> = config.environment.iter().filter_map(split).collect();
        environment.retain(|(name, _)| !given.iter().any(|(other, _)| other == name));
        environment.extend(given.iter().cloned());
        if !environment.iter().any(|(name, _)| name == "PATH") {
            environment.push(("PATH".into(), OsStr::from_bytes(PATH).into()));
        }
        let (user, group) = config.user.split_once(':').unwrap_or((&config.user, ""));
        let account = accounts(image, "/etc/passwd", user);
        let number = |text: Option<&BString>| text.and_then(|text| text.to_str().ok()?.parse::<u32>().ok());
        let uid =
            if user.is_empty() { Some(0) } else { user.parse().ok().or_else(|| number(account.as_ref()?.get(2))) };
        let uid = uid.ok_or_else(|| refused(format!("its user `{user}` is not in its /etc/passwd")))?;
        let gid = match group {
            "" => Some(number(account.as_ref().and_then(|row| row.get(3))).unwrap_or(0)),
            group => group.parse().ok().or_else(|| number(accounts(image, "/etc/group", group)?.get(2))),
        };
        let gid = gid.ok_or_else(|| refused(format!("its group `{group}` is not in its /etc/group")))?;
        let directory = if config.directory.is_empty() { "/".to_owned() } else { config.directory };
        let mut process = Process { arguments, environment, directory: directory.into(), uid, gid };
        if let Ok(program) = process.locate(image) {
            process.arguments[0] = program;
        }
        Ok(process)
    }

    /// The path of the program, found as an engine finds it.
    ///
    /// # Errors
    /// If there is none that could be started.
    pub fn locate(&self, image: &Image) -> Result<OsString, NoCommand> {
        let word: &BStr = self.arguments.first().map_or(b"".as_bstr(), |word| word.as_bytes().as_bstr());
        if word.starts_with(b"/") {
            return executable(image, word);
        }
        if word.contains(&b'/') {
            return executable(image, [self.directory.as_bytes(), b"/", word].concat().as_bstr());
        }
        let path = self.environment.iter().rfind(|(name, _)| name == "PATH");
        let path = path.map_or(PATH, |(_, value)| value.as_bytes());
        let mut found = Err(NoCommand::NotFound);
        for folder in path.split(|byte| *byte == b':').filter(|_| !word.is_empty()) {
            match executable(image, [folder, b"/", word].concat().as_bstr()) {
                Ok(program) => return Ok(program),
                Err(NoCommand::NotExecutable) => found = Err(NoCommand::NotExecutable),
                Err(NoCommand::NotFound) => {}
            }
        }
        found
    }
}

fn executable(image: &Image, path: &BStr) -> Result<OsString, NoCommand> {
    match image.files.find(path) {
        Ok((_, node)) if matches!(node.kind, FileKind::Regular(_)) && node.mode & 0o111 != 0 => {
            Ok(OsString::from_vec(path.to_vec()))
        }
        Ok(_) => Err(NoCommand::NotExecutable),
        Err(_) => Err(NoCommand::NotFound),
    }
}

/// The row of an account, by its name or number.
fn accounts(image: &Image, file: &str, name: &str) -> Option<Vec<BString>> {
    crate::doctor::account(&image.files, file, name.as_bytes())
}

/// The machine on which the programs of an image run.
///
/// # Errors
/// If no machine is known for its processor.
pub fn target(image: &Image) -> Result<Target, ImageError> {
    let architecture = image.config.as_ref().map_or("", |config| config.architecture.as_str());
    let known = [Target::QemuX86_64, Target::QemuAarch64].into_iter().find(|target| target.debian() == architecture);
    known.ok_or_else(|| ImageError::Container {
        path: image.path.clone(),
        reason: format!("it is for `{architecture}`, and images for amd64 and arm64 can be run"),
    })
}
