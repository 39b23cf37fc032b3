//! A QEMU that has the board of the Raspberry Pi 4: it does since 9, and Debian 12 has 7.2. The one of its backports is unpacked
//! below `target/qemu` beside the installed one, which stays as it is; it needs no library that the installed one does not.

use crate::run;
use anyhow::{Context, bail};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian 12 has a newer one.
const SUITE: &str = "bookworm-backports";
const CODENAME: &str = "VERSION_CODENAME=bookworm";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const PACKAGES: [&str; 3] = ["qemu-system-arm", "qemu-system-common", "qemu-system-data"];
const PROGRAM: &str = "qemu-system-aarch64";
/// The first version with the board.
const SINCE: u32 = 9;
/// It looks for its modules where the installed one has others, and ends if it finds those.
const STARTER: &str = "#!/bin/sh\nroot=$(dirname \"$(realpath \"$0\")\")/../root/usr\nQEMU_MODULE_DIR=$root/lib/x86_64-linux-gnu/qemu \
                       exec \"$root/bin/qemu-system-aarch64\" -L \"$root/share/qemu\" \"$@\"\n";

/// The folder of a QEMU with the board, to stand before others in PATH; `None` if that of PATH has it, or none can be had: then
/// the card is not started by tests, and this says why.
///
/// # Errors
/// If what was fetched does not start.
pub fn add() -> anyhow::Result<Option<PathBuf>> {
    if version(Path::new(PROGRAM)).is_some_and(|major| major >= SINCE) {
        return Ok(None);
    }
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    if !system.lines().any(|line| line == CODENAME) || std::env::consts::ARCH != "x86_64" {
        println!(
            "{PROGRAM} is older than {SINCE}, and only Debian 12 on x86-64 has a newer one here: no board is started"
        );
        return Ok(None);
    }
    let folder = run::target().join("qemu");
    let bin = folder.join("bin");
    if !bin.join(PROGRAM).exists()
        && let Err(error) = fetch(&folder)
    {
        println!("{PROGRAM} of {SUITE}: {error:#}: no board is started");
        return Ok(None);
    }
    match version(&bin.join(PROGRAM)) {
        Some(major) if major >= SINCE => Ok(Some(bin)),
        _ => bail!(
            "{} does not start, or is older than {SINCE}: remove {}",
            bin.join(PROGRAM).display(),
            folder.display()
        ),
    }
}

/// Through apt, which checks the suite's signature, with lists and settings of its own.
fn fetch(folder: &Path) -> anyhow::Result<()> {
    for name in ["lists/partial", "cache/archives/partial", "packages", "root", "bin"] {
        fs::create_dir_all(folder.join(name))?;
    }
    let sources = folder.join("sources.list");
    fs::write(&sources, format!("deb [signed-by={KEYRING}] {} {SUITE} main\n", archive()?))?;
    let own = [
        format!("Dir::Etc::SourceList={}", sources.display()),
        "Dir::Etc::SourceParts=/dev/null".to_owned(),
        format!("Dir::State::Lists={}", folder.join("lists").display()),
        format!("Dir::Cache={}", folder.join("cache").display()),
        // As this user: the folder is not apt's.
        "APT::Sandbox::User=".to_owned(),
    ];
    let apt = |words: &[&str], place: &Path| {
        let mut command = Command::new("apt-get");
        own.iter().for_each(|setting| {
            command.args(["-o", setting]);
        });
        let status = command.args(words).arg("--quiet").current_dir(place).status().context("cannot start apt-get")?;
        if status.success() { Ok(()) } else { bail!("{command:?}: {status}") }
    };
    let packages = folder.join("packages");
    apt(&["update", "--error-on=any"], folder)?;
    apt(&[&["download"], &PACKAGES[..]].concat(), &packages)?;
    for entry in fs::read_dir(&packages)? {
        let (file, root) = (entry?.path(), folder.join("root"));
        run::must("dpkg-deb", &["--extract", &file.display().to_string(), &root.display().to_string()])?;
    }
    // Last: what is there is whole.
    let (starter, ready) = (folder.join("starter"), folder.join("bin").join(PROGRAM));
    fs::write(&starter, STARTER)?;
    fs::set_permissions(&starter, fs::Permissions::from_mode(0o755))?;
    fs::rename(&starter, &ready)?;
    Ok(())
}

/// Where this machine's own packages are from: the backports are there too.
fn archive() -> anyhow::Result<String> {
    let words = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Codename: bookworm"];
    let output = Command::new("apt-get").args(words).output().context("cannot start apt-get")?;
    let uri = String::from_utf8(output.stdout)?.lines().next().map(str::to_owned);
    uri.context("apt knows no archive of Debian 12 (apt-get indextargets)")
}

/// `QEMU emulator version 7.2.22 (Debian ...)`.
fn version(program: &Path) -> Option<u32> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_once("version ")?.1.split('.').next()?.parse().ok()
}
