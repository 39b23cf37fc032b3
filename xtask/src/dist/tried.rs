//! Each package is installed where nothing else is, and its program used as its owner would.
//!
//! A tarball goes into a folder that becomes the root directory: no loader, no library, no /proc. A Debian package is installed by
//! the dpkg of a Debian system that debootstrap has unpacked, a wheel by pip into an environment of its own. For another processor
//! there is no such system: its package goes into an empty root by this machine's dpkg, its wheel into a folder by pip, and its program
//! runs under qemu from outside.

use super::{Kind, Package, VERSION};
use crate::run;
use crate::statics;
use anyhow::{Context, bail};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a root directory has in its PATH.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Installs a package into a root of its own and uses its program.
///
/// # Errors
/// If it cannot be installed, or the program does not do what it should.
pub fn package(package: &Package) -> anyhow::Result<()> {
    let scratch = run::scratch("dist-tried")?;
    let file = package.path.display().to_string();
    let name = package.product.name;
    match package.kind {
        Kind::Tarball => {
            run::must("tar", &["--strip-components=1", "-xzf", &file, "-C", &scratch.display().to_string()])?;
            used(package, &Place::root(package, &scratch, &format!("/{name}")))?;
        }
        Kind::Debian => match debian_system(package)? {
            Some(root) => in_debian(package, &root)?,
            None => in_empty_root(package, &scratch)?,
        },
        Kind::Wheel if is_foreign(package) => {
            let (folder, platform) = (scratch.display().to_string(), package.processor.of_wheels()[0]);
            let foreign = ["--target", &folder, "--platform", platform, "--only-binary=:all:"];
            let install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"];
            run::must("python3", &[&install[..], &foreign, &[&file]].concat())?;
            used(package, &Place::root(package, &scratch, &format!("/bin/{name}")))?;
            record(package)?;
        }
        Kind::Wheel => {
            run::must("python3", &["-m", "venv", &scratch.display().to_string()])?;
            let pip = scratch.join("bin/pip").display().to_string();
            run::must(&pip, &["install", "--quiet", "--no-index", "--no-deps", &file])?;
            used(package, &Place::file(&scratch.join("bin").join(name)))?;
            record(package)?;
        }
    }
    Ok(fs::remove_dir_all(&scratch)?)
}

fn is_foreign(package: &Package) -> bool {
    package.processor.of_kernel() != std::env::consts::ARCH
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Where a program was installed.
struct Place {
    /// What starts it: the program and arguments before its own.
    start: Vec<String>,
    /// Its path, as it sees it itself.
    program: String,
}

impl Place {
    /// Somewhere on this machine.
    fn file(path: &Path) -> Place {
        let program = path.display().to_string();
        Place { start: vec![program.clone()], program }
    }

    /// A folder that becomes the program's root directory.
    fn root(package: &Package, root: &Path, program: &str) -> Place {
        if is_foreign(package) {
            // The emulator is linked dynamically and is not in that root: from outside it sees the program by its path.
            let path = root.join(program.trim_start_matches('/')).display().to_string();
            return Place { start: vec!["qemu-aarch64".to_owned(), path.clone()], program: path };
        }
        let start = [change_root(root), vec![program.to_owned()]].concat();
        Place { start, program: program.to_owned() }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.start[0]);
        command.args(&self.start[1..]).env("PATH", format!("{PATH}:{}", std::env::var("PATH").unwrap_or_default()));
        command
    }
}

/// The command that changes to another root directory. Root may do so directly, which containers that refuse user
/// namespaces allow.
fn change_root(root: &Path) -> Vec<String> {
    let before: &[&str] = if is_root() { &["chroot"] } else { &["unshare", "--map-root-user", "chroot"] };
    before.iter().map(|&word| word.to_owned()).chain([root.display().to_string()]).collect()
}

/// The program says its version, and each product does what it is for.
fn used(package: &Package, place: &Place) -> anyhow::Result<()> {
    let name = package.product.name;
    let said = succeeds(place.command().arg("--version"))?;
    if !said.starts_with(&format!("{name} {VERSION}")) {
        bail!("{place}: reports its version as {said:?}", place = place.program);
    }
    match name {
        "foolsgold" => statics::answers(&place.start.join(" "), place.command())?,
        // The one program that is surely there is underpin itself.
        _ => _ = succeeds(place.command().args(["check", "--expect", "static,musl", &place.program]))?,
    }
    println!("{}: {} works", package.path.display(), place.start.join(" "));
    Ok(())
}

