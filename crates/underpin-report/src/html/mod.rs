//! The documents as one self-contained HTML page each: no network, no other file, dark and light, printable. The
//! document itself is embedded as JSON; a few lines of script sort tables and highlight the picture, and the page is
//! complete without them.

use crate::document::bench::BenchDocument;
use crate::document::check::CheckDocument;
use crate::document::doctor::DoctorDocument;
use crate::document::image_compare::ImageCompareDocument;
use crate::document::suite::SuiteDocument;
use crate::document::survey::SurveyDocument;
use crate::document::trace::TraceDocument;
use crate::document::tree::TreeDocument;
use crate::document::{Document, to_json_line};
use crate::page::{self, Block, Cell, Page, Pictures};
use crate::styled::{Role, Span};
use askama::Template;

/// A page could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HtmlError {
    /// The embedded document.
    #[error(transparent)]
    Json(#[from] crate::document::JsonError),
    /// The template.
    #[error("the page cannot be written: {0}")]
    Template(#[from] askama::Error),
}

#[derive(Template)]
#[template(path = "page.html")]
struct PageTemplate<'a> {
    page: &'a Page,
    json: String,
}

/// The tree document as a page.
///
/// # Errors
/// If a value has no JSON form.
pub fn tree(document: &TreeDocument) -> Result<String, HtmlError> {
    render(&page::tree_page(document), document)
}

/// The bench document as a page.
///
/// # Errors
/// If a value has no JSON form.
pub fn bench(document: &BenchDocument) -> Result<String, HtmlError> {
    render(&page::bench_page(&document.analysis, Pictures::Drawn), document)
}

/// The suite document as a page.
///
/// # Errors
/// If a value has no JSON form.
pub fn suite(document: &SuiteDocument) -> Result<String, HtmlError> {
    render(&page::suite_page(&document.summary, Pictures::Drawn), document)
}

/// The comparison of twin images as a page.
///
/// # Errors
/// If a value has no JSON form.
pub fn image_compare(document: &ImageCompareDocument) -> Result<String, HtmlError> {
    render(&page::image_compare_page(document, Pictures::Drawn), document)
}

/// The check document as a page.
///
/// # Errors
/// If a value has no JSON form.
pub fn check(document: &CheckDocument) -> Result<String, HtmlError> {
    render(&page::check_page(document), document)
}

/// The trace document as a page.
///
/// # Errors
/// If a value has no JSON form.
pub fn trace(document: &TraceDocument) -> Result<String, HtmlError> {
    render(&page::trace_page(document), document)
}

/// The survey document as a page.
///
/// # Errors
/// If a value has no JSON form.
pub fn survey(document: &SurveyDocument) -> Result<String, HtmlError> {
    render(&page::survey_page(document), document)
}

/// The doctor document as a page.
///
/// # Errors
/// If a value has no JSON form.
pub fn doctor(document: &DoctorDocument) -> Result<String, HtmlError> {
    render(&page::doctor_page(document), document)
}

fn render<D: Document>(page: &Page, document: &D) -> Result<String, HtmlError> {
    let json = script_json(&to_json_line(document)?);
    Ok(PageTemplate { page, json }.render()?)
}

/// JSON that can be put inside a script element: no `<` is left, so neither `</script` nor `<!--` can occur.
fn script_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// The class of a role.
fn class(span: &Span) -> &'static str {
    match span.role() {
        Role::Plain => "",
        Role::Heading => "heading",
        Role::Name => "name",
        Role::Path => "path",
        Role::Number => "number",
        Role::Good => "good",
        Role::Warn => "warn",
        Role::Bad => "bad",
        Role::Dim => "dim",
        Role::Command => "command",
    }
}

impl Cell {
    /// The value of the cell's `data-sort` attribute.
    fn sort_key(&self) -> String {
        self.sort.map_or_else(String::new, |figure| figure.to_string())
    }
}

/// Whether a table is long enough to be worth sorting, and its order carries no meaning.
fn sortable(table: &page::DataTable) -> bool {
    table.rows.len() > 3 && !table.ordered
}

/// The number of columns that fit side by side in a narrow window.
const NARROW_COLUMNS: usize = 4;

/// Whether a narrow window shows each row as a card, with its cells below each other, each labelled with its column:
/// for tables with many columns, or with sentences beside each other.
fn is_cards(table: &page::DataTable) -> bool {
    let words = table.columns.iter().filter(|column| !column.numeric).count();
    table.columns.len() > NARROW_COLUMNS || words > 2
}

/// The classes of a table.
fn table_class(table: &page::DataTable) -> Option<String> {
    let classes = [(sortable(table), "sortable"), (table.stacked, "stacked"), (is_cards(table), "cards")];
    let classes: Vec<&str> = classes.into_iter().filter(|(has, _)| *has).map(|(_, class)| class).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

/// The class of a cell: a figure, or the title of a card.
fn cell_class(table: &page::DataTable, index: usize, cell: &Cell) -> Option<&'static str> {
    let lead = is_cards(table) && table.columns.iter().position(|column| !column.numeric) == Some(index);
    match (lead, cell.sort.is_some()) {
        (true, _) => Some("lead"),
        (false, true) => Some("num"),
        (false, false) => None,
    }
}

/// The label of a cell in a card.
fn cell_label(table: &page::DataTable, index: usize) -> Option<&str> {
    let column = table.columns.get(index).filter(|column| is_cards(table) && !column.name.text().is_empty())?;
    Some(column.name.text())
}

#[cfg(test)]
mod tests;
