//! The screen of `underpin image sources`.

use crate::document::image_sources::ImageSourcesDocument;
use crate::layout::{Align, Table, View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::units::{count, size};

/// What was written of which package, and what has no sources there.
#[must_use]
pub fn image_sources(document: &ImageSourcesDocument, view: &View) -> Text {
    let mut text = Text::new();
    let packages = count(document.packages.len(), "package", "packages");
    let head =
        format!("Wrote {}: sources of {packages} of {}, {}", document.output, document.folder, size(document.bytes));
    text.push(Line::new().with(Role::Good, head));
    if !document.packages.is_empty() {
        text.gap();
        let columns =
            [("package", Align::Left), ("version", Align::Left), ("licence", Align::Left), ("files", Align::Right)];
        let mut table = Table::new(&columns).flexible(2);
        for package in &document.packages {
            table.row(vec![
                Span::new(Role::Name, &package.name),
                Span::new(Role::Plain, &package.version),
                Span::new(Role::Plain, &package.licence),
                Span::new(Role::Number, package.files.len().to_string()),
            ]);
        }
        text.append(table.lines(view.usable()));
    }
    for file in document.packages.iter().flat_map(|package| &package.files).filter(|_| view.verbosity > 0) {
        text.push(Line::new().with(Role::Plain, "  ").with(Role::Path, file.as_str()));
    }
    // Never shortened to a number: whoever hands the image on has to know each.
    if !document.missing.is_empty() {
        text.gap();
        let head = format!("Not in it: {}", count(document.missing.len(), "part of the image", "parts of the image"));
        text.push(Line::new().with(Role::Warn, head));
    }
    for missing in &document.missing {
        let licence = missing.licence.as_ref().map_or_else(String::new, |licence| format!(" ({licence})"));
        let words = [Span::new(Role::Dim, format!("{}{licence}", missing.why))];
        // A long name has a line of its own.
        let long = missing.what.chars().count() > view.usable() / 2;
        let name = Line::new().with(Role::Plain, "  ").with(Role::Name, missing.what.as_str()).with(Role::Plain, ": ");
        let start = if long { Line::new().with(Role::Plain, "    ") } else { name.clone() };
        if long {
            text.push(name);
        }
        text.append(wrap(start, &words, view.usable()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Raw;
    use crate::document::SchemaTag;
    use crate::document::image_sources::{ImageNoSource, ImageSources};

    #[test]
    fn packages_have_their_licence_and_what_has_no_source_is_named() {
        let missing = |what: &str, licence: Option<&str>, why: &str| ImageNoSource {
            what: what.to_owned(),
            licence: licence.map(str::to_owned),
            why: why.to_owned(),
        };
        let document = ImageSourcesDocument {
            schema: SchemaTag::new(),
            folder: Raw::from("bb"),
            output: Raw::from("bb-sources"),
            bytes: 2_800_000,
            packages: vec![ImageSources {
                name: "busybox".to_owned(),
                version: "1:1.37.0-6".to_owned(),
                licence: "GPL-2.0-only".to_owned(),
                files: vec!["busybox-1.37.0-6/busybox_1.37.0-6.dsc".to_owned(), "layers/base/busybox.toml".to_owned()],
            }],
            missing: vec![
                missing(
                    "linux-image-6.12.57+deb13-cloud-arm64-unsigned 6.12.57-1",
                    Some("GPL-2.0-only WITH Linux-syscall-note"),
                    "Debian's source package linux (6.12.57-1), which is not fetched",
                ),
                missing("/usr/bin/app", None, "named as a program: no source is known"),
            ],
        };
        insta::assert_snapshot!(super::super::image_sources(&document, &View::columns(80)));
        for columns in [40, 60] {
            let text = super::super::image_sources(&document, &View::columns(columns).verbose(1));
            assert!(text.lines().iter().all(|line| line.width() <= columns), "{columns}: {text}");
        }
    }
}
