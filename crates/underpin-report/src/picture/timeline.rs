//! The start-up as pictures: the phases over the whole time watched, and the loader's phase in detail with one row for
//! each of its most expensive libraries.

use super::svg::{Anchor, Svg};
use super::{Key, Picture};
use crate::bytes::Raw;
use crate::document::trace::by_cost;
use crate::document::trace::{LibraryRecord, PhaseName, PhaseRecord, TraceDocument};
use crate::layout::shorten;
use crate::units::{count, thousands, time};

/// Both pictures are drawn for a wide page and for a phone; the page shows the one that fits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    Wide,
    /// Names are above their bars, not beside them.
    Narrow,
}

impl Frame {
    /// Width of a picture in user units: at most that of the page, so that no text is scaled down.
    const fn width(self) -> f64 {
        match self {
            Frame::Wide => 900.0,
            Frame::Narrow => 376.0,
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Frame::Wide => "time wide",
            Frame::Narrow => "time narrow",
        }
    }

    /// Approximate number of steps between the ticks of an axis.
    const fn steps(self) -> f64 {
        match self {
            Frame::Wide => 6.0,
            Frame::Narrow => 2.0,
        }
    }

    /// Columns left of the bars, for names.
    const fn names(self) -> f64 {
        match self {
            Frame::Wide => 230.0,
            Frame::Narrow => 0.0,
        }
    }

    /// Height of a library's row.
    const fn row(self) -> f64 {
        match self {
            Frame::Wide => ROW,
            Frame::Narrow => 29.0,
        }
    }

    /// A name left of its bar, or above it.
    fn label(self, svg: &mut Svg, class: &str, left: f64, y: f64, words: &str) {
        match self {
            Frame::Wide => svg.text(class, left - 10.0, y + 10.0, Anchor::End, words),
            Frame::Narrow => svg.text(class, 0.0, y - 3.0, Anchor::Start, words),
        }
    }

    /// The markup of a picture in both frames.
    fn both(draw: impl Fn(Frame) -> Svg) -> String {
        [Frame::Wide, Frame::Narrow].map(|frame| draw(frame).finish()).concat()
    }
}

/// Rows of libraries in the detailed picture.
const ROWS: usize = 30;
const ROW: f64 = 16.0;
const NAME_COLUMNS: usize = 33;

/// A mapping of a stretch of time to a stretch of the drawing.
struct Scale {
    from: f64,
    to: f64,
    left: f64,
    right: f64,
    frame: Frame,
}

impl Scale {
    fn x(&self, seconds: f64) -> f64 {
        let span = (self.to - self.from).max(f64::MIN_POSITIVE);
        self.left + ((seconds - self.from) / span).clamp(0.0, 1.0) * (self.right - self.left)
    }

    /// Left edge and width of a stretch, at least wide enough to be visible.
    fn stretch(&self, start: f64, seconds: f64) -> (f64, f64) {
        let x = self.x(start);
        (x, (self.x(start + seconds) - x).max(1.0))
    }

    /// Round moments for the axis: between four and ten of them on a wide one.
    fn ticks(&self) -> Vec<f64> {
        let span = self.to - self.from;
        if span <= 0.0 {
            return vec![self.from];
        }
        let rough = span / self.frame.steps();
        let power = power_of_ten_below(rough);
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(power * 10.0);
        let first = (self.from / step).ceil() as i64;
        (first..first + 12).map(|tick| tick as f64 * step).take_while(|tick| *tick <= self.to).collect()
    }

    fn axis(&self, svg: &mut Svg, top: f64, bottom: f64) {
        for tick in self.ticks() {
            let x = self.x(tick);
            svg.line("grid", [x, top, x, bottom]);
            let anchor = if x < 24.0 { Anchor::Start } else { Anchor::Middle };
            svg.text("axis", x, bottom + 13.0, anchor, &time(tick));
        }
    }
}

