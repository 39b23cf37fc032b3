//! The screen of `underpin image compare`: what differs in packages, whole images, then the rows of the suites.

use crate::document::image_compare::ImageCompareDocument;
use crate::layout::{Align, Table, View, wrap};
use crate::styled::{Line, Role, Span, Text};
use crate::words::image_compare::{emulation, package_words, repeats, title, twins, whole};
use crate::words::suite::build_names;

/// Columns of a build's name above its figures.
const NAME: usize = 14;

/// The comparison of twins.
#[must_use]
pub fn image_compare(document: &ImageCompareDocument, view: &View) -> Text {
    let mut text = Text::new();
    say(&mut text, Role::Heading, &title(document), "", view);
    say(&mut text, Role::Dim, &emulation(document), "", view);
    text.heading("Packages");
    say(&mut text, Role::Plain, &twins(document), "  ", view);
    packages(&mut text, document, view);
    text.heading("Images");
    images(&mut text, document, view);
    if view.verbosity > 0 {
        for sizes in &document.sizes {
            text.gap();
            text.append(super::image_size(sizes, view));
        }
    }
    for one in &document.repeats {
        say(&mut text, Role::Dim, &repeats(document, one), "  ", view);
    }
    text.gap();
    text.append(super::suite(&document.suite, view));
    text
}

fn say(text: &mut Text, role: Role, words: &str, indent: &str, view: &View) {
    text.append(wrap(Line::new().plain(indent), &[Span::new(role, words)], view.usable()));
}

fn packages(text: &mut Text, document: &ImageCompareDocument, view: &View) {
    let names = build_names(document.summary(), NAME);
    let mut columns = vec![("package", Align::Left)];
    columns.extend(names.iter().map(|name| (name.as_str(), Align::Left)));
    let mut table = Table::new(&columns).flexible(0);
    for package in &document.differences {
        let mut row = vec![Span::new(Role::Name, &package.name)];
        row.extend(package.images.iter().map(|one| Span::new(Role::Plain, package_words(one.as_ref()))));
        table.row(row);
    }
    if !table.is_empty() {
        text.append(table.lines(view.usable()));
    }
}

fn images(text: &mut Text, document: &ImageCompareDocument, view: &View) {
    let names = build_names(document.summary(), NAME);
    let ratios: Vec<String> = names.iter().skip(1).map(|name| format!("{name}/{}", names[0])).collect();
    let mut columns = vec![("", Align::Left)];
    columns.extend(names.iter().chain(&ratios).map(|name| (name.as_str(), Align::Right)));
    let mut table = Table::new(&columns).flexible(0);
    for row in whole(document) {
        let mut cells = vec![Span::fixed(Role::Plain, row.label)];
        cells.extend(row.cells.iter().map(|cell| Span::new(Role::Number, cell)));
        cells.extend(row.ratios.iter().map(|(ratio, role)| Span::new(*role, ratio)));
        table.row(cells);
    }
    text.append(table.lines(view.usable()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample_image_compare;

    #[test]
    fn twins_are_shown_with_what_differs_first() {
        insta::assert_snapshot!(super::super::image_compare(&sample_image_compare(), &View::columns(80)));
        for columns in [40, 60, 80, 120] {
            let text = super::super::image_compare(&sample_image_compare(), &View::columns(columns).verbose(1));
            assert!(text.lines().iter().all(|line| line.width() <= columns), "{columns}: {text}");
        }
    }
}
