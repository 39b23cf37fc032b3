//! The screen of `underpin image size`.

use crate::document::image_size::{
    ImagePart, ImagePartDifference, ImagePartKind, ImageShipped, ImageSizeDocument, ImageSizes,
};
use crate::layout::{Align, Table, View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size};

/// Where the bytes of an image are, or why two images differ.
#[must_use]
pub fn image_size(document: &ImageSizeDocument, view: &View) -> Text {
    let mut text = Text::new();
    match (&document.against, &document.differences) {
        (Some(against), Some(rows)) => compared(&mut text, document, against, rows, view),
        _ => alone(&mut text, &document.image, view),
    }
    text
}

fn alone(text: &mut Text, image: &ImageSizes, view: &View) {
    let files: u64 = image.parts.iter().map(|part| part.files).sum();
    let files = count(usize::try_from(files).unwrap_or(usize::MAX), "file", "files");
    let head = format!("{} for {}: {} in {files}", image.folder, image.target, size(image.total_bytes));
    text.push(Line::new().with(Role::Heading, head));
    text.gap();
    let columns = [
        ("part", Align::Left),
        ("version", Align::Left),
        ("is", Align::Left),
        ("files", Align::Right),
        ("size", Align::Right),
    ];
    let mut table = Table::new(&columns).flexible(0);
    for ImagePart { kind, name, version, files, bytes } in &image.parts {
        table.row(vec![
            Span::new(Role::Name, name),
            Span::new(Role::Plain, version.as_deref().unwrap_or_default()),
            Span::fixed(Role::Dim, words(*kind)),
            Span::new(Role::Number, files.to_string()),
            Span::new(Role::Number, size(*bytes)),
        ]);
    }
    text.append(table.lines(view.usable()));
    text.gap();
    row(text, "total", &format!("{}, {} without the kernel", size(image.total_bytes), size(image.system_bytes)), view);
    row(text, "shipped", &shipped(&image.shipped), view);
}

