//! The table of the trials in `docs/bench/build.md`: a row is replaced by the same trial's next one, and the measurements that
//! follow the table are left as they are.

use super::projects::{PROJECTS, Project, Source};
use super::root::Outcome;
use super::{Built, CHOICES};
use crate::bench::table;
use anyhow::Context;
use std::fmt::Write;
use std::fs;

/// The page.
pub const FILE: &str = "docs/bench/build.md";
/// Where the measurements begin.
pub const HEADING: &str = "## Measured\n";

const COLUMNS: &str = "| project | processor | build | size | took | confirmed | in an empty root | with glibc 2.17 |\n\
    | --- | --- | --- | --- | --- | --- | --- | --- |\n";

/// One trial.
pub struct Row {
    /// Name and version.
    pub project: String,
    /// The processor.
    pub target: &'static str,
    build: String,
    size: String,
    took: String,
    confirmed: Result<String, String>,
    /// In the empty root, if it ran there.
    pub empty: Option<Outcome>,
    /// In the root with an old glibc, if it ran there.
    pub old: Option<Outcome>,
}

impl Row {
    /// What is known before anything ran.
    pub fn new(project: &Project, target: &'static str, build: &str, built: &Result<Built, String>) -> Row {
        let name = format!("{} {}", project.name, project.version).trim_end().to_owned();
        let row = Row {
            project: name,
            target,
            build: build.to_owned(),
            size: String::new(),
            took: String::new(),
            confirmed: Err(String::new()),
            empty: None,
            old: None,
        };
        match built {
            Err(why) => Row { confirmed: Err(why.clone()), ..row },
            Ok(built) => Row {
                size: format!("{:.1} MB", built.bytes as f64 / 1e6),
                took: format!("{:.0} s", built.took.as_secs_f64()),
                confirmed: Ok(format!("{}; by {}", built.confirmed.join(", "), built.toolchain)),
                ..row
            },
        }
    }

    /// Built, confirmed, and the same bytes wherever it ran.
    pub fn is_fine(&self) -> bool {
        let ran = [&self.empty, &self.old].into_iter().flatten();
        self.confirmed.is_ok() && ran.clone().count() > 0 && ran.clone().all(|ran| matches!(ran, Outcome::Same(_)))
    }

    fn key(&self) -> String {
        format!("| {} | {} | {} |", self.project, self.target, self.build)
    }

    /// Its line in the table.
    pub fn line(&self) -> String {
        let ran = |outcome: &Option<Outcome>| match outcome {
            None => "-".to_owned(),
            Some(Outcome::Same(bytes)) => format!("same {bytes} bytes"),
            Some(Outcome::Other(what)) => format!("**{}**", in_cell(what)),
        };
        let confirmed = match &self.confirmed {
            Ok(facts) => in_cell(facts),
            Err(why) => format!("**{}**", in_cell(why)),
        };
        let (empty, old) = (ran(&self.empty), ran(&self.old));
        format!("{} {} | {} | {confirmed} | {empty} | {old} |", self.key(), self.size, self.took)
    }
}

/// Replaces bars, which end a cell, and a path that only this machine has.
fn in_cell(text: &str) -> String {
    let target = crate::run::target().display().to_string();
    text.replace(&target, "target").replace('|', "/")
}

/// Puts a row into the page.
///
/// # Errors
/// If the page cannot be written.
pub fn put(row: &Row) -> anyhow::Result<()> {
    let page = fs::read_to_string(FILE).unwrap_or_default();
    fs::write(FILE, with(&page, row)).with_context(|| format!("cannot write {FILE}"))
}

fn with(page: &str, row: &Row) -> String {
    let (trials, measured) = page.find(HEADING).map_or((page, ""), |at| page.split_at(at));
    let mut rows: Vec<String> = trials.lines().filter(|line| is_row(line)).map(str::to_owned).collect();
    // By place, not by name: a build that failed has the name that was asked for, one that succeeded that of what it became.
    let line = row.line();
    rows.retain(|other| place(other) != place(&line));
    rows.push(line);
    rows.sort_by_key(|line| place(line));
    let mut text = table::machine("What `underpin build` makes of published projects", "cargo xtask build-trials");
    text += &introduction();
    text += COLUMNS;
    text += &rows.join("\n");
    text += "\n";
    if measured.is_empty() { text } else { text + "\n" + measured }
}

/// A row of the trials: the list of the projects before them has fewer columns.
fn is_row(line: &str) -> bool {
    let columns = COLUMNS.lines().next().map_or(0, |head| head.matches('|').count());
    line.matches('|').count() == columns
        && PROJECTS.iter().any(|project| line.starts_with(&format!("| {} ", project.name)))
}

