//! A suite of Debian's archive through apt, with lists and settings of its own: this machine's are neither used nor changed.

use super::{Access, Package};
use crate::{ImageError, Target};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;
use underpin_sys::{Limits, RunEnd, Spawn, Streams, end_requests};

/// The release whose kernels for virtual machines have virtio built in: the initramfs needs no module.
pub(super) const SUITE: &str = "trixie";
/// The suite with the part that has firmware of boards.
pub(super) const FIRMWARE: &str = "trixie/non-free-firmware";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The variable that names Debian's archive, for machines whose own apt has another one.
const VARIABLE: &str = "UNDERPIN_DEBIAN_ARCHIVE";
/// The slowest download of an index or a package.
const PATIENCE: Duration = Duration::from_secs(900);

/// What the architecture of an archive of sources is called.
const SOURCE: &str = "source";

/// One suite for one processor, or its sources.
pub(super) struct Archive {
    folder: PathBuf,
    suite: String,
    architecture: String,
}

impl Archive {
    /// Makes the folders and settings below a store. Asks no network.
    pub(super) fn open(store: &Path, suite: &str, architecture: &str) -> Result<Archive, ImageError> {
        if !Path::new(KEYRING).exists() {
            return Err(ImageError::NoApt {
                reason: format!(
                    "{KEYRING}, which its index is checked with, is missing: `apt-get install debian-archive-keyring`"
                ),
            });
        }
        let (release, component) = suite.split_once('/').unwrap_or((suite, "main"));
        let folder = store.join("apt").join(format!("{}-{architecture}", suite.replace('/', "-")));
        for name in ["lists/partial", "cache/archives/partial", "state", "etc/apt.conf.d", "etc/preferences.d"] {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(ImageError::io(&path))?;
        }
        let archive = Archive { folder, suite: suite.to_owned(), architecture: architecture.to_owned() };
        let sources = archive.folder.join("etc/sources.list");
        if !sources.exists() {
            let kind = if architecture == SOURCE { "deb-src" } else { "deb" };
            let text = format!("{kind} [signed-by={KEYRING}] {} {release} {component}\n", mirror()?);
            fs::write(&sources, text).map_err(ImageError::io(&sources))?;
        }
        let status = archive.folder.join("state/status");
        fs::write(&status, "").map_err(ImageError::io(&status))?;
        Ok(archive)
    }

    /// The same with an index, which is fetched if there is none.
    pub(super) fn with_index(
        store: &Path,
        suite: &str,
        architecture: &str,
        access: Access,
    ) -> Result<Archive, ImageError> {
        let archive = Archive::open(store, suite, architecture)?;
        if !archive.has_index() {
            if access == Access::Offline {
                return Err(ImageError::Offline { what: format!("the index of Debian {suite} for {architecture}") });
            }
            archive.update()?;
        }
        Ok(archive)
    }

    /// The suite's source packages.
    pub(super) fn sources(store: &Path, suite: &str) -> Result<Archive, ImageError> {
        Archive::open(store, suite, SOURCE)
    }

    /// Version and SHA-256 of the `.dsc` of every version of a source package that the index has.
    pub(super) fn source_versions(&self, name: &str) -> Result<Vec<(String, String)>, ImageError> {
        let text = self.run("apt-cache", &["showsrc", "--only-source", name], &self.folder)?;
        let records = text.split("\n\n").map(|record| Record(record.to_owned()));
        Ok(records.filter_map(|record| Some((record.field("Version")?.to_owned(), record.dsc()?))).collect())
    }

    /// Fetches the files of a source package of exactly this version into an empty folder, checked by apt.
    pub(super) fn download_source(&self, name: &str, version: &str, folder: &Path) -> Result<(), ImageError> {
        let wanted = format!("{name}={version}");
        let words = ["source", "--download-only", "--only-source", &wanted];
        let known = |archive: &Archive| -> Result<bool, ImageError> {
            Ok(archive.source_versions(name)?.iter().any(|(found, _)| found == version))
        };
        if self.has_index() && known(self).unwrap_or(false) && self.run("apt-get", &words, folder).is_ok() {
            return Ok(());
        }
        self.update()?;
        if !known(self)? {
            let today = self.source_versions(name)?.pop().map_or_else(
                || "it has no such source package".to_owned(),
                |(version, sha256)| format!("today it has {version}, SHA-256 {sha256}"),
            );
            return Err(ImageError::GoneSource { what: format!("{name} {version}"), suite: self.suite.clone(), today });
        }
        self.run("apt-get", &words, folder).map(|_| ())
    }

    /// Whether an index was fetched at some time.
    pub(super) fn has_index(&self) -> bool {
        self.folder.join("index").exists()
    }

    /// Fetches the suite's index.
    pub(super) fn update(&self) -> Result<(), ImageError> {
        self.run("apt-get", &["update", "--error-on=any"], &self.folder)?;
        let mark = self.folder.join("index");
        fs::write(&mark, "").map_err(ImageError::io(&mark))
    }

