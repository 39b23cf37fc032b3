//! The system calls of one start, as strace sees them.

use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// What one start does, exit included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// All system calls.
    pub total: usize,
    /// openat and open.
    pub opens: usize,
    /// Those of them that fail.
    pub failed_opens: usize,
    /// stat by path: newfstatat, stat, lstat, statx.
    pub stats: usize,
    /// Those of them that fail.
    pub failed_stats: usize,
    /// Those that fail before the first constructor runs: the loader's.
    pub failed_stats_of_loader: usize,
    /// mmap.
    pub maps: usize,
    /// mmap per object, by its file name: its segments, and the memory behind them.
    pub maps_of: BTreeMap<String, usize>,
}

impl Calls {
    /// The calls of one start under strace.
    ///
    /// # Errors
    /// If strace is missing or the program fails.
    pub fn of(program: &Path, argument: &str, log: &Path) -> anyhow::Result<Calls> {
        let mut command = Command::new("strace");
        command.args(["-f", "-y", "-s", "4096", "-o"]).arg(log).arg(program).arg(argument);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let status = status.context("cannot start strace")?;
        if !status.success() {
            bail!("{} {argument} under strace: {status}", program.display());
        }
        Ok(Calls::read(&String::from_utf8_lossy(&std::fs::read(log)?)))
    }

    /// The calls in a log of `strace -f -y`.
    fn read(log: &str) -> Calls {
        let mut calls = Calls::default();
        // The object that was mapped last: the loader maps the zeros behind an object right after its segments.
        let mut latest = None;
        let mut loading = true;
        for line in log.lines() {
            let text = line.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start();
            let resumed = text.starts_with("<... ");
            let failed = text
                .rsplit_once("= ")
                .is_some_and(|(call, result)| result.starts_with("-1 E") && call.trim_end().ends_with(')'));
            let name = text.trim_start_matches("<... ").split(['(', ' ']).next().unwrap_or_default();
            if name.is_empty() || name.starts_with(['+', '-']) {
                continue;
            }
            let counts = usize::from(!resumed);
            calls.total += counts;
            match name {
                "open" | "openat" => {
                    calls.opens += counts;
                    calls.failed_opens += usize::from(failed);
                }
                "stat" | "lstat" | "newfstatat" | "statx" => {
                    calls.stats += counts;
                    calls.failed_stats += usize::from(failed);
                    calls.failed_stats_of_loader += usize::from(failed && loading);
                }
                // glibc asks for the size of the stack when it sets threads up, right before the constructors.
                "prlimit64" => loading = false,
                "mmap" => {
                    calls.maps += counts;
                    if let Some(object) = object(text, latest.as_deref()) {
                        *calls.maps_of.entry(object.clone()).or_default() += counts;
                        latest = Some(object);
                    }
                }
                _ => {}
            }
        }
        calls
    }
}

/// The object that an mmap belongs to: by the path behind the descriptor, or fixed anonymous memory right behind that
/// of an object.
fn object(text: &str, latest: Option<&str>) -> Option<String> {
    let arguments: Vec<&str> = text.split_once('(')?.1.split(", ").collect();
    let (flags, descriptor) = (*arguments.get(3)?, *arguments.get(4)?);
    if let Some((_, path)) = descriptor.split_once('<') {
        let path = path.rsplit_once('>')?.0;
        return Some(path.rsplit('/').next().unwrap_or(path).to_owned());
    }
    latest.filter(|_| flags.contains("MAP_FIXED") && flags.contains("MAP_ANONYMOUS")).map(str::to_owned)
}

/// Share of the objects of `before` that take no more mmap calls in `after`; `None` if their names are not the same
/// (a bundle in one file has none).
pub fn without_another_map(before: &Calls, after: &Calls) -> Option<f64> {
    let pairs = before.maps_of.iter().filter_map(|(name, count)| Some((count, after.maps_of.get(name)?)));
    let pairs: Vec<_> = pairs.collect();
    // The loader itself is mapped by the kernel, which strace does not show.
    if pairs.len() < before.maps_of.len() / 2 {
        return None;
    }
    let kept = pairs.iter().filter(|(before, after)| after <= before).count();
    Some(kept as f64 / pairs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"7 execve("/x/bin/a", ["/x/bin/a"], 0x7ffd /* 3 vars */) = 0
7 openat(AT_FDCWD</w>, "/x/lib/glibc-hwcaps/liba.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
7 newfstatat(AT_FDCWD</w>, "/x/lib", 0x7ffd, 0)  = -1 ENOENT (No such file or directory)
7 openat(AT_FDCWD</w>, "/y/lib/liba.so", O_RDONLY|O_CLOEXEC) = 3</y/lib/liba.so.1>
7 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f1
7 mmap(NULL, 205, PROT_READ, MAP_PRIVATE|MAP_DENYWRITE, 3</y/lib/liba.so.1>, 0) = 0x7f2
7 mmap(0x7f3, 80, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS, -1, 0) = 0x7f3
7 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>
8 openat(AT_FDCWD</w>, "/z", O_RDONLY <unfinished ...>
7 <... clone resumed>)                    = 8
8 <... openat resumed>)                   = -1 ENOENT (No such file or directory)
8 prlimit64(0, RLIMIT_STACK, NULL, {rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}) = 0
8 newfstatat(AT_FDCWD</w>, "/etc/a", 0x7ffd, 0)  = -1 ENOENT (No such file or directory)
8 exit_group(0)                     = ?
8 +++ exited with 0 +++
7 --- SIGCHLD {si_signo=SIGCHLD} ---
"#;

    #[test]
    fn a_log_is_counted_call_by_call() {
        let calls = Calls::read(LOG);
        let expected = Calls {
            total: 12,
            opens: 3,
            failed_opens: 2,
            stats: 2,
            failed_stats: 2,
            failed_stats_of_loader: 1,
            maps: 3,
            maps_of: BTreeMap::from([("liba.so.1".to_owned(), 2)]),
        };
        assert_eq!(calls, expected);
    }

    #[test]
    fn an_object_with_one_mmap_more_is_told_apart() {
        let of = |counts: [usize; 4]| Calls {
            maps_of: counts.iter().enumerate().map(|(at, count)| (at.to_string(), *count)).collect(),
            ..Calls::default()
        };
        assert_eq!(without_another_map(&of([4, 4, 4, 4]), &of([4, 3, 4, 5])), Some(0.75));
        assert_eq!(without_another_map(&of([4; 4]), &Calls::default()), None);
    }
}