/// What a command prints; an error if it fails.
fn succeeds(command: &mut Command) -> anyhow::Result<String> {
    let Output { status, stdout, stderr } = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}: {}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

/// A Debian system of this machine's release below target/, unpacked but not set up: it has all of its essential packages and none
/// of their scripts has run, so it needs no mount. `None`, with a message, if there cannot be one.
fn debian_system(package: &Package) -> anyhow::Result<Option<PathBuf>> {
    if is_foreign(package) || !is_root() {
        println!("{}: tried in an empty root, not in a Debian system: {}", package.path.display(), why_not(package));
        return Ok(None);
    }
    let folder = run::target().join("debian-root");
    if folder.exists() {
        return Ok(Some(folder));
    }
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let name = name.context("no VERSION_CODENAME in /etc/os-release: Debian packages are tried on Debian only")?;
    let unfinished = run::target().join("debian-root.unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    println!("+ debootstrap {name}");
    let mut command = Command::new("debootstrap");
    command.args(["--foreign", "--variant=minbase", name]).arg(&unfinished).arg(crate::systems::mirror()?);
    succeeds(&mut command)?;
    fs::rename(&unfinished, &folder)?;
    Ok(Some(folder))
}

fn why_not(package: &Package) -> &'static str {
    if is_foreign(package) { "it is for another processor" } else { "debootstrap needs root" }
}

/// Debian's own dpkg installs the package, finds every file as it was packed, and takes all of it away again.
fn in_debian(package: &Package, root: &Path) -> anyhow::Result<()> {
    let name = package.product.name;
    let inside = Path::new("tmp").join(package.path.file_name().context("a package has a name")?);
    fs::copy(&package.path, root.join(&inside))?;
    let dpkg = |arguments: &[&str]| {
        let words = change_root(root);
        succeeds(Command::new(&words[0]).args(&words[1..]).arg("dpkg").args(arguments).env("PATH", PATH))
    };
    dpkg(&["--install", &format!("/{}", inside.display())])?;
    used(package, &Place::root(package, root, &format!("/usr/bin/{name}")))?;
    let differs = dpkg(&["--verify", name])?;
    dpkg(&["--purge", name])?;
    fs::remove_file(root.join(&inside))?;
    let left = ["usr/bin", "usr/share/doc"].map(|folder| root.join(folder).join(name));
    match left.iter().find(|path| path.exists()) {
        Some(path) => bail!("{}: remains after the package is removed", path.display()),
        None if differs.is_empty() => Ok(()),
        None => bail!("{}: dpkg --verify: {differs}", package.path.display()),
    }
}

/// This machine's dpkg installs the package into a folder with nothing but a database of packages.
fn in_empty_root(package: &Package, root: &Path) -> anyhow::Result<()> {
    let admin = root.join("var/lib/dpkg");
    fs::create_dir_all(admin.join("info"))?;
    fs::create_dir_all(admin.join("updates"))?;
    fs::write(admin.join("status"), "")?;
    let mut dpkg = Command::new("dpkg");
    dpkg.args(["--force-architecture", "--force-not-root", "--force-bad-path"]);
    dpkg.arg(format!("--log={}", root.join("dpkg.log").display())).arg(format!("--root={}", root.display()));
    succeeds(dpkg.arg("--install").arg(&package.path))?;
    used(package, &Place::root(package, root, &format!("/usr/bin/{}", package.product.name)))
}

/// Python's own reader of wheels finds every entry with its checksum.
fn record(package: &Package) -> anyhow::Result<()> {
    const SCRIPT: &str = "import sys, zipfile, hashlib, base64\n\
        z = zipfile.ZipFile(sys.argv[1])\n\
        assert z.testzip() is None\n\
        names = z.namelist()\n\
        record = [n for n in names if n.endswith('/RECORD')][0]\n\
        rows = [line.rsplit(',', 2) for line in z.read(record).decode().splitlines()]\n\
        assert sorted(r[0] for r in rows) == sorted(names)\n\
        for name, digest, size in rows:\n\
        \x20   data = z.read(name)\n\
        \x20   own = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()\n\
        \x20   assert name == record or (digest == 'sha256=' + own and int(size) == len(data)), name\n";
    run::must("python3", &["-c", SCRIPT, &package.path.display().to_string()])
}