    /// What the index says of a package.
    fn show(&self, name: &str) -> Result<Record, ImageError> {
        let text = self.run("apt-cache", &["show", "--no-all-versions", name], &self.folder)?;
        Ok(Record(text.split("\n\n").next().unwrap_or_default().to_owned()))
    }

    /// The package with the newest kernel for a machine: what the meta-package leads to. Its files are in itself
    /// or, since Linux 7, in a package `linux-binary-...` that it depends on.
    pub(super) fn kernel(&self, target: Target) -> Result<Package, ImageError> {
        let mut record = self.show(&meta_package(target))?;
        for prefix in ["linux-image-", "linux-binary-"] {
            if let Some(name) = record.depends_on(prefix) {
                record = self.show(&name)?;
            }
        }
        self.package(&record)
    }

    /// The package of this very name that the index has now.
    pub(super) fn named(&self, name: &str) -> Result<Package, ImageError> {
        self.package(&self.show(name)?)
    }

    fn package(&self, record: &Record) -> Result<Package, ImageError> {
        let field = |name: &'static str| {
            record.field(name).map(str::to_owned).ok_or_else(|| ImageError::NoApt {
                reason: format!("the index of {} has no {name} for this package", self.suite),
            })
        };
        let (name, version) = (field("Package")?, field("Version")?);
        let source = record.field("Source").unwrap_or(&name);
        let source = if source.contains('(') { source.replace(['(', ')'], "") } else { format!("{source} {version}") };
        Ok(Package {
            name,
            version,
            architecture: self.architecture.clone(),
            suite: self.suite.clone(),
            sha256: field("SHA256")?,
            source,
        })
    }

    /// Fetches a package of exactly this version into an empty folder.
    pub(super) fn download(&self, package: &Package, folder: &Path) -> Result<PathBuf, ImageError> {
        let wanted = format!("{}={}", package.name, package.version);
        let known = |archive: &Archive| -> Result<bool, ImageError> {
            let versions = archive.run("apt-cache", &["madison", &package.name], &archive.folder)?;
            Ok(versions.lines().any(|line| line.split('|').nth(1).is_some_and(|found| found.trim() == package.version)))
        };
        // An index of long ago names files that the archive no longer has.
        if !self.has_index() || !known(self)? || self.run("apt-get", &["download", &wanted], folder).is_err() {
            self.update()?;
            if !known(self)? {
                let what = format!("{} {}", package.name, package.version);
                return Err(ImageError::Gone { what, suite: package.suite.clone() });
            }
            self.run("apt-get", &["download", &wanted], folder)?;
        }
        let entries = fs::read_dir(folder).map_err(ImageError::io(folder))?;
        let mut files = entries.flatten().map(|entry| entry.path());
        let found = files.find(|path| path.extension().is_some_and(|end| end == "deb"));
        found.ok_or_else(|| ImageError::NoApt { reason: format!("it fetched no file for {wanted}") })
    }

    /// Runs a tool of apt that knows nothing but these folders, and returns what it printed.
    fn run(&self, tool: &'static str, words: &[&str], directory: &Path) -> Result<String, ImageError> {
        let mut arguments: Vec<OsString> = vec![tool.into(), "--quiet".into()];
        for (key, name) in [
            ("Dir::Etc", "etc"),
            ("Dir::State", "state"),
            ("Dir::State::Lists", "lists"),
            ("Dir::State::status", "state/status"),
            ("Dir::Cache", "cache"),
        ] {
            let mut setting = OsString::from(format!("{key}="));
            setting.push(self.folder.join(name));
            arguments.extend(["-o".into(), setting]);
        }
        let fixed = ["APT::Sandbox::User=root", "APT::Update::Post-Invoke=", "Acquire::Languages=none"];
        let more = ["Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", "Acquire::Retries=3"];
        fixed.into_iter().chain(more).for_each(|setting| arguments.extend(["-o".into(), setting.into()]));
        // Sources are for no processor; apt wants one all the same.
        let processor = if self.architecture == SOURCE { "amd64" } else { &self.architecture };
        for setting in [format!("APT::Architecture={processor}"), format!("APT::Architectures::={processor}")] {
            arguments.extend(["-o".into(), setting.into()]);
        }
        arguments.extend(words.iter().map(OsString::from));
        output(tool, &arguments, directory)
    }
}

/// The package that always depends on the newest kernel. Those for virtual machines have no drivers of boards.
#[must_use]
pub fn meta_package(target: Target) -> String {
    match target {
        Target::QemuX86_64 | Target::QemuAarch64 => format!("linux-image-cloud-{}", target.debian()),
        Target::Rpi4 => format!("linux-image-{}", target.debian()),
    }
}

/// One paragraph of an index.
pub(super) struct Record(String);

