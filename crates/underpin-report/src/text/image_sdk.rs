//! The screen of `underpin image sdk`.

use crate::document::image_sdk::ImageSdkDocument;
use crate::layout::{View, wrap};
use crate::styled::{Line, Role, Span, Text};

/// What was written, and how to begin.
#[must_use]
pub fn image_sdk(document: &ImageSdkDocument, view: &View) -> Text {
    let mut text = Text::new();
    let what = format!("Made {}: {} for {}", document.folder, document.build, document.target);
    text.push(Line::new().with(Role::Good, what));
    let mut row = |name: &str, words: &str| {
        let start = Line::new().with(Role::Dim, format!("  {name:<10}"));
        text.append(wrap(start, &[Span::new(Role::Plain, words)], view.usable()));
    };
    row("compilers", &document.toolchain);
    row("names", &format!("{0}-cc, {0}-c++, {0}-ar, {0}-run, ...", document.prefix));
    let packages: Vec<String> =
        document.packages.iter().map(|package| format!("{} {}", package.name, package.version)).collect();
    row(
        "sysroot",
        &if packages.is_empty() { "empty: the compiler has its own".to_owned() } else { packages.join(", ") },
    );
    if view.verbosity > 0 {
        document.needs.iter().for_each(|path| row("needs", &path.to_string()));
    }
    row("begin", &format!(". {}/environment.sh (its README.md says how each build system is told)", document.folder));
    for remark in &document.remarks {
        text.gap();
        text.append(wrap(Line::new().with(Role::Warn, "! "), &[Span::new(Role::Plain, remark)], view.usable()));
    }
    text
}