fn compared(
    text: &mut Text,
    document: &ImageSizeDocument,
    against: &ImageSizes,
    rows: &[ImagePartDifference],
    view: &View,
) {
    let image = &document.image;
    let head = format!("A  {} for {}, B  {} for {}", image.folder, image.target, against.folder, against.target);
    text.push(Line::new().with(Role::Heading, head));
    text.gap();
    let columns = [
        ("part", Align::Left),
        ("is", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("A - B", Align::Right),
        ("", Align::Left),
    ];
    let mut table = Table::new(&columns).flexible(0);
    for part in rows {
        let bytes = |bytes: Option<u64>| Span::new(Role::Number, bytes.map_or_else(|| "-".to_owned(), size));
        let note = match (part.bytes, part.against_bytes) {
            (Some(_), None) => "only in A",
            (None, Some(_)) => "only in B",
            _ if part.version != part.against_version => "other version",
            _ => "",
        };
        table.row(vec![
            Span::new(Role::Name, &part.name),
            Span::fixed(Role::Dim, words(part.kind)),
            bytes(part.bytes),
            bytes(part.against_bytes),
            Span::new(Role::Number, signed(part.difference_bytes)),
            Span::fixed(Role::Dim, note),
        ]);
    }
    text.append(table.lines(view.usable()));
    text.gap();
    total(text, "total", (image.total_bytes, against.total_bytes), document.ratio, view);
    let system = (image.system_bytes, against.system_bytes);
    total(text, "system", system, document.system_ratio, view);
    total(text, "shipped", (image.shipped_bytes, against.shipped_bytes), document.shipped_ratio, view);
    let words = "the system is all but the kernel, its modules and firmware; shipped are the files, with gzip";
    text.append(wrap(Line::new().with(Role::Dim, "  "), &[Span::fixed(Role::Dim, words)], view.usable()));
    for part in rows.iter().filter(|part| view.verbosity > 0 && part.version != part.against_version) {
        let of = |version: &Option<String>| version.clone().unwrap_or_else(|| "none".to_owned());
        row(text, &part.name, &format!("A {}, B {}", of(&part.version), of(&part.against_version)), view);
    }
}

fn total(text: &mut Text, name: &str, (here, there): (u64, u64), ratio: Option<f64>, view: &View) {
    let ratio = ratio.map_or_else(String::new, |ratio| format!(": A is {ratio:.2} of B"));
    row(text, name, &format!("{} and {}{ratio}", size(here), size(there)), view);
}

fn signed(bytes: i64) -> String {
    match bytes {
        0 => "0 B".to_owned(),
        1.. => format!("+{}", size(bytes.unsigned_abs())),
        _ => format!("-{}", size(bytes.unsigned_abs())),
    }
}

fn shipped(files: &[ImageShipped]) -> String {
    let file = |file: &ImageShipped| match file.gzip_bytes {
        Some(gzip) => format!("{} {} ({} with gzip)", file.file, size(file.bytes), size(gzip)),
        None => format!("{} {}", file.file, size(file.bytes)),
    };
    files.iter().map(file).collect::<Vec<_>>().join(", ")
}

fn row(text: &mut Text, name: &str, words: &str, view: &View) {
    let start = Line::new().with(Role::Dim, format!("  {name:<10}"));
    text.append(wrap(start, &[Span::new(Role::Plain, words)], view.usable()));
}

const fn words(kind: ImagePartKind) -> &'static str {
    match kind {
        ImagePartKind::Kernel => "kernel",
        ImagePartKind::Modules => "modules",
        ImagePartKind::Firmware => "firmware",
        ImagePartKind::CLibrary => "C library",
        ImagePartKind::Recipe => "recipe",
        ImagePartKind::Installed => "package",
        ImagePartKind::Programs => "by path",
        ImagePartKind::Needed => "libraries",
        ImagePartKind::Added => "--add",
        ImagePartKind::Underpin => "underpin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Raw;

    fn part(kind: ImagePartKind, name: &str, version: Option<&str>, files: u64, bytes: u64) -> ImagePart {
        ImagePart { kind, name: name.to_owned(), version: version.map(str::to_owned), files, bytes }
    }

    fn sizes(folder: &str, parts: Vec<ImagePart>) -> ImageSizes {
        let shipped = vec![
            ImageShipped { file: "vmlinuz".to_owned(), bytes: 8_192_000, gzip_bytes: None },
            ImageShipped { file: "initramfs.cpio".to_owned(), bytes: 2_048_000, gzip_bytes: Some(1_024_000) },
        ];
        ImageSizes::new(Raw::from(folder), "qemu-aarch64".to_owned(), parts, shipped)
    }

    fn sample() -> ImageSizeDocument {
        let kernel = || {
            let name = "linux-image-6.12.57+deb13-cloud-arm64-unsigned";
            part(ImagePartKind::Kernel, name, Some("6.12.57-1"), 1, 8_192_000)
        };
        let own = || part(ImagePartKind::Underpin, "underpin's init", None, 1, 9_000);
        let musl = vec![kernel(), part(ImagePartKind::Recipe, "busybox", Some("1:1.37.0-6"), 300, 1_000_000), own()];
        let glibc = vec![
            kernel(),
            part(ImagePartKind::CLibrary, "glibc", Some("2.41-12"), 4, 2_100_000),
            part(ImagePartKind::Recipe, "busybox", Some("1:1.37.0-4"), 300, 950_000),
            own(),
        ];
        ImageSizeDocument::new(sizes("musl", musl), Some(sizes("glibc", glibc)))
    }

    #[test]
    fn an_image_is_listed_by_part_with_totals() {
        let document = ImageSizeDocument::new(sample().image, None);
        insta::assert_snapshot!(super::super::image_size(&document, &View::columns(80)));
    }

    #[test]
    fn two_images_are_compared_by_part_with_ratios() {
        insta::assert_snapshot!(super::super::image_size(&sample(), &View::columns(80)));
        for columns in [40, 60, 120] {
            let text = super::super::image_size(&sample(), &View::columns(columns).verbose(1));
            assert!(text.lines().iter().all(|line| line.width() <= columns), "{columns}: {text}");
        }
    }
}
