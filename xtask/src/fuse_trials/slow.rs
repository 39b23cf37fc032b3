//! A start from a file system that answers slowly, by a client that knows nothing.

use super::section::{Context, goal, head, shown};
use crate::bench::storm::slow::{Client, Requests};
use crate::bench::storm::variants::{Kind, Subject, Tools, Variant};
use crate::bench::storm::{SUBJECTS, Scratch, on_slow};
use std::fmt::Write as _;
use std::path::Path;

/// The heading of the part.
pub const HEADING: &str = "## On a slow file system";
/// A fused start over one that `bind` prepared.
const GOAL: f64 = 0.5;
/// The forms; the one that the others are compared with is `bind`'s.
const KINDS: [Kind; 3] = [Kind::Unbound, Kind::Bind, Kind::Fused];
/// The clients. An unbound start takes longer than the second one remembers.
const CLIENTS: [(&str, Client, &[Kind]); 2] =
    [("each part of a path", Client::Fresh, &KINDS), ("each name once", Client::First, &[Kind::Bind, Kind::Fused])];

/// Times of starts from `underpin-slowfs`: laid out as Spack does it, with absolute names, and fused.
///
/// # Errors
/// If FUSE is not available or a form does not start.
pub fn measure(context: &Context) -> anyhow::Result<String> {
    let tools = Tools::build_for_files()?;
    let rounds = (context.rounds / 4).max(3);
    let mut text = head(HEADING, "slow", context.rounds);
    writeln!(
        text,
        "Trees as Spack has them (docs/bench/storm.md), on a file system that answers a lookup after 100 us, by two clients that \
         know no name when the program is started. One asks for each part of a path at each use of it (lookupcache=none of \
         nfs(5)); the other one remembers for the time of that start what it found, as NFS clients do unless told otherwise. Whole \
         starts on the clock; runs interleave (ABBA). Lookups and opens are those that reach the file system in one start. The \
         goal is at most {GOAL} of the time that `bind` leaves.\n\n\
         | program | client asks for | form | lookups | opens | start, ms | over `bind` | | runs |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    )?;
    for subject in SUBJECTS {
        if Path::new(subject.path).exists() {
            text += &starts(&tools, subject, rounds)?;
        } else {
            writeln!(text, "| {} | not installed | | | | | | |", subject.path)?;
        }
    }
    Ok(text)
}

fn starts(tools: &Tools, subject: Subject, rounds: usize) -> anyhow::Result<String> {
    let scratch = Scratch::new()?;
    let (mut variants, refused) = tools.variants(&scratch.path, subject, &KINDS)?;
    let mut text = String::new();
    for (asks, client, kinds) in CLIENTS {
        variants.retain(|variant| kinds.contains(&variant.kind));
        text += &by_client(tools, &variants, subject, (asks, client), rounds)?;
    }
    for (kind, reason) in refused {
        writeln!(text, "| {} | | {} | | | refused: {reason} | | missed | |", subject.path, kind.name())?;
    }
    Ok(text)
}

fn by_client(
    tools: &Tools,
    variants: &[Variant],
    subject: Subject,
    (asks, client): (&str, Client),
    rounds: usize,
) -> anyhow::Result<String> {
    let of = |variant: &Variant| Requests::of(&tools.slowfs, variant, subject.argument, client);
    let requests = variants.iter().map(of).collect::<anyhow::Result<Vec<_>>>()?;
    let samples = on_slow(tools, variants, subject, client, rounds)?.1;
    let mut text = String::new();
    let Some(bind) = variants.iter().position(|variant| variant.kind == Kind::Bind) else { return Ok(text) };
    for ((variant, requests), sample) in variants.iter().zip(&requests).zip(&samples) {
        let ratio = sample.ratio(&samples[bind]);
        let (over, verdict) = match variant.kind {
            Kind::Bind => ("1".to_owned(), ""),
            Kind::Fused => (shown(ratio), goal(ratio, GOAL)),
            _ => (shown(ratio), ""),
        };
        writeln!(
            text,
            "| {} | {asks} | {} | {} | {} | {:.0} | {over} | {verdict} | {} |",
            subject.path,
            variant.kind.name(),
            requests.lookups,
            requests.opens,
            sample.median().value * 1e3,
            sample.runs(),
        )?;
    }
    Ok(text)
}
