//! Phrases for twin images.

use super::{figure_words, verdict_role};
use crate::document::image_compare::{ImageCompareDocument, PackageOf};
use crate::styled::Role;
use crate::units::{count, size};
use crate::words::suite::build_names;
use underpin_bench::{Interval, Unit};
use underpin_suite::{GuestCell, GuestFigureName, Repeats};

/// `qemu-aarch64: musl against glibc`.
pub(crate) fn title(document: &ImageCompareDocument) -> String {
    let names = build_names(document.summary(), 32);
    match names.split_first() {
        Some((reference, others)) => format!("{}: {} against {reference}", document.target, others.join(", ")),
        None => document.target.clone(),
    }
}

/// What emulated the guests, and what their clocks count.
pub(crate) fn emulation(document: &ImageCompareDocument) -> String {
    let clock = if document.guest.counts_instructions {
        "its clock counts instructions, not time"
    } else {
        "its clock is that of this machine"
    };
    format!("{}, {} MiB; {clock}", document.guest.emulator, document.memory_mib)
}

/// A row of the table of whole images: what it is, each image's figure, and each image beside the first.
pub(crate) struct Whole {
    /// What it is.
    pub label: &'static str,
    /// For each image.
    pub cells: Vec<String>,
    /// For each image but the first: its ratio, and how it is to be shown.
    pub ratios: Vec<(String, Role)>,
}

const fn label(name: GuestFigureName) -> &'static str {
    match name {
        GuestFigureName::FirstResult => "start to first result (host clock)",
        GuestFigureName::Boot => "kernel to first command (counted)",
        GuestFigureName::EmptyProcess => "an empty process (counted)",
        GuestFigureName::UsedMemory => "memory in use after boot",
    }
}

/// Sizes and figures of boots.
pub(crate) fn whole(document: &ImageCompareDocument) -> Vec<Whole> {
    let mut rows = Vec::new();
    let bytes = |label, of: fn(&crate::document::image_size::ImageSizes) -> u64| {
        let first = document.sizes.iter().find_map(|one| one.against.as_ref())?;
        let cells = std::iter::once(first).chain(document.sizes.iter().map(|one| &one.image)).map(of);
        let cells: Vec<u64> = cells.collect();
        let reference = *cells.first().filter(|bytes| **bytes > 0)? as f64;
        let ratios = cells[1..].iter().map(|bytes| (format!("{:.2}", *bytes as f64 / reference), Role::Number));
        Some(Whole { label, ratios: ratios.collect(), cells: cells.iter().map(|bytes| size(*bytes)).collect() })
    };
    rows.extend(bytes("image without its kernel", |sizes| sizes.system_bytes));
    rows.extend(bytes("what is shipped (gzip)", |sizes| sizes.shipped_bytes));
    for figure in &document.figures {
        let cell = |cell: &Option<GuestCell>| {
            cell.as_ref().map_or_else(|| "-".to_owned(), |cell| figure_words(cell.median.estimate, figure.unit))
        };
        let ratio = |cell: &Option<GuestCell>| {
            let known = cell.as_ref().and_then(|cell| Some((cell.ratio.as_ref()?, cell.verdict?)));
            known.map_or(("-".to_owned(), Role::Dim), |(ratio, verdict)| {
                (ratio_words(ratio), verdict_role(verdict, None))
            })
        };
        rows.push(Whole {
            label: label(figure.name),
            cells: figure.cells.iter().map(cell).collect(),
            ratios: figure.cells.iter().skip(1).map(ratio).collect(),
        });
    }
    rows
}

/// `0.87 [0.85, 0.90]`, without the interval if it rounds to nothing.
fn ratio_words(ratio: &Interval) -> String {
    let words = format!("{:.2}", ratio.estimate);
    let bounds = [ratio.low, ratio.high].map(|bound| format!("{bound:.2}"));
    if bounds.iter().all(|bound| *bound == words) || !ratio.is_confident() {
        return words;
    }
    format!("{words} [{}, {}]", bounds[0], bounds[1])
}

/// A package in one image: `1:1.37.0-6`, with the number of changes; a dash if there is none.
pub(crate) fn package_words(package: Option<&PackageOf>) -> String {
    match package {
        None => "-".to_owned(),
        Some(one) if one.changed_by.is_empty() => one.version.clone(),
        Some(one) => format!("{}, {}", one.version, count(one.changed_by.len(), "change", "changes")),
    }
}

/// What the twins have in common, and whether anything differs.
pub(crate) fn twins(document: &ImageCompareDocument) -> String {
    let packages = document.images.first().map_or(0, |image| image.packages);
    let kernel = document.images.first().map_or("", |image| image.kernel.as_str());
    let same = if document.differences.is_empty() { "none differs" } else { "these differ" };
    format!("{} from recipes, kernel {kernel}; {same}", count(packages, "package", "packages"))
}

/// How far equal boots are apart.
pub(crate) fn repeats(document: &ImageCompareDocument, repeats: &Repeats) -> String {
    let name = build_names(document.summary(), 32).into_iter().nth(repeats.build).unwrap_or_default();
    let furthest = if repeats.unsteady.len() > 1 {
        let rows: Vec<String> =
            repeats.unsteady.iter().map(|one| format!("{} ({})", share(one.share), one.row)).collect();
        format!("further {}", rows.join(", "))
    } else {
        format!("at most {} ({})", share(repeats.most), repeats.most_row)
    };
    format!(
        "{name}, {} boots: {} of {} rows within 5 % of their median, typically {}, {furthest}",
        repeats.boots,
        repeats.steady,
        repeats.rows,
        share(repeats.typical),
    )
}

fn share(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// A size beside the first image's, for the table by package.
pub(crate) fn bytes_words(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), |bytes| figure_words(bytes as f64, Unit::Bytes))
}
