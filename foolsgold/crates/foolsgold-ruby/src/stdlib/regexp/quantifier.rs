//! Quantifiers. In Onigmo they stack (`a{2}{3}` is six), `{n}?` is not lazy, bounds may be in the wrong order, and
//! assertions may be repeated; the underlying crate supports none of this.

use super::error::Reason;
use super::translate::{Atom, Translator};

impl Translator<'_> {
    /// `?`, `*`, `+` or braces; `suffixes` says whether a `+` after it means possessive.
    pub(super) fn quantifier(&mut self, text: &str, suffixes: bool) -> Result<(), Reason> {
        let mut text = text.to_owned();
        if suffixes {
            if let Some(rest) = self.rest.strip_prefix('?') {
                text.push('?');
                self.rest = rest;
            } else if let Some(rest) = self.rest.strip_prefix('+') {
                text.push('+');
                self.rest = rest;
            }
        }
        match self.atom {
            Atom::None => return Err(Reason::NothingToRepeat),
            Atom::At(start) => {
                if &self.out[start..] != "(?:)" {
                    self.out.push_str(&text);
                }
                self.atom = Atom::Repeated(start);
            }
            Atom::Repeated(start) => {
                self.out.insert_str(start, "(?:");
                self.out.push(')');
                self.out.push_str(&text);
            }
            Atom::Assertion(start) => {
                if text.starts_with(['?', '*']) || text.starts_with("{0") {
                    self.out.insert_str(start, "(?:");
                    self.out.push_str("|)");
                }
                self.atom = Atom::At(start);
            }
        }
        Ok(())
    }

    pub(super) fn braces(&mut self) -> Result<(), Reason> {
        let Some((low, high, rest)) = parse_braces(self.rest) else {
            self.literal('{');
            return Ok(());
        };
        if matches!(self.atom, Atom::None) {
            self.literal('{');
            return Ok(());
        }
        if low.max(high.flatten().unwrap_or(0)) > 100_000 {
            return Err(Reason::TooBigRepeat);
        }
        self.rest = rest;
        match high {
            // `{n}?` is "n times or not at all", not "lazily n times".
            None => {
                self.quantifier(&format!("{{{low}}}"), false)?;
                if let Some(rest) = self.rest.strip_prefix('?') {
                    self.rest = rest;
                    self.quantifier("?", false)?;
                }
                Ok(())
            }
            Some(high) => {
                // Onigmo swaps bounds that are in the wrong order.
                let (low, high) =
                    if high.is_some_and(|high| high < low) { (high.unwrap_or(0), Some(low)) } else { (low, high) };
                let mut text = high.map_or_else(|| format!("{{{low},}}"), |high| format!("{{{low},{high}}}"));
                if let Some(rest) = self.rest.strip_prefix('?') {
                    text.push('?');
                    self.rest = rest;
                }
                self.quantifier(&text, false)
            }
        }
    }
}

/// `n}`, `n,}`, `,m}` or `n,m}`: the bounds (`None` for a single number, `Some(None)` for no upper bound) and the rest.
#[expect(
    clippy::option_option,
    reason = "one figure, no upper bound, an upper bound: three cases that only this file tells apart"
)]
fn parse_braces(text: &str) -> Option<(usize, Option<Option<usize>>, &str)> {
    let end = text.find('}')?;
    let (inner, rest) = (&text[..end], &text[end + 1..]);
    let number = |digits: &str| -> Option<usize> {
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().unwrap_or(usize::MAX))
    };
    match inner.split_once(',') {
        None if !inner.is_empty() => Some((number(inner)?, None, rest)),
        Some((low, high)) if !(low.is_empty() && high.is_empty()) => {
            let low = if low.is_empty() { 0 } else { number(low)? };
            let high = if high.is_empty() { None } else { Some(number(high)?) };
            Some((low, Some(high), rest))
        }
        _ => None,
    }
}
