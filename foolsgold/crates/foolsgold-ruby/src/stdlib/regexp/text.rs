//! Text functions for patterns: `Regexp.escape`, the source inside a union, replacement templates (`\1`, `\k<name>`).

use super::{Options, Spans, TemplateError};

/// `Regexp.escape`.
#[must_use]
pub fn escape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    for &byte in text {
        let letter = match byte {
            b'\n' => b'n',
            b'\t' => b't',
            b'\r' => b'r',
            b'\x0C' => b'f',
            b'\x0B' => b'v',
            b'[' | b']' | b'{' | b'}' | b'(' | b')' | b'|' | b'-' | b'*' | b'.' | b'\\' | b'?' | b'+' | b'^' | b'$'
            | b'#' | b' ' => byte,
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend([b'\\', letter]);
    }
    out
}

/// `Regexp#to_s`: `(?i-mx:source)`, which means the same inside another pattern. A source that consists of one such
/// group is unwrapped, as in CRuby.
#[must_use]
pub fn source_of_union(source: &[u8], options: Options) -> Vec<u8> {
    let on = options.letters();
    let off: String = "mix".chars().filter(|letter| !on.contains(*letter)).collect();
    let mut out = format!("(?{on}").into_bytes();
    if !off.is_empty() {
        out.push(b'-');
        out.extend(off.bytes());
    }
    out.push(b':');
    out.extend(slashes_escaped(source));
    out.push(b')');
    out
}

/// A source with its unescaped slashes escaped, as `inspect` and `to_s` show it.
#[must_use]
pub fn slashes_escaped(source: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(source.len());
    let mut bytes = source.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' => {
                out.push(byte);
                out.extend(bytes.next());
            }
            b'/' => out.extend(b"\\/"),
            _ => out.push(byte),
        }
    }
    out
}

/// Appends a replacement with its references expanded: `\0 \& \1..\9 \k<name> \` \' \\`.
///
/// # Errors
/// If `\k<...>` names no group or is not closed.
pub fn template(
    template: &[u8],
    text: &[u8],
    spans: &Spans,
    names: &[(String, Vec<usize>)],
    out: &mut Vec<u8>,
) -> Result<(), TemplateError> {
    let group = |n: usize| spans.get(n).copied().flatten().map_or(&text[..0], |(start, end)| &text[start..end]);
    let (start, end) = spans.first().copied().flatten().unwrap_or((0, 0));
    let mut rest = template;
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(&letter) = rest.first() else {
            out.push(b'\\');
            break;
        };
        let mut used = 1;
        match letter {
            b'0' | b'&' => out.extend_from_slice(group(0)),
            // If there are named groups, groups have no numbers here.
            b'1'..=b'9' if names.is_empty() => out.extend_from_slice(group(usize::from(letter - b'0'))),
            b'1'..=b'9' => {}
            b'`' => out.extend_from_slice(&text[..start]),
            b'\'' => out.extend_from_slice(&text[end..]),
            b'\\' => out.push(b'\\'),
            b'k' if rest.get(1) == Some(&b'<') => {
                let (number, length) = named(&rest[2..], names, spans)?;
                out.extend_from_slice(group(number));
                used = length + 3;
            }
            other => out.extend([b'\\', other]),
        }
        rest = &rest[used..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// The group that `name>` refers to, and the length of the name. Of several groups with one name, the last that
/// matched.
fn named(rest: &[u8], names: &[(String, Vec<usize>)], spans: &Spans) -> Result<(usize, usize), TemplateError> {
    let end = rest.iter().position(|&byte| byte == b'>').ok_or(TemplateError::Format)?;
    let name = String::from_utf8_lossy(&rest[..end]);
    let number = match names.iter().find(|(known, _)| *known == name) {
        Some((_, groups)) => {
            groups.iter().rev().find(|group| spans.get(**group).is_some_and(Option::is_some)).or(groups.last()).copied()
        }
        None => name.parse().ok(),
    };
    Ok((number.ok_or_else(|| TemplateError::Undefined(name.into_owned()))?, end))
}