const fn phase_class(name: PhaseName) -> &'static str {
    match name {
        PhaseName::Exec => "p-exec",
        PhaseName::Loader => "p-loader",
        PhaseName::Initialisers => "p-init",
        PhaseName::Main => "p-main",
        PhaseName::AfterOutput => "p-after",
    }
}

/// The phases over the whole time watched.
pub(crate) fn timeline_picture(document: &TraceDocument) -> Picture {
    Picture { svg: Frame::both(|frame| timeline(document, frame)), title: None, legend: Vec::new() }
}

fn timeline(document: &TraceDocument, frame: Frame) -> Svg {
    let rows = document.phases.len() as f64;
    let height = rows * 24.0 + 34.0;
    let (left, after) = if frame == Frame::Wide { (130.0, 130.0) } else { (96.0, 64.0) };
    let scale = Scale { from: 0.0, to: document.instants.end_seconds, left, right: frame.width() - after, frame };
    let mut svg = Svg::new(frame.width(), height, frame.class(), "Time line of the phases of the start");
    scale.axis(&mut svg, 4.0, rows * 24.0 + 8.0);
    for (index, phase) in document.phases.iter().enumerate() {
        phase_row(&mut svg, phase, &scale, 8.0 + index as f64 * 24.0);
    }
    for library in document.libraries.iter().filter(|library| library.phase != PhaseName::Loader) {
        let (x, width) = scale.stretch(library.opened_seconds, library.map_seconds);
        svg.rect("late", [x, rows * 24.0 + 2.0, width.max(2.0), 6.0], &format!("{} (dlopen)", library.path));
    }
    svg
}

fn phase_row(svg: &mut Svg, phase: &PhaseRecord, scale: &Scale, y: f64) {
    let (x, width) = scale.stretch(phase.start_seconds, phase.seconds);
    let title = format!(
        "{}: {} from {} on, {} calls, {} fail",
        phase.name.words(),
        time(phase.seconds),
        time(phase.start_seconds),
        thousands(phase.calls),
        thousands(phase.errors)
    );
    svg.text("label", scale.left - 10.0, y + 12.0, Anchor::End, phase.name.words());
    svg.rect(phase_class(phase.name), [x, y, width, 16.0], &title);
    svg.text("value", x + width + 6.0, y + 12.0, Anchor::Start, &time(phase.seconds));
}

/// The loader's phase: all libraries on one lane, relocation by library, then a row for each of the most expensive.
pub(crate) fn loader_picture(document: &TraceDocument) -> Picture {
    let loader = document.phases.iter().find(|phase| phase.name == PhaseName::Loader);
    let all: Vec<&LibraryRecord> =
        document.libraries.iter().filter(|library| library.phase == PhaseName::Loader || loader.is_none()).collect();
    let (from, to) = loader.map_or((0.0, document.instants.end_seconds), |phase| {
        (phase.start_seconds, document.instants.loader_ready_seconds.unwrap_or(phase.start_seconds + phase.seconds))
    });
    let shown = most_expensive(&all);
    let svg = Frame::both(|frame| loader_in(&all, &shown, (from, to), frame));
    let mut legend = vec![Key::fixed("p-map", "open and map"), Key::fixed("p-relocate", "relocate")];
    if all.iter().any(|library| !library.failed.is_empty()) {
        legend.insert(0, Key::fixed("p-search", "failing lookups"));
    }
    if shown.len() < all.len() {
        legend.push(Key::hint("Rows show the thirty most expensive libraries, in the order of their opening."));
    }
    Picture { svg, title: None, legend }
}

fn loader_in(all: &[&LibraryRecord], shown: &[&LibraryRecord], (from, to): (f64, f64), frame: Frame) -> Svg {
    let row = frame.row();
    let top = if frame == Frame::Wide { 10.0 } else { 22.0 };
    let height = (shown.len() as f64 + 2.0) * row + top + 28.0;
    let scale = Scale { from, to, left: frame.names(), right: frame.width() - 60.0, frame };
    let mut svg = Svg::new(frame.width(), height, frame.class(), "The loader's work by library");
    scale.axis(&mut svg, 4.0, height - 22.0);
    lanes(&mut svg, all, &scale, (top, to));
    for (index, library) in shown.iter().enumerate() {
        library_row(&mut svg, library, &scale, top + (index as f64 + 2.0) * row);
    }
    svg
}