/// By project, then by choice.
fn place(line: &str) -> (usize, usize) {
    let cells: Vec<&str> = line.split(" | ").collect();
    let project = PROJECTS.iter().position(|project| line.starts_with(&format!("| {} ", project.name)));
    let choice = CHOICES.iter().position(|choice| {
        let glibc = cells.get(2).is_some_and(|build| build.starts_with("glibc"));
        cells.get(1) == Some(&choice.processor.of_kernel()) && glibc != choice.is_static()
    });
    (project.unwrap_or(usize::MAX), choice.unwrap_or(usize::MAX))
}

fn introduction() -> String {
    let mut text = INTRODUCTION.to_owned();
    for project in &PROJECTS {
        let whence = match project.source {
            Source::Crate => "the registry, by `--crate`",
            Source::Debian { system: Some(_) } => "Debian's source package, by `--build-system`",
            Source::Debian { system: None } => "Debian's source package",
            Source::File(path) => path,
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | {} | {whence} | {} |", project.name, project.kind, project.words);
    }
    text + RESULTS
}

const INTRODUCTION: &str = "\n\
    Each project is fetched and built as its users would: `underpin build` without options (static PIE on musl with the \
    allocator of `--goal balanced` and the overlay), with `--target aarch64`, and with `--libc glibc:2.17`. Nothing of \
    the project is compiled beforehand, but zig's own C and C++ libraries for the target are: without them, the first \
    build takes minutes longer. Other work may run on the machine, so the times are upper bounds.\n\
    \n\
    The program then does its work in a root that is an empty folder and, if one is given, in a root with glibc 2.17. \
    What it prints is compared byte for byte with the same work of the distribution's own build, of `cargo install` \
    (crates) or of `g++ -O2`, on this machine outside of any root. The lines of ripgrep and fd, which come in any \
    order, are sorted first. Programs of aarch64 run under qemu-user's static build. `-` marks what is impossible: a \
    dynamic program in an empty root.\n\
    \n\
    | project | is | sources | work |\n\
    | --- | --- | --- | --- |\n";

const RESULTS: &str = "\n\
    A root with glibc 2.17 is that of CentOS 7, Amazon Linux 1 or any other system of its time: \
    `podman export $(podman create centos:7) | tar -x -C old`, then `cargo xtask build-trials --root-2.17 old`. \
    Nothing is written to it. A root with nothing but that glibc, compiled from its sources, is enough (libc, libm, \
    libpthread, libdl, librt and the loader in their places, and a folder `tmp`); the results below are from such a \
    root.\n\
    \n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trials::{FD, RIPGREP};

    fn row(project: &Project, target: &'static str, build: &str) -> Row {
        let mut row = Row::new(project, target, build, &Err("no compiler".to_owned()));
        row.confirmed = Ok("static PIE".to_owned());
        row
    }

    #[test]
    fn a_row_replaces_the_same_trials_and_leaves_the_others_and_the_measurements() {
        let first = with("", &row(&FD, "x86_64", "glibc:2.17"));
        let second = with(&first, &row(&FD, "x86_64", "musl+mimalloc"));
        let third = with(&second, &row(&RIPGREP, "aarch64", "musl+mimalloc"));
        let page = format!("{third}\n{HEADING}\nfigures\n");
        let mut again = row(&FD, "x86_64", "glibc:2.17");
        again.old = Some(Outcome::Same(7));
        let page = with(&page, &again);
        let rows: Vec<&str> = page.lines().filter(|line| line.contains("static PIE |")).collect();
        assert_eq!(rows.len(), 3, "{page}");
        assert!(rows[0].starts_with("| ripgrep 14.1.1 | aarch64 |"), "{page}");
        assert!(rows[1].starts_with("| fd-find 10.2.0 | x86_64 | musl+mimalloc |"), "{page}");
        assert!(rows[2].contains("glibc:2.17") && rows[2].ends_with("| - | same 7 bytes |"), "{page}");
        assert!(page.ends_with(&format!("\n\n{HEADING}\nfigures\n")), "{page}");
        assert_eq!(page.lines().filter(|line| line.starts_with("| fd-find |")).count(), 1, "{page}");
    }

    #[test]
    fn a_row_replaces_that_of_a_build_that_failed_or_was_of_another_version() {
        let failed = with("", &Row::new(&FD, "aarch64", "musl", &Err("a log".to_owned())));
        assert!(failed.contains("**a log**"), "{failed}");
        let page = with(&failed.replace(FD.version, "9.9.9"), &row(&FD, "aarch64", "musl+mimalloc"));
        let rows: Vec<&str> = page.lines().filter(|line| line.contains("| aarch64 |")).collect();
        assert!(rows.len() == 1 && rows[0].contains("| musl+mimalloc |"), "{page}");
    }

    #[test]
    fn only_the_same_bytes_somewhere_are_fine() {
        let mut row = row(&FD, "x86_64", "musl+mimalloc");
        assert!(!row.is_fine(), "it ran nowhere");
        row.empty = Some(Outcome::Same(7));
        assert!(row.is_fine());
        row.old = Some(Outcome::Other("exit status: 1".to_owned()));
        assert!(!row.is_fine());
        assert!(row.line().contains("**exit status: 1**"));
    }
}