impl Record {
    fn field(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::trim))
    }

    /// The SHA-256 of a source package's `.dsc`.
    fn dsc(&self) -> Option<String> {
        let lines = self.0.lines().skip_while(|line| !line.starts_with("Checksums-Sha256:")).skip(1);
        let mut sums = lines.take_while(|line| line.starts_with(' ')).map(|line| line.split_whitespace());
        sums.find_map(|mut words| {
            let (sum, _, file) = (words.next()?, words.next()?, words.next()?);
            file.ends_with(".dsc").then(|| sum.to_owned())
        })
    }

    /// The first dependency whose name begins so.
    fn depends_on(&self, prefix: &str) -> Option<String> {
        let list = self.field("Depends")?;
        let names = list.split([',', '|']).filter_map(|item| item.trim().split([' ', ':', '(']).next());
        names.into_iter().find(|name| name.starts_with(prefix)).map(str::to_owned)
    }
}

/// Where this machine's apt has Debian from.
fn mirror() -> Result<String, ImageError> {
    if let Some(named) = std::env::var(VARIABLE).ok().filter(|named| !named.is_empty()) {
        return Ok(named);
    }
    let format = "$(REPO_URI) $(ORIGIN)";
    let words = ["apt-get", "indextargets", "--format", format, "Created-By: Packages"].map(OsString::from);
    let text = output("apt-get", &words, Path::new("/")).unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let main = lines.find(|(uri, origin)| *origin == "Debian" && !uri.contains("security"));
    main.map(|(uri, _)| uri.trim_end_matches('/').to_owned()).ok_or_else(|| ImageError::NoApt {
        reason: format!("this machine's apt has another archive: name a mirror of Debian in {VARIABLE}, or give the kernel's file with --kernel"),
    })
}

/// What a program prints, within the time that the slowest download takes.
fn output(tool: &'static str, arguments: &[OsString], directory: &Path) -> Result<String, ImageError> {
    let found = underpin_sys::find_program(tool.as_ref(), std::env::var_os("PATH").as_deref());
    let file = found.map_err(|_| ImageError::NoApt {
        reason: format!("{tool} is not on PATH; on other systems give the kernel's file with --kernel"),
    })?;
    let scratch = |error| ImageError::Io { path: std::env::temp_dir(), source: error };
    let mut printed = tempfile::tempfile().map_err(scratch)?;
    let mut complaints = tempfile::tempfile().map_err(scratch)?;
    let streams = Streams {
        input: Some(fs::File::open("/dev/null").map_err(ImageError::io("/dev/null"))?.into()),
        output: Some(printed.try_clone().map_err(scratch)?.into()),
        error: Some(complaints.try_clone().map_err(scratch)?.into()),
    };
    let mut environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    environment.retain(|(name, _)| name != "APT_CONFIG" && name != "LC_ALL" && name != "LANGUAGE");
    environment.push(("LC_ALL".into(), "C.UTF-8".into()));
    let spawn = Spawn::new(file, arguments, &environment, streams)?.in_directory(Some(directory))?;
    let limits = Limits { requests: end_requests() + 1, ..Limits::time(PATIENCE) };
    let run = spawn.run(&[], limits)?;
    let text = |file: &mut fs::File| -> Result<String, ImageError> {
        let mut bytes = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(scratch)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    match run.end {
        RunEnd::Exited(0) => text(&mut printed),
        RunEnd::Exited(_) | RunEnd::Signalled(_) => {
            let said = text(&mut complaints)?;
            let line = said.lines().find(|line| line.starts_with("E:")).or(said.lines().last()).unwrap_or("it failed");
            Err(ImageError::NoApt { reason: format!("{tool}: {line}") })
        }
        RunEnd::TimedOut => {
            Err(ImageError::NoApt { reason: format!("{tool} did not end within {} s", PATIENCE.as_secs()) })
        }
        RunEnd::Interrupted => Err(ImageError::Interrupted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_of_kernel_packages_lead_to_the_one_with_the_files() {
        let meta =
            Record("Package: linux-image-cloud-amd64\nDepends: linux-image-7.0.4-cloud-amd64 (= 7.0.4-1)\n".into());
        assert_eq!(meta.depends_on("linux-image-").as_deref(), Some("linux-image-7.0.4-cloud-amd64"));
        let stub =
            Record("Depends: kmod, linux-base (>= 4.3~), linux-binary-7.0.4-cloud-amd64 (= 7.0.4-1) | x\n".into());
        assert_eq!(stub.depends_on("linux-binary-").as_deref(), Some("linux-binary-7.0.4-cloud-amd64"));
        let full = Record("Depends: kmod, linux-base (>= 4.3~), initramfs-tools | linux-initramfs-tool\n".into());
        assert_eq!(full.depends_on("linux-binary-"), None);
        assert_eq!(full.depends_on("linux-image-"), None);
    }
}
