//! The documents as GitHub Markdown: headings, tables, lists. Only HTML has pictures.

use crate::document::bench::BenchDocument;
use crate::document::check::CheckDocument;
use crate::document::doctor::DoctorDocument;
use crate::document::image_compare::ImageCompareDocument;
use crate::document::storm::StormDocument;
use crate::document::suite::SuiteDocument;
use crate::document::survey::SurveyDocument;
use crate::document::trace::TraceDocument;
use crate::document::tree::{CallComparison, TreeDocument};
use crate::page::{self, Block, Cell, DataTable, Page};
use crate::styled::{Role, Span};

/// The tree document as Markdown.
#[must_use]
pub fn tree(document: &TreeDocument) -> String {
    write(&page::tree_page(document))
}

/// The bench document as Markdown.
#[must_use]
pub fn bench(document: &BenchDocument) -> String {
    write(&page::bench_page(&document.analysis, page::Pictures::LeftOut))
}

/// The suite document as Markdown.
#[must_use]
pub fn suite(document: &SuiteDocument) -> String {
    write(&page::suite_page(&document.summary, page::Pictures::LeftOut))
}

/// The comparison of twin images as Markdown.
#[must_use]
pub fn image_compare(document: &ImageCompareDocument) -> String {
    write(&page::image_compare_page(document, page::Pictures::LeftOut))
}

/// The check document as Markdown.
#[must_use]
pub fn check(document: &CheckDocument) -> String {
    write(&page::check_page(document))
}

/// The trace document as Markdown.
#[must_use]
pub fn trace(document: &TraceDocument) -> String {
    write(&page::trace_page(document))
}

/// The survey document as Markdown.
#[must_use]
pub fn survey(document: &SurveyDocument) -> String {
    write(&page::survey_page(document))
}

/// The storm document as Markdown.
#[must_use]
pub fn storm(document: &StormDocument) -> String {
    write(&page::storm_page(document))
}

/// The doctor document as Markdown.
#[must_use]
pub fn doctor(document: &DoctorDocument) -> String {
    write(&page::doctor_page(document))
}

/// A comparison of calls as a Markdown table.
#[must_use]
pub fn calls_comparison(comparison: &CallComparison) -> String {
    let mut out = String::new();
    page::comparison_blocks(comparison).iter().for_each(|block| write_block(&mut out, block));
    out
}

