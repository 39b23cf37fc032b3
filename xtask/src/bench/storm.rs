//! `bind` and `bundle` beside patchelf, shrinkwrap's method and unchanged files: the calls of a start, and its time
//! on a file system that answers slowly and on one that does not.
//!
//! Every form of a program is at the path that its files name, and is moved aside only while the delay file system
//! is mounted there. Needs strace, patchelf and FUSE, and the programs themselves.

mod calls;
pub mod slow;
pub mod variants;

use super::measure::{Contestant, interleaved, interleaved_apart};
use super::stats::{Estimate, Sample};
use super::table::{self, Goal, Limit};
use anyhow::Context;
use calls::{Calls, without_another_map};
use slow::{Client, Mounted, Requests};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use variants::{Kind, Refused, Subject, Tools, Variant};

/// The two programs with the largest closures that the tests install.
pub const SUBJECTS: [Subject; 2] = [
    Subject { path: "/usr/bin/emacs-gtk", argument: "--version", data: Some(("/usr/lib/emacs", "lib/emacs")) },
    Subject { path: "/usr/bin/ffmpeg", argument: "-version", data: None },
];

/// What was measured of one program.
struct Measured {
    subject: Subject,
    refused: Vec<Refused>,
    original: Calls,
    calls: Vec<(Kind, Calls)>,
    requests: Vec<(Kind, Requests)>,
    /// In the order of the calls: on the slow file system, warm and fresh, and on the local one.
    times: [(Vec<Contestant>, Vec<Sample>); 3],
}

/// Runs the comparison and returns its page.
///
/// # Errors
/// If a program of the comparison is missing or fails.
pub fn run(rounds: usize) -> anyhow::Result<String> {
    let tools = Tools::build()?;
    let mut page = table::head("The stat storm, and what ends it", "cargo xtask bench storm");
    page += INTRODUCTION;
    let mut goals = String::new();
    for subject in SUBJECTS {
        let scratch = Scratch::new()?;
        let measured = measure(&tools, &scratch.path, subject, rounds)?;
        page += &measured.page();
        let _ = writeln!(goals, "\n{}:", subject.path);
        goals += &table::goals(&measured.goals());
    }
    Ok(format!("{page}\n## Goals\n{goals}"))
}

const INTRODUCTION: &str = "\n\
    The programs are Debian's, laid out as Spack does it (`underpin-spacktree`): each library in a hashed prefix, DT_RPATH \
    of `lib` and `lib64` of the transitive closure in each object, the C library and its loader in a prefix of their own. \
    The search path is written without a further segment wherever that is possible, so that an unbound object takes as \
    many mmap calls as Debian's. Every tool binds every library: underpin with a policy that includes those of \
    graphics drivers, which ffmpeg loads.\n\n\
    The slow file system (`underpin-slowfs`) waits 100 us before it answers a lookup, and never lets the kernel remember \
    that a name does not exist. A *warm* client may keep the names that it found for an hour; a *fresh* one knows \
    nothing, not even a folder. Contents come from the page cache.\n";

/// A folder for the trees, removed with all of them when it is dropped.
pub struct Scratch {
    /// Where.
    pub path: PathBuf,
}

impl Scratch {
    /// Makes it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new() -> anyhow::Result<Scratch> {
        let path = std::env::temp_dir().join(format!("underpin-storm-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Scratch { path: path.canonicalize()? })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn measure(tools: &Tools, base: &Path, subject: Subject, rounds: usize) -> anyhow::Result<Measured> {
    let (variants, refused) = tools.variants(base, subject, &Kind::ALL)?;
    let log = base.join("log");
    let original = Calls::of(Path::new(subject.path), subject.argument, &log)?;
    let of = |variant: &Variant| Ok((variant.kind, Calls::of(&variant.program, subject.argument, &log)?));
    let calls = variants.iter().map(of).collect::<anyhow::Result<_>>()?;
    let of =
        |variant: &Variant| Ok((variant.kind, Requests::of(&tools.slowfs, variant, subject.argument, Client::Fresh)?));
    let requests = variants.iter().map(of).collect::<anyhow::Result<_>>()?;
    println!("{}: timing", subject.path);
    let few = (rounds / 4).max(3);
    let warm = on_slow(tools, &variants, subject, Client::Warm, few)?;
    let fresh = on_slow(tools, &variants, subject, Client::Fresh, few)?;
    let mut local = contestants(&variants, subject)?;
    local.push(Contestant::new("Debian's own, with ld.so.cache", &[subject.path, subject.argument]));
    let samples = interleaved(&local, rounds)?;
    Ok(Measured { subject, refused, original, calls, requests, times: [warm, fresh, (local, samples)] })
}

/// The start of each variant on the slow file system.
///
/// # Errors
/// If FUSE is not available, or a variant fails.
pub fn on_slow(
    tools: &Tools,
    variants: &[Variant],
    subject: Subject,
    client: Client,
    rounds: usize,
) -> anyhow::Result<(Vec<Contestant>, Vec<Sample>)> {
    let mounted: Vec<Mounted> =
        variants.iter().map(|variant| Mounted::over(&tools.slowfs, variant, client)).collect::<anyhow::Result<_>>()?;
    let contestants = contestants(variants, subject)?;
    // The first start brings the contents into the page cache, and to a warm client the names.
    interleaved(&contestants, 1)?;
    let samples = interleaved_apart(&contestants, rounds, client.pause());
    drop(mounted);
    Ok((contestants, samples?))
}

/// The variants as commands.
///
/// # Errors
/// If a path is not UTF-8.
pub fn contestants(variants: &[Variant], subject: Subject) -> anyhow::Result<Vec<Contestant>> {
    let of = |variant: &Variant| {
        let program = variant.program.to_str().context("a path that is not UTF-8")?;
        Ok(Contestant::new(variant.kind.name(), &[program, subject.argument]))
    };
    variants.iter().map(of).collect()
}

impl Measured {
    fn page(&self) -> String {
        let Subject { path, argument, .. } = self.subject;
        let mut text = format!("\n## {path} {argument}\n\nSystem calls of one start (strace -f), exit included:\n\n");
        text += "| form | all | openat | failing | stat | failing | of them the loader's | mmap | objects without another mmap |\n\
                 | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
        let named = self.calls.iter().map(|(kind, calls)| (kind.name(), calls));
        for (name, calls) in std::iter::once(("Debian's own, with ld.so.cache", &self.original)).chain(named) {
            let share = without_another_map(&self.original, calls);
            let share = share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0));
            let Calls { total, opens, failed_opens, stats, failed_stats, maps, .. } = calls;
            let loader = calls.failed_stats_of_loader;
            let _ = writeln!(
                text,
                "| {name} | {total} | {opens} | {failed_opens} | {stats} | {failed_stats} | {loader} | {maps} | {share} |"
            );
        }
        for (kind, said) in &self.refused {
            let _ = writeln!(text, "\nNot possible: {}: {said}", kind.name());
        }
        text += "\nRequests that reach the file system when a client that knows nothing starts it once:\n\n\
                 | form | lookups | of names that do not exist | opens |\n| --- | --- | --- | --- |\n";
        for (kind, Requests { lookups, absent, opens }) in &self.requests {
            let _ = writeln!(text, "| {} | {lookups} | {absent} | {opens} |", kind.name());
        }
        let titles = [
            "On the slow file system, warm client",
            "On the slow file system, fresh client",
            "On the local file system",
        ];
        for (title, (contestants, samples)) in titles.iter().zip(&self.times) {
            text += &table::comparison(&format!("{path}: {title}"), contestants, samples).replace("\n## ", "\n### ");
        }
        text
    }

