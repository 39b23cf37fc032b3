//! How rows were measured and how their figures are to be read.

use super::super::comparison::{change_words, level_words};
use super::{build_names, gain, gain_of_original};
use underpin_bench::{Comparison, LEVEL};
use underpin_suite::{Cell, Guest, RowSummary, Suite, Summary};

/// How the sign of a difference is to be read.
pub(crate) fn sign_words(summary: &Summary) -> String {
    let name = build_names(summary, 16).into_iter().next().unwrap_or_default();
    format!("+ is better than {name}: {name}/build - 1 for times, build/{name} - 1 for rates.")
}

/// All comparisons of a run.
fn comparisons(summary: &Summary) -> impl Iterator<Item = &Comparison> {
    let cells = summary.suites.iter().flat_map(|suite| &suite.rows).flat_map(|row| &row.cells);
    cells.filter_map(Cell::compared).map(|one| &one.time)
}

/// The method, a paragraph each.
pub(crate) fn suite_method(summary: &Summary) -> Vec<String> {
    let levels = || comparisons(summary).map(|one| one.level);
    let usual = levels().max_by(f64::total_cmp).unwrap_or(LEVEL);
    let strict = levels().min_by(f64::total_cmp).filter(|least| *least < usual);
    let strict = strict.map_or_else(String::new, |level| {
        format!(" ({} in rows before which the machine was busy)", level_words(level))
    });
    let usual = level_words(usual);
    let mut paragraphs = vec![
        "Each row is an experiment of its own. In each of its blocks every build runs there and back (ABBA for two), in \
         an order that is drawn anew, so that what slows the machine for a while slows all builds. A figure is the \
         median over the blocks, with an interval of 95 % bootstrapped over them."
            .to_owned(),
        format!(
            "A difference is the median over all pairs of blocks with the interval of the rank test; `faster` and \
             `slower` are claimed if a signed-rank test finds it and at most {usual}{strict} of all such claims of \
             this run are expected to be chance (the q-value of Storey, Taylor and Siegmund); `same` if the whole \
             interval is below 1 %. `faster?` and `slower?`: likely, and not proven so; `?`: these runs do not decide \
             it."
        ),
        "The geometric mean is that of the times over the reference's, so above 1 is slower. It is over the rows that \
         both have, and its interval joins those of the rows as if they were independent. It tells about these rows, \
         not about other programs."
            .to_owned(),
        "An operation is what the row's label says, done once. The row's program takes the time itself, without its own \
         start: either once in a process of its own, forked from one that has done nothing, so that what the C library \
         does at first use is in it, or in a loop over as many equal operations as take the time. A row that takes \
         less time than its work can take is refused as optimised away."
            .to_owned(),
        "Memory is what the work left, read by the program itself from /proc/self/smaps: mappings of no file, without \
         stacks and guard pages, summed as libc-bench sums them. Virtual: addresses; resident: pages in memory; dirty: \
         pages written to and not shared. Medians over the runs."
            .to_owned(),
    ];
    if let Some(guest) = &summary.guest {
        paragraphs.push(guest_words(guest));
    }
    if summary.suites.iter().any(|suite| !suite.indices.is_empty()) {
        paragraphs.push(
            "The index follows UnixBench 5.1.3: the worst third of a row's runs is dropped, the geometric mean of the \
             others over the baseline times 10 is the row's index, and the geometric mean over the rows is the whole."
                .to_owned(),
        );
    }
    if summary.builds.iter().any(|build| build.emulator.is_some()) {
        let words =
            "A build for another processor runs under an emulator: its figures are the emulator's, and not compared.";
        paragraphs.push(words.to_owned());
    }
    paragraphs
}

/// What figures of a guest are.
fn guest_words(guest: &Guest) -> String {
    let boots = "The rows ran in guests: a block is one start of every image, and every row runs once in each start, so runs \
                 are boots.";
    let clock = if guest.counts_instructions {
        " The guest's clock counts instructions, a nanosecond for each, those of its kernel included. That is not time: caches, \
         memory and branches cost nothing, a slow instruction counts as a fast one, threads take turns on one processor, and \
         waiting is skipped. Equal boots repeat almost exactly, so narrow intervals say that figures repeat, not that they hold \
         for other layouts of memory."
    } else {
        ""
    };
    format!("{boots}{clock} Emulated by {}.", guest.emulator)
}

/// What a row was made after, and the difference there beside those of this run.
pub(crate) fn original_words(summary: &Summary, suite: Suite, row: &RowSummary) -> Option<String> {
    let original = row.original?;
    let after = format!("After `{}` of {}", original.name, source(suite));
    let Some((figures, there)) = original.figures.zip(gain_of_original(row)) else { return Some(format!("{after}.")) };
    let names = build_names(summary, 32);
    let here = names
        .iter()
        .zip(&row.cells)
        .filter_map(|(name, cell)| Some(format!("{name} {}", change_words(gain(&cell.compared()?.time).estimate, 0))));
    let here: Vec<String> = here.collect();
    let reference = names.first().map_or("", String::as_str);
    let here = if here.is_empty() { String::new() } else { format!(" Here against {reference}: {}.", here.join(", ")) };
    Some(format!(
        "{after}, whose published figures ({ORIGINAL}) are {} on glibc and {} on musl: musl {}.{here}",
        figures.glibc,
        figures.musl,
        change_words(there, 0)
    ))
}

/// Where the figures of the originals come from.
pub(crate) const ORIGINAL: &str = "Raspberry Pi 4 at 600 MHz";

/// The suite that a suite was made after.
const fn source(suite: Suite) -> &'static str {
    match suite {
        Suite::Alloc => "the allocation benchmark of fossas/broker",
        Suite::Libc => "libc-bench",
        Suite::Os => "lmbench",
        Suite::System => "UnixBench",
        Suite::Cpu => "CoreMark",
    }
}
