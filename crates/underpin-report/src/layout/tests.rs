//! What fits into how many columns.

use super::*;
use crate::styled::{Line, Role, Span};
use unicode_width::UnicodeWidthStr;

#[test]
fn a_long_path_keeps_its_file_name() {
    let short = shorten("/opt/spack/very/long/prefix/lib/libexample.so.1", 24);
    assert_eq!(width(&short), 24);
    assert!(short.starts_with("/opt") && short.ends_with("/libexample.so.1"), "{short}");
}

#[test]
fn a_file_name_longer_than_the_room_is_shortened_too() {
    let short = shorten(&format!("/lib/{}", "x".repeat(200)), 20);
    assert_eq!(width(&short), 20);
    assert!(short.starts_with("/l") && short.ends_with('x'), "{short}");
}

#[test]
fn wide_characters_never_overflow() {
    for columns in 0..12 {
        assert!(width(&shorten("日本語の道/ファイル", columns)) <= columns);
    }
}

#[test]
fn an_emoji_with_its_selector_is_never_taken_apart() {
    let path = "/srv/Musik ❤\u{fe0f} und noch viel mehr davon/❤\u{fe0f}❤\u{fe0f}";
    for columns in 0..40 {
        let short = shorten(path, columns);
        assert!(short.width() <= columns, "{short}");
        assert!(!short.contains("…\u{fe0f}"), "{short}");
        assert_eq!(width(&padded(path, columns)), columns);
    }
}

#[test]
fn a_mark_at_the_beginning_of_a_span_stands_for_itself() {
    let line = Line::new().plain("❤").plain("\u{fe0f}/x");
    assert_eq!(line.to_string(), "❤\\u{fe0f}/x");
    assert_eq!(line.width(), line.to_string().width());
}

#[test]
fn a_name_alone_keeps_its_beginning() {
    let name = "target/release/allocations multi 3";
    assert_eq!(labels(&[name], 20), [shorten(name, 20)]);
    assert_eq!(labels(&["a program 3", "a program 3"], 8).len(), 2);
}

#[test]
fn names_lose_what_they_have_in_common_and_keep_what_differs() {
    let path = "/usr/bin/emacs-gtk";
    let names = [
        format!("libtree {path}"),
        format!("target/underpin tree {path}"),
        format!("target/underpin tree --list {path}"),
    ];
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(labels(&names, 60), names);
    assert_eq!(labels(&names, 30), ["libtree", "target/underpin tree", "target/underpin tree --list"]);
    let short = labels(&names, 16);
    assert!(short[1].ends_with("tree") && short[2].ends_with("--list"), "{short:?}");
}

proptest::proptest! {
    #[test]
    fn no_two_labels_of_a_table_are_equal_unless_the_names_are(
        names in proptest::collection::vec("(a|b|❤\u{fe0f}|日|/usr/bin/|--list|tree|x{30}| |#1|…){0,9}", 1..8),
        columns in 8usize..60,
    ) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let labels = labels(&names, columns);
        for (at, label) in labels.iter().enumerate() {
            proptest::prop_assert!(width(label) <= columns);
            for other in 0..at {
                proptest::prop_assert_eq!(names[at] == names[other], *label == labels[other], "{:?} {:?}", names, labels);
            }
        }
    }
}

#[test]
fn a_table_without_a_flexible_column_gives_way_in_its_widest() {
    let mut table = Table::new(&[("name", Align::Left), ("figure", Align::Right)]);
    table.row(vec![Span::new(Role::Name, "x".repeat(50)), Span::new(Role::Number, "12")]);
    assert_eq!(table.lines(30).width(), 30);
    assert!(table.lines(30).to_string().contains("12"));
}

#[test]
fn wrapped_lines_fit_and_keep_every_word() {
    let words = "one two three four five six seven eight nine ten";
    let text = wrap(Line::new().plain("  - "), &[Span::new(Role::Plain, words)], 20);
    assert!(text.width() <= 20);
    let all = text.to_string().replace('-', "");
    assert_eq!(all.split_whitespace().collect::<Vec<_>>().join(" "), words);
}

#[test]
fn spans_that_touch_stay_together_when_wrapped() {
    let spans = [Span::new(Role::Plain, "see "), Span::new(Role::Name, "libz"), Span::new(Role::Plain, ", then")];
    assert_eq!(wrap(Line::new(), &spans, 40).to_string(), "see libz, then\n");
}

#[test]
fn tables_are_aligned_where_that_costs_nothing() {
    let table = |name: &str, figure: &str| {
        let mut table = Table::new(&[("name", Align::Left), ("figure", Align::Right)]).flexible(0);
        table.row(vec![Span::new(Role::Name, name), Span::new(Role::Number, figure)]);
        table
    };
    let mut tables = [table("a", "1234567890"), table("abcdefghij", "1")];
    Table::align(&mut tables, 30);
    assert_eq!(tables[0].lines(30).lines()[1].to_string(), "  a           1234567890");
    assert_eq!(tables[1].lines(30).lines()[1].to_string(), "  abcdefghij           1");
    let mut narrow = [table("a", "1234567890"), table("abcdefghijklmnopqrstuvwxyz", "1")];
    Table::align(&mut narrow, 24);
    assert_eq!(narrow[0].lines(24).width(), 18, "left as it is");
}

#[test]
fn a_table_gives_way_in_its_flexible_column() {
    let mut table = Table::new(&[("calls", Align::Right), ("path", Align::Left)]).flexible(1);
    table.row(vec![Span::new(Role::Number, "12"), Span::new(Role::Path, "/a/".repeat(60))]);
    table.row(vec![Span::new(Role::Number, "1")]);
    let text = table.lines(40);
    assert_eq!(text.width(), 40);
    assert_eq!(text.lines()[2].to_string(), "      1  ");
}
