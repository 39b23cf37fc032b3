//! The screens of `underpin image`.

use crate::document::image::{ImageBuildDocument, ImageContainer, ImageFile, ImageKernel, ImageRunDocument};
use crate::layout::{Align, Table, View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size};

/// Files that the short form lists.
const LISTED: usize = 12;

/// What is in an image, or would be.
#[must_use]
pub fn image_build(document: &ImageBuildDocument, view: &View) -> Text {
    let mut text = Text::new();
    let what = format!("{} for {}", document.folder, document.target);
    text.push(if document.dry_run {
        Line::new().with(Role::Heading, format!("Plan: {what} (nothing was fetched or written)"))
    } else if document.unchanged {
        Line::new().with(Role::Good, format!("{what} is up to date"))
    } else {
        Line::new().with(Role::Good, format!("Built {what}"))
    });
    match (&document.kernel, &document.container) {
        (Some(kernel), _) => machine(&mut text, document, kernel, view),
        (None, container) => contained(&mut text, document, container.as_ref(), view),
    }
    row(&mut text, "command", &document.command.to_string(), view);
    packages(&mut text, document, view);
    files(&mut text, document, view);
    for remark in &document.remarks {
        text.gap();
        text.append(wrap(Line::new().with(Role::Warn, "! "), &[Span::new(Role::Plain, remark)], view.usable()));
    }
    text
}

fn machine(text: &mut Text, document: &ImageBuildDocument, kernel: &ImageKernel, view: &View) {
    let mut words = kernel.from.to_string();
    for part in [kernel.version.clone(), kernel.bytes.map(size)].into_iter().flatten() {
        words.push_str(&format!(" {part}"));
    }
    if let Some(replaced) = &kernel.replaced {
        words.push_str(&format!(" (the lock had {replaced})"));
    }
    row(text, "kernel", &words, view);
    let bytes = document.initramfs_bytes.map_or_else(String::new, |bytes| format!(", {}", size(bytes)));
    let files = count(document.files.len(), "file", "files");
    let format = document.format.as_deref().filter(|format| *format != "initramfs");
    let Some(format) = format else { return row(text, "initramfs", &format!("{files}{bytes}"), view) };
    let Some(disk) = &document.disk else { return row(text, format, &files, view) };
    row(text, "initramfs", &format!("finds the disk{bytes}"), view);
    row(text, format, &format!("{files} in {}, {}, UUID {}", disk.file, size(disk.bytes), disk.uuid), view);
    if let Some(firmware) = &disk.firmware {
        row(text, "firmware", firmware, view);
    }
}

fn contained(text: &mut Text, document: &ImageBuildDocument, container: Option<&ImageContainer>, view: &View) {
    let files = count(document.files.len(), "file", "files");
    let Some(container) = container else { return row(text, "files", &files, view) };
    let layers = count(container.diff_ids.len(), "layer", "layers");
    row(text, "files", &format!("{files} in {layers}, {}", size(container.bytes)), view);
    row(text, "manifest", &container.manifest, view);
    row(text, "user", &container.user, view);
}

fn packages(text: &mut Text, document: &ImageBuildDocument, view: &View) {
    if document.packages.is_empty() {
        return;
    }
    text.gap();
    let columns = [
        ("package", Align::Left),
        ("version", Align::Left),
        ("built", Align::Left),
        ("licence and appends", Align::Left),
    ];
    let mut table = Table::new(&columns).flexible(3);
    for package in &document.packages {
        let built = match package.seconds {
            Some(seconds) => format!("in {seconds:.1} s"),
            None if package.cached => "before".to_owned(),
            None => "not yet".to_owned(),
        };
        let mut words = vec![package.licence.clone()];
        words.extend(package.appends.iter().cloned());
        table.row(vec![
            Span::new(Role::Plain, &package.name),
            Span::new(Role::Plain, &package.version),
            Span::new(Role::Plain, built),
            Span::new(Role::Plain, words.join("; ")),
        ]);
    }
    text.append(table.lines(view.usable()));
}

fn row(text: &mut Text, name: &str, words: &str, view: &View) {
    let start = Line::new().with(Role::Dim, format!("  {name:<10}"));
    text.append(wrap(start, &[Span::new(Role::Plain, words)], view.usable()));
}

fn files(text: &mut Text, document: &ImageBuildDocument, view: &View) {
    if !document.dry_run && view.verbosity == 0 {
        return;
    }
    text.gap();
    let columns = [("file", Align::Left), ("size", Align::Right), ("because", Align::Left)];
    let mut table = Table::new(&columns).flexible(0);
    let limit = if view.verbosity > 0 { usize::MAX } else { LISTED };
    for ImageFile { path, bytes, because, .. } in document.files.iter().take(limit) {
        table.row(vec![
            Span::new(Role::Path, path.bytes()),
            Span::new(Role::Number, size(*bytes)),
            Span::new(Role::Plain, because),
        ]);
    }
    text.append(table.lines(view.usable()));
    if document.files.len() > limit {
        text.push(Line::new().with(Role::Dim, format!("  and {} more; -v shows all", document.files.len() - limit)));
    }
}

/// How a command in an image ran: what `-v` shows after its output.
#[must_use]
pub fn image_run(document: &ImageRunDocument, view: &View) -> Text {
    let mut text = Text::new();
    text.push(Line::new().with(Role::Heading, format!("{} on {}", document.folder, document.target)));
    match (&document.qemu, &document.accelerator, &document.accelerator_reason) {
        (Some(qemu), Some(accelerator), Some(reason)) => {
            row(&mut text, "emulator", &format!("QEMU {qemu}, {accelerator}: {reason}"), view);
        }
        _ => row(&mut text, "runtime", &document.runner, view),
    }
    if let Some(reason) = &document.runner_reason {
        row(&mut text, "guest", &format!("as root: {reason}"), view);
    }
    let boot = document.boot_seconds.map_or_else(String::new, |boot| format!(", the guest was up after {boot:.2} s"));
    row(&mut text, "time", &format!("{:.2} s{boot}", document.wall_seconds), view);
    if let Some(used) = document.used {
        let unit = if document.icount { "billion instructions" } else { "s" };
        let figures = format!(
            "{:.3} {unit} from start to end, {:.3} user, {:.3} system; peak {}; {}",
            used.wall_seconds,
            used.user_seconds,
            used.system_seconds,
            size(used.max_rss_bytes),
            count(
                usize::try_from(used.minor_faults + used.major_faults).unwrap_or(usize::MAX),
                "page fault",
                "page faults"
            ),
        );
        row(&mut text, "command", &figures, view);
    }
    for file in &document.files {
        let words = match &file.error {
            Some(error) => format!("{}: {error}", file.path),
            None => format!("{} -> {} ({})", file.path, file.place, size(file.bytes)),
        };
        row(&mut text, "file", &words, view);
    }
    text
}
