//! The rows of twin images on this machine itself: the same files, as root of a process that no emulator runs. What makes
//! counted instructions and time differ is told by measuring again on one processor, and with the functions that glibc chooses
//! in the guest.

use super::stats::{Estimate, Sample, median};
use anyhow::{Context, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The builds, by their names in the folder of the twins; glibc's time is over that of the other.
pub const BUILDS: [&str; 2] = ["glibc", "musl"];
/// How long a row is repeated, in milliseconds. Many short runs in turn have narrower intervals than a few long ones: what
/// disturbs a shared machine lasts longer than a row.
const MILLISECONDS: &str = "20";
/// The seconds after which a row is ended.
const SECONDS: &str = "20";
/// A root in memory, as the guest's is, with this machine's devices; then the program as root of it.
const ENTER: &str = r#"mount -t tmpfs -o mode=755 root "$2" && cp -dR --preserve=mode "$1/." "$2" &&
    mkdir -p "$2/proc" "$2/dev" "$2/tmp" && mount -t proc proc "$2/proc" && mount --rbind /dev "$2/dev" &&
    root=$2 && shift 2 && exec chroot "$root" "$@""#;

/// How the rows are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// On all processors.
    Here,
    /// On one.
    OneProcessor,
    /// On one, and glibc with the functions that it chooses in the guest.
    GuestsFunctions,
}

/// The rows of both builds, run in turn.
pub struct Here {
    twins: Vec<Unpacked>,
    /// Where the roots are mounted, in a namespace of each run's own.
    root: PathBuf,
    /// GLIBC_TUNABLES for [`How::GuestsFunctions`].
    tunables: String,
    figures: BTreeMap<(How, String), [Vec<Figure>; 2]>,
}

struct Unpacked {
    tree: PathBuf,
    /// Each row as `suites/guest/rows.c` takes it, by its name (`libc:strlen`).
    rows: BTreeMap<String, String>,
}

/// What a row came to in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figure {
    /// For one operation.
    ns: f64,
    /// The part of its processor time that the kernel took, from 0 to 1.
    kernel: f64,
}

impl Here {
    /// Unpacks the twins that `underpin image compare -o FOLDER` has kept; `guest` and `host` are the flags of /proc/cpuinfo.
    ///
    /// # Errors
    /// If an image is not there or cannot be unpacked.
    pub fn new(twins: &Path, scratch: &Path, guest: &str, host: &str) -> anyhow::Result<Here> {
        let root = scratch.join("root");
        fs::create_dir(&root)?;
        let unpacked = BUILDS.map(|build| {
            let tree = scratch.join(format!("{build}.tree"));
            unpack(&twins.join(format!("{build}-suites/initramfs.cpio")), &tree)?;
            let file = twins.join(format!("{build}-suites.rows"));
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            Ok(Unpacked { tree, rows: text.lines().filter_map(row).collect() })
        });
        let twins = unpacked.into_iter().collect::<anyhow::Result<Vec<Unpacked>>>()?;
        let tunables = format!("glibc.cpu.hwcaps={}", masked(guest, host).join(","));
        Ok(Here { twins, root, tunables, figures: BTreeMap::new() })
    }

    /// Runs those of the rows that both builds have, in turn, so many times in each and in each way. What was measured of a row
    /// in one of these ways before is forgotten.
    ///
    /// # Errors
    /// If nothing can be run in the roots.
    pub fn measure(&mut self, hows: &[How], rows: &[String], times: usize) -> anyhow::Result<()> {
        self.figures.retain(|(how, row), _| !(hows.contains(how) && rows.contains(row)));
        let known = rows.iter().filter(|row| self.twins.iter().all(|twin| twin.rows.contains_key(*row)));
        let known: Vec<&String> = known.collect();
        let times = if known.is_empty() { 0 } else { times };
        for time in 0..times {
            for build in if time % 2 == 0 { [0, 1] } else { [1, 0] } {
                let words: Vec<&String> = known.iter().map(|row| &self.twins[build].rows[*row]).collect();
                // musl has no functions of the guest's to be kept to.
                for how in hows.iter().filter(|how| **how != How::GuestsFunctions || build == 0) {
                    for (row, figure) in figures(&self.run(*how, build, &words)?) {
                        self.figures.entry((*how, row)).or_default()[build].push(figure);
                    }
                }
            }
        }
        Ok(())
    }

