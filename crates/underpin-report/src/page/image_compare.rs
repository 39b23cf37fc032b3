//! The comparison of twin images as a page: packages, whole images, sizes by package, then the page of the suites.

use super::{Block, Cell, Column, DataTable, Page, Pictures, Section, paragraph, suite_page};
use crate::document::image_compare::ImageCompareDocument;
use crate::document::image_size::ImageSizeDocument;
use crate::styled::{Role, Span};
use crate::words::capital;
use crate::words::image_compare::{bytes_words, emulation, package_words, repeats, title, twins, whole};
use crate::words::suite::build_names;

/// The page of `underpin image compare`.
pub(crate) fn image_compare_page(document: &ImageCompareDocument, pictures: Pictures) -> Page {
    let suite = suite_page(document.summary(), pictures);
    let mut sections = vec![packages(document), images(document)];
    sections.extend(
        document.sizes.iter().zip(names(document).iter().skip(1)).map(|(one, name)| sizes(document, one, name)),
    );
    sections.extend(suite.sections);
    let mut subtitle = vec![Span::new(Role::Dim, format!("{}; ", emulation(document)))];
    subtitle.extend(suite.subtitle);
    Page {
        title: Span::new(Role::Heading, title(document)),
        subtitle,
        answer: suite.answer,
        tiles: Vec::new(),
        sections,
    }
}

fn names(document: &ImageCompareDocument) -> Vec<String> {
    build_names(document.summary(), 32)
}

fn packages(document: &ImageCompareDocument) -> Section {
    let mut columns = vec![Column::new("package", false)];
    columns.extend(names(document).iter().map(|name| Column::new(name, false)));
    let mut table = DataTable { columns, ..DataTable::default() }.ordered();
    for package in &document.differences {
        let mut row = vec![Cell::new(Role::Name, &package.name)];
        row.extend(package.images.iter().map(|one| Cell::new(Role::Plain, package_words(one.as_ref()))));
        table.row(row);
    }
    let mut blocks = vec![paragraph(Role::Plain, capital(&format!("{}.", twins(document))))];
    blocks.extend((!table.rows.is_empty()).then_some(Block::Table(table)));
    Section::new("Packages", blocks)
}

fn images(document: &ImageCompareDocument) -> Section {
    let names = names(document);
    let mut columns = vec![Column::new("", false)];
    columns.extend(names.iter().map(|name| Column::new(name, true)));
    columns.extend(names.iter().skip(1).map(|name| Column::new(format!("{name}/{}", names[0]), true)));
    let mut table = DataTable { columns, ..DataTable::default() }.ordered();
    for row in whole(document) {
        let mut cells = vec![Cell::new(Role::Plain, row.label)];
        let number = |words: &String| Cell { sort: Some(0.0), ..Cell::new(Role::Number, words) };
        cells.extend(row.cells.iter().map(number));
        cells.extend(row.ratios.iter().map(|(words, _)| number(words)));
        table.row(cells);
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(document.repeats.iter().map(|one| paragraph(Role::Plain, format!("{}.", repeats(document, one)))));
    Section::new("Images", blocks)
}

fn sizes(document: &ImageCompareDocument, sizes: &ImageSizeDocument, name: &str) -> Section {
    let names = names(document);
    let reference = names.first().map_or("", String::as_str);
    let columns = [("part", false), ("version", false), (name, true), (reference, true)];
    let columns = columns.map(|(name, numeric)| Column::new(name, numeric)).into();
    let mut table = DataTable { columns, ..DataTable::default() }.ordered();
    for part in sizes.differences.iter().flatten() {
        let number = |bytes: Option<u64>| Cell::number(bytes.unwrap_or_default() as f64, bytes_words(bytes));
        let version = part.version.as_ref().or(part.against_version.as_ref());
        table.row(vec![
            Cell::new(Role::Name, &part.name),
            Cell::new(Role::Plain, version.map_or("", String::as_str)),
            number(part.bytes),
            number(part.against_bytes),
        ]);
    }
    Section::new(format!("Size of {name} beside {reference}"), vec![Block::Table(table)])
}