fn write(page: &Page) -> String {
    let mut out = format!("# {}\n\n", span(&page.title, false));
    if !page.subtitle.is_empty() {
        out.push_str(&format!("{}\n\n", spans(&page.subtitle, false)));
    }
    for sentence in &page.answer {
        out.push_str(&format!("- {}\n", spans(sentence, false)));
    }
    if !page.answer.is_empty() {
        out.push('\n');
    }
    for tile in &page.tiles {
        let note = if tile.note.is_empty() { String::new() } else { format!(" ({})", spans(&tile.note, false)) };
        out.push_str(&format!("- {}: **{}**{note}\n", span(&tile.name, false), escape(tile.value.text())));
    }
    if !page.tiles.is_empty() {
        out.push('\n');
    }
    for section in &page.sections {
        out.push_str(&format!("## {}\n\n", escape(section.title.text())));
        section.blocks.iter().for_each(|block| write_block(&mut out, block));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn write_block(out: &mut String, block: &Block) {
    match block {
        Block::Paragraph(words) => out.push_str(&format!("{}\n\n", spans(words, false))),
        Block::List(items) => {
            for item in items {
                out.push_str(&format!("- {}\n", spans(&item.spans, false)));
                if let Some(command) = &item.command {
                    out.push_str(&format!("\n  {}\n\n", code(command.text(), false)));
                }
            }
            out.push('\n');
        }
        Block::Table(table) => write_table(out, table),
        Block::Picture(_) | Block::Gallery(_) | Block::Folds(_) => {}
    }
}

fn write_table(out: &mut String, table: &DataTable) {
    if let Some(caption) = &table.caption {
        out.push_str(&format!("**{}**\n\n", escape(caption.text())));
    }
    let names: Vec<String> = table.columns.iter().map(|column| escape(column.name.text())).collect();
    let rules: Vec<&str> = table.columns.iter().map(|column| if column.numeric { "--:" } else { "---" }).collect();
    out.push_str(&format!("| {} |\n| {} |\n", names.join(" | "), rules.join(" | ")));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(cell).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out.push('\n');
}

fn cell(cell: &Cell) -> String {
    let mut text = spans(&cell.spans, true);
    if !cell.more.is_empty() {
        let list = cell.more.first().is_some_and(|span| span.role() == Role::Name);
        text.push_str(if list { ", " } else { "; " });
        text.push_str(&spans(&cell.more, true));
    }
    text
}

fn spans(spans: &[Span], in_table: bool) -> String {
    spans.iter().map(|one| span(one, in_table)).collect()
}

fn span(span: &Span, in_table: bool) -> String {
    match span.role() {
        Role::Path | Role::Name | Role::Command if !span.text().trim().is_empty() => code(span.text(), in_table),
        Role::Bad if !span.text().trim().is_empty() => format!("**{}**", escape(span.text())),
        _ => escape(span.text()),
    }
}

/// A code span. Backticks inside need a longer fence; a `|` would end a table cell even inside code.
fn code(text: &str, in_table: bool) -> String {
    let longest = text.split(|ch| ch != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    let text = if in_table { text.replace('|', "\\|") } else { text.to_owned() };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Text escaped for both Markdown and HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for ch in text.chars() {
        match ch {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' => {
                out.push('\\');
                out.push(ch);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            _ => out.push(ch),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn a_tree_is_tables_and_lists() {
        insta::assert_snapshot!(tree(&TreeDocument::new(&broken_closure())));
    }

    #[test]
    fn a_check_names_symbols_in_tables() {
        insta::assert_snapshot!(check(&chosen_check()));
    }

    #[test]
    fn twins_are_tables_with_the_packages_first() {
        let text = image_compare(&sample_image_compare());
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words:?} in {text}"));
        assert!(at("## Packages") < at("## Images") && at("## Images") < at("## Size of musl beside glibc"));
        assert!(at("## Size of musl beside glibc") < at("## Builds"), "{text}");
        assert!(text.contains("counted instructions"), "{text}");
    }

    #[test]
    fn a_trace_is_tables() {
        insta::assert_snapshot!(trace(&TraceDocument::new(&sample_trace())));
    }

    #[test]
    fn a_comparison_is_a_table_for_each_figure() {
        let (_, analysis) = sample_bench();
        insta::assert_snapshot!(bench(&BenchDocument::new(analysis)));
    }

    #[test]
    fn a_suite_is_its_verdict_and_a_table_for_each_group() {
        insta::assert_snapshot!(suite(&sample_suite()));
    }

    #[test]
    fn a_storm_is_tables_with_the_source_of_each_figure() {
        insta::assert_snapshot!(storm(&sample_storm()));
    }

    #[test]
    fn doctor_has_a_table_for_each_topic() {
        insta::assert_snapshot!(doctor(&sample_doctor()));
    }

    #[test]
    fn hostile_names_make_no_markup() {
        let all = [
            tree(&TreeDocument::new(&hostile_closure())),
            check(&hostile_check()),
            trace(&TraceDocument::new(&hostile_trace())),
            {
                let (_, analysis) = hostile_bench();
                bench(&BenchDocument::new(analysis))
            },
            suite(&hostile_suite()),
        ];
        for text in all {
            assert!(!text.chars().any(|ch| ch != '\n' && ch.is_control()));
            // Outside code spans there is no `<`.
            let outside: String = text.split('`').step_by(2).collect();
            assert!(!outside.contains('<'), "{outside}");
        }
    }

    #[test]
    fn bars_and_backticks_stay_inside_their_cell() {
        assert_eq!(code("a|`b", true), "``a\\|`b``");
        assert_eq!(escape("a|b_c<d>"), "a\\|b\\_c&lt;d&gt;");
    }
}
