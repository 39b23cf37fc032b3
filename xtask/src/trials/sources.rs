//! Where the sources come from, and the builds that the results are compared with.

use super::projects::{Project, Source};
use crate::run;
use crate::systems::{own_folders, tool_in};
use anyhow::{Context, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that Debian leaves out of gawk's sources since their licence is not free; its own rules make empty ones.
const OF_GAWKS_MANUAL: [&str; 10] = [
    "gawktexi.in",
    "sidebar.awk",
    "gawk.texi",
    "gawk.info",
    "gawkinet.texi",
    "gawkinet.info",
    "gawkworkflow.texi",
    "gawkworkflow.info",
    "pm-gawk.texi",
    "pm-gawk.info",
];

/// What `underpin build` is told to build.
///
/// # Errors
/// If the sources cannot be fetched.
pub fn arguments(project: &Project) -> anyhow::Result<Vec<String>> {
    Ok(match project.source {
        Source::Crate => vec!["--crate".to_owned(), format!("{}@{}", project.name, project.version)],
        Source::File(path) => vec![run::workspace().join(path).display().to_string()],
        Source::Debian { system } => {
            let mut words = vec![debian(project.name)?.display().to_string()];
            if let Some(system) = system {
                words.extend(["--build-system".to_owned(), system.to_owned()]);
            }
            words
        }
    })
}

/// The unpacked source package, fetched once.
fn debian(name: &str) -> anyhow::Result<PathBuf> {
    let archive = folder("debian")?;
    let place = archive.join("src").join(name);
    if let Some(found) = unpacked(&place)? {
        return Ok(found);
    }
    fs::create_dir_all(&place)?;
    if !archive.join("state/status").exists() {
        let release = fs::read_to_string("/etc/os-release")?;
        let suite =
            release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).context("not a Debian system")?;
        own_folders(&archive, "deb-src", suite)?;
        apt(&archive, &place, &["update"])?;
        fs::write(archive.join("state/status"), "")?;
    }
    apt(&archive, &place, &["source", name])?;
    let found = unpacked(&place)?.with_context(|| format!("apt did not unpack {name}"))?;
    if name == "gawk" {
        let files = OF_GAWKS_MANUAL.map(|file| format!("{}/doc/{file}", found.display()));
        let words: Vec<&str> = ["--date=2000-01-01"].into_iter().chain(files.iter().map(String::as_str)).collect();
        run::must("touch", &words)?;
    }
    Ok(found)
}

/// The folder that a source package was unpacked into.
fn unpacked(place: &Path) -> anyhow::Result<Option<PathBuf>> {
    if !place.is_dir() {
        return Ok(None);
    }
    let entries = fs::read_dir(place)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.into_iter().map(|entry| entry.path()).find(|path| path.is_dir()))
}

/// apt-get with folders of its own and this machine's archive of sources.
fn apt(archive: &Path, place: &Path, words: &[&str]) -> anyhow::Result<()> {
    let mut command = tool_in("apt-get", archive);
    command.arg("-q").args(words);
    let status = command.current_dir(place).status().context("cannot start apt-get")?;
    if status.success() { Ok(()) } else { bail!("apt-get {} failed: {status}", words.join(" ")) }
}

fn folder(name: &str) -> anyhow::Result<PathBuf> {
    let folder = run::target().join("build-trials").join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A program of this machine.
pub fn installed(name: &str) -> Option<PathBuf> {
    ["/usr/bin", "/usr/local/bin"].into_iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// The glibc build that a result is compared with: Debian's own, or one by cargo or g++ as users make it.
///
/// # Errors
/// If it is missing or does not build.
pub fn reference(project: &Project) -> anyhow::Result<PathBuf> {
    match project.source {
        Source::Crate => by_cargo(project),
        Source::Debian { .. } => installed(project.program).with_context(|| {
            format!("the results are compared with Debian's {}: cargo xtask test --install", project.name)
        }),
        Source::File(path) => {
            let program = folder("glibc")?.join(project.program);
            let status = Command::new("g++").args(["-std=c++17", "-O2", path, "-o"]).arg(&program).status();
            let status = status.context("cannot start g++")?;
            ensure!(status.success(), "g++ fails for {path}: {status}");
            Ok(program)
        }
    }
}

/// `cargo build --release` of a crate for this machine's glibc, once.
fn by_cargo(project: &Project) -> anyhow::Result<PathBuf> {
    let root = folder("glibc")?.join(format!("{}-{}", project.name, project.version));
    let program = root.join("bin").join(project.program);
    if !program.exists() {
        let root = root.display().to_string();
        let version = format!("{}@{}", project.name, project.version);
        run::must(&run::cargo(), &["install", "--quiet", "--locked", "--no-track", "--root", &root, &version])?;
    }
    Ok(program)
}

/// How many files are below some folders.
pub fn count(folders: &[PathBuf]) -> usize {
    let mut open = folders.to_vec();
    let mut files = 0;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => files += 1,
                _ => {}
            }
        }
    }
    files
}