    fn run(&self, how: How, build: usize, rows: &[&String]) -> anyhow::Result<String> {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]);
        if how != How::Here {
            command.args(["taskset", "--cpu-list", "0"]);
        }
        command.args(["sh", "-c", ENTER, "sh"]).arg(&self.twins[build].tree).arg(&self.root);
        command.args(["/usr/bin/underpin-rows", SECONDS, "0", "/usr/bin/underpin-empty"]).args(rows);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/root");
        command.env("SUITE_ALIKE", "");
        if how == How::GuestsFunctions {
            command.env("GLIBC_TUNABLES", &self.tunables);
        }
        let output = command.stdin(Stdio::null()).output().context("cannot start unshare")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(text.contains("@done"), "{how:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(text)
    }

    /// glibc's time over musl's in each turn; none for a row that failed in one, since its turns would not match.
    pub fn gains(&self, how: How, row: &str) -> Option<Vec<f64>> {
        let musl = if how == How::GuestsFunctions { How::OneProcessor } else { how };
        let (glibc, musl) = (&self.both(how, row)?[0], &self.both(musl, row)?[1]);
        let same = glibc.len() == musl.len() && !glibc.is_empty();
        same.then(|| glibc.iter().zip(musl).map(|(glibc, musl)| glibc.ns / musl.ns).collect())
    }

    /// Their median.
    pub fn gain(&self, how: How, row: &str) -> Option<Estimate> {
        Some(Sample::new(self.gains(how, row)?).median())
    }

    /// The median time of one operation in seconds.
    pub fn seconds(&self, how: How, row: &str) -> Option<[f64; 2]> {
        Some(self.both(how, row)?.each_ref().map(|all| median(all.iter().map(|figure| figure.ns / 1e9).collect())))
    }

    /// The kernel's part of the processor time, from 0 to 1.
    pub fn kernel(&self, how: How, row: &str) -> Option<[f64; 2]> {
        Some(self.both(how, row)?.each_ref().map(|all| median(all.iter().map(|figure| figure.kernel).collect())))
    }

    fn both(&self, how: How, row: &str) -> Option<&[Vec<Figure>; 2]> {
        self.figures.get(&(how, row.to_owned()))
    }
}

/// Its name, and the row with the time that it is repeated here.
fn row(line: &str) -> Option<(String, String)> {
    let (name, _) = line.split_once(' ')?;
    let (words, milliseconds) = line.rsplit_once(' ')?;
    milliseconds.parse::<u32>().ok()?;
    Some((name.to_owned(), format!("{words} {MILLISECONDS}")))
}

/// Features of this processor that the guest's lacks, as glibc's tunable takes them away (x86 names are those of cpuinfo in
/// capitals: sysdeps/x86/cpu-tunables.c).
fn masked(guest: &str, host: &str) -> Vec<String> {
    let known =
        ["avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512cd", "avx2", "erms", "fsrm", "bmi2", "rtm", "movbe"];
    let has = |flags: &str, flag: &str| flags.split_whitespace().any(|one| one == flag);
    let lacks = |flag: &&str| has(host, flag) && !has(guest, flag);
    known.into_iter().filter(lacks).map(|flag| format!("-{}", flag.to_uppercase())).collect()
}

