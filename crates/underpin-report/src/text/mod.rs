//! The documents for a terminal: one function per screen, each a [`Text`](crate::styled::Text) of styled lines.
//!
//! No screen is wider than its [`View`](crate::layout::View) where the terminal has at least 40 columns, none knows a
//! colour, and none prints.

mod calls;
mod findings;
mod paths;
mod tree;
mod why;

pub use calls::{calls_comparison, calls_line};
pub use findings::findings;
pub use paths::tree_paths;
pub use tree::{tree, tree_list};
pub use why::tree_why;

/// `1 object`, `2 objects`: a figure with its noun.
pub(crate) fn count(figure: usize, one: &str, many: &str) -> String {
    if figure == 1 { format!("1 {one}") } else { format!("{} {many}", thousands(figure as u64)) }
}

/// A figure with a separator between thousands: `12,345`.
pub(crate) fn thousands(figure: u64) -> String {
    let digits = figure.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