/// The most expensive libraries in the order of their opening.
fn most_expensive<'a>(all: &[&'a LibraryRecord]) -> Vec<&'a LibraryRecord> {
    let owned: Vec<LibraryRecord> = all.iter().map(|library| (*library).clone()).collect();
    let names: Vec<Raw> = by_cost(&owned).into_iter().take(ROWS).map(|library| library.path.clone()).collect();
    all.iter().copied().filter(|library| names.contains(&library.path)).take(ROWS).collect()
}

fn search_stretch(library: &LibraryRecord) -> (f64, f64) {
    (library.opened_seconds - library.search_seconds, library.search_seconds)
}

fn words(library: &LibraryRecord) -> String {
    let relocate = library.relocate_seconds.map_or_else(String::new, |seconds| format!(", relocate {}", time(seconds)));
    let lookups = match library.failed.len() {
        0 => String::new(),
        failed => {
            format!("{} for {}, ", count(failed, "failing lookup", "failing lookups"), time(library.search_seconds))
        }
    };
    format!("{}: {lookups}open and map {}{relocate}", library.path, time(library.map_seconds))
}

/// All libraries on one lane; below it the relocation. glibc relocates in the reverse of the load order, and only the
/// share of each object is known, so the bars end where the loader was ready.
fn lanes(svg: &mut Svg, all: &[&LibraryRecord], scale: &Scale, (top, ready): (f64, f64)) {
    let frame = scale.frame;
    frame.label(svg, "label", scale.left, top, &count(all.len(), "library", "libraries"));
    for library in all {
        let (start, seconds) = search_stretch(library);
        if seconds > 0.0 {
            let (x, width) = scale.stretch(start, seconds);
            svg.rect("p-search", [x, top, width, 11.0], "");
        }
        let (x, width) = scale.stretch(library.opened_seconds, library.map_seconds);
        svg.rect("p-map", [x, top, width, 11.0], &words(library));
    }
    let total: f64 = all.iter().filter_map(|library| library.relocate_seconds).sum();
    if total <= 0.0 {
        return;
    }
    let below = top + frame.row();
    frame.label(svg, "label", scale.left, below, "relocation");
    let mut at = ready - total;
    for library in all.iter().rev() {
        if let Some(seconds) = library.relocate_seconds {
            let (x, width) = scale.stretch(at, seconds);
            svg.rect("p-relocate", [x, below, (width - 0.5).max(0.5), 11.0], &words(library));
            at += seconds;
        }
    }
}

fn library_row(svg: &mut Svg, library: &LibraryRecord, scale: &Scale, y: f64) {
    let name = shorten(&Raw::from(library.path.file_name()).to_string(), NAME_COLUMNS);
    svg.open("row", &[], &words(library));
    scale.frame.label(svg, "label mono", scale.left, y, &name);
    let (start, seconds) = search_stretch(library);
    if seconds > 0.0 {
        let (x, width) = scale.stretch(start, seconds);
        svg.rect("p-search", [x, y + 1.0, width, 11.0], "");
    }
    let (x, width) = scale.stretch(library.opened_seconds, library.map_seconds);
    svg.rect("p-map", [x, y + 1.0, width, 11.0], "");
    svg.text("value", x + width + 5.0, y + 10.0, Anchor::Start, &time(library.total_seconds()));
    svg.close();
}

/// The largest power of ten that is at most `value`. Multiplied step by step: powf and log10 would make the program
/// depend on libm, which would then be loaded at every start.
fn power_of_ten_below(value: f64) -> f64 {
    let mut power = 1e-12;
    while power * 10.0 <= value {
        power *= 10.0;
    }
    power
}