    fn goals(&self) -> Vec<Goal<'static>> {
        let mut goals = self.call_goals();
        for (at, name) in [WARM, FRESH].into_iter().enumerate() {
            let samples = &self.times[at].1;
            goals.push(Goal {
                text: name.faster,
                ratio: samples[self.place(Kind::Unbound)].ratio(&samples[self.place(Kind::Bind)]),
                limit: Limit::AtLeast(5.0),
            });
            for (kind, text) in [(Kind::Patchelf, name.patchelf), (Kind::Shrinkwrap, name.shrinkwrap)] {
                let ratio = samples[self.place(Kind::Bind)].ratio(&samples[self.place(kind)]);
                goals.push(Goal { text, ratio, limit: Limit::AtMost(1.0) });
            }
            let ratio = samples[self.place(Kind::BundleFolder)].ratio(&samples[self.place(Kind::Patchelf)]);
            goals.push(Goal { text: name.bundle, ratio, limit: Limit::AtMost(1.0) });
        }
        goals
    }

    /// The index of a form among the contestants.
    fn place(&self, kind: Kind) -> usize {
        self.calls.iter().position(|(other, _)| *other == kind).unwrap_or(0)
    }

    fn call_goals(&self) -> Vec<Goal<'static>> {
        let bound = self.calls.iter().find(|(kind, _)| *kind == Kind::Bind).map(|(_, calls)| calls);
        let Some(bound) = bound else { return Vec::new() };
        let share = without_another_map(&self.original, bound).unwrap_or(0.0);
        let exact = |text, value: f64, limit| Goal { text, ratio: Estimate::exact(value), limit };
        vec![
            exact(
                "calls after `bind`, over those of Debian's own with its ld.so.cache: at most 1.01",
                bound.total as f64 / self.original.total as f64,
                Limit::AtMost(1.01),
            ),
            exact("failing openat after `bind`: at most 9", bound.failed_opens as f64, Limit::AtMost(9.0)),
            exact(
                "failing stat of the loader after `bind`: none",
                bound.failed_stats_of_loader as f64,
                Limit::AtMost(0.0),
            ),
            exact("share of objects that take no more mmap calls than Debian's", share, Limit::AtLeast(0.95)),
        ]
    }
}

/// The goals on one of the slow file systems, in words.
struct Words {
    faster: &'static str,
    patchelf: &'static str,
    shrinkwrap: &'static str,
    bundle: &'static str,
}

const WARM: Words = Words {
    faster: "slow file system, warm client: bound in place at least 5 times as fast as unbound",
    patchelf: "slow file system, warm client: bound in place not slower than by patchelf",
    shrinkwrap: "slow file system, warm client: bound in place not slower than by shrinkwrap's method",
    bundle: "slow file system, warm client: a bundle not slower than what patchelf bound",
};

const FRESH: Words = Words {
    faster: "slow file system, fresh client: bound in place at least 5 times as fast as unbound",
    patchelf: "slow file system, fresh client: bound in place not slower than by patchelf",
    shrinkwrap: "slow file system, fresh client: bound in place not slower than by shrinkwrap's method",
    bundle: "slow file system, fresh client: a bundle not slower than what patchelf bound",
};