/// What `suites/guest/rows.c` wrote of rows that ended well.
fn figures(text: &str) -> Vec<(String, Figure)> {
    let (mut all, mut name, mut ns) = (Vec::new(), "", None);
    for line in text.lines() {
        if let Some(row) = line.strip_prefix("@row ") {
            (name, ns) = (row, None);
        } else if let Some(end) = line.strip_prefix("@end ") {
            let end: Value = serde_json::from_str(end).unwrap_or_default();
            let of = |key: &str| end[key].as_f64().unwrap_or_default();
            if let (Some(ns), Some(0)) = (ns.take(), end["status"].as_i64()) {
                let all_time = (of("user_us") + of("system_us")).max(1.0);
                all.push((name.to_owned(), Figure { ns, kernel: of("system_us") / all_time }));
            }
        } else if line.starts_with('{') {
            ns = serde_json::from_str::<Value>(line).ok().and_then(|report| report["ns"].as_f64());
        }
    }
    all
}

/// Unpacks archives of the form "newc" that follow each other (the kernel's buffer-format.rst). Devices are left out: the root
/// gets this machine's.
fn unpack(archive: &Path, to: &Path) -> anyhow::Result<()> {
    let bytes = fs::read(archive).with_context(|| archive.display().to_string())?;
    fs::create_dir(to)?;
    let mut at = 0;
    while let Some(header) = bytes.get(at..at + 110) {
        if header[0] == 0 {
            at += 4;
            continue;
        }
        ensure!(header.starts_with(b"070701"), "{}, offset {at}: no header of cpio", archive.display());
        let number = |index: usize| {
            let digits = std::str::from_utf8(&header[6 + 8 * index..14 + 8 * index])?;
            anyhow::Ok(usize::from_str_radix(digits, 16)?)
        };
        let (mode, size, name_size) = (number(1)?, number(6)?, number(11)?);
        let begin = (at + 110 + name_size).next_multiple_of(4);
        let (Some(name), Some(content)) = (bytes.get(at + 110..at + 109 + name_size), bytes.get(begin..begin + size))
        else {
            bail!("{}, offset {at}: it ends within a file", archive.display());
        };
        at = (begin + size).next_multiple_of(4);
        let name = std::str::from_utf8(name)?;
        if name != "TRAILER!!!" {
            place(&to.join(name.trim_start_matches('/')), mode, content)?;
        }
    }
    Ok(())
}

fn place(path: &Path, mode: usize, content: &[u8]) -> anyhow::Result<()> {
    match mode & 0o170_000 {
        0o040_000 => fs::create_dir_all(path)?,
        0o120_000 => symlink(std::str::from_utf8(content)?, path)?,
        0o100_000 => {
            fs::write(path, content)?;
            fs::set_permissions(path, fs::Permissions::from_mode(mode as u32 & 0o7777))?;
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_if_it_ended_well() {
        let text = "@row libc:a\n{\"row\":\"a\",\"ns\":4}\n\n@end {\"status\":0,\"killed\":false,\"user_us\":30,\"system_us\":10}\n\
                    @row libc:b\n{\"row\":\"b\",\"ns\":4}\n\n@end {\"status\":9,\"killed\":true,\"user_us\":1,\"system_us\":1}\n@done\n";
        assert_eq!(figures(text), [("libc:a".to_owned(), Figure { ns: 4.0, kernel: 0.25 })]);
    }

    #[test]
    fn a_row_keeps_its_words_but_for_the_time() {
        let (name, words) = row("os:sh SUITE_STARTED=/a /suite-os sh 10").unwrap_or_default();
        assert_eq!((name.as_str(), words.as_str()), ("os:sh", "os:sh SUITE_STARTED=/a /suite-os sh 20"));
        assert_eq!(row("libc:a /suite-libc a"), None);
    }

    #[test]
    fn features_that_both_have_are_not_taken_away() {
        assert_eq!(masked("fpu avx2 erms", "fpu avx2 avx512f erms fsrm sse"), ["-AVX512F", "-FSRM"]);
    }
}
