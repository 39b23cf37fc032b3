//! Characters and sets of them: `[...]` with ranges, nesting and `&&`, POSIX brackets, `\w` and the like, `\p{...}`,
//! and the escapes of single characters. Everything is written out so that fancy-regex (and regex-syntax beneath it)
//! cannot read it differently: `--` and `~~` mean nothing in Ruby, a blank is a blank.

use super::error::Reason;
use super::options::Range;

const DEEPEST: usize = 30;

/// Members of a POSIX bracket, as written inside a class: Unicode and ASCII.
fn posix(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "alnum" => (r"\p{Alphabetic}\p{M}\p{Nd}", "a-zA-Z0-9"),
        "alpha" => (r"\p{Alphabetic}\p{M}", "a-zA-Z"),
        "ascii" => (r"\x00-\x7F", r"\x00-\x7F"),
        "blank" => (r"\p{Zs}\t", r"\x20\t"),
        "cntrl" => (r"\p{Cc}\p{Cf}", r"\x00-\x1F\x7F"),
        "digit" => (r"\p{Nd}", "0-9"),
        "graph" => (r"[^\p{White_Space}\p{Cc}\p{Cn}\p{Cs}]", r"\x21-\x7E"),
        "lower" => (r"\p{Lowercase}", "a-z"),
        "print" => (r"[[^\p{White_Space}\p{Cc}\p{Cn}\p{Cs}]\p{Zs}]", r"\x20-\x7E"),
        "punct" => (r"\p{P}\$\+<=>\^`|\~", r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E"),
        "space" => (r"\p{White_Space}", r"\x20\t\n\x0B\x0C\r"),
        "upper" => (r"\p{Uppercase}", "A-Z"),
        "word" => (r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}", "a-zA-Z0-9_"),
        "xdigit" => ("0-9a-fA-F", "0-9a-fA-F"),
        _ => return None,
    })
}

/// Writes a set of members, negated or not, as a class of its own.
fn push_set(members: &str, negated: bool, out: &mut String) {
    out.push_str(if negated { "[^" } else { "[" });
    out.push_str(members);
    out.push(']');
}

/// `\w \W \d \D \s \S \h \H` as a class of its own.
pub fn shorthand(letter: char, range: Range, out: &mut String) {
    let unicode = range == Range::Unicode;
    let name = match letter.to_ascii_lowercase() {
        'w' => "word",
        'd' => "digit",
        's' => "space",
        _ => "xdigit",
    };
    if let Some((wide, narrow)) = posix(name) {
        push_set(if unicode { wide } else { narrow }, letter.is_ascii_uppercase(), out);
    }
}

/// `{Name}` or `{^Name}` after `\p`, as a class of its own; returns what follows.
pub fn property<'a>(rest: &'a str, negated: bool, out: &mut String) -> Result<&'a str, Reason> {
    let inner = rest.strip_prefix('{').ok_or(Reason::InvalidProperty(String::new()))?;
    let end = inner.find('}').ok_or_else(|| Reason::InvalidProperty(inner.to_owned()))?;
    let (name, rest) = (&inner[..end], &inner[end + 1..]);
    let (name, negated) = name.strip_prefix('^').map_or((name, negated), |name| (name, !negated));
    let folded: String =
        name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    match posix(&folded) {
        Some((wide, _)) => push_set(wide, negated, out),
        None if folded == "any" => push_set(r"\x00-\x{10FFFF}", negated, out),
        None if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || " _-".contains(c)) => {
            return Err(Reason::InvalidProperty(name.to_owned()));
        }
        None => {
            let name: String = name.chars().map(|c| if matches!(c, ' ' | '-') { '_' } else { c }).collect();
            let members = format!("\\p{{{name}}}");
            // Only the crate knows all scripts and categories; checking here gives the error Ruby's message.
            fancy_regex::Regex::new(&members).map_err(|_| Reason::InvalidProperty(name))?;
            push_set(&members, negated, out);
        }
    }
    Ok(rest)
}

/// The characters that the escape `\` + `first` stands for (more than one only for `\u{1 2}`), and what follows.
pub fn character(first: char, rest: &str, in_class: bool) -> Result<(Vec<char>, &str), Reason> {
    let one = |c: char| Ok((vec![c], rest));
    match first {
        'n' => one('\n'),
        't' => one('\t'),
        'r' => one('\r'),
        'f' => one('\x0C'),
        'v' => one('\x0B'),
        'a' => one('\x07'),
        'e' => one('\x1B'),
        'b' if in_class => one('\x08'),
        'u' => unicode(rest),
        'x' => {
            let (byte, rest) = hex_byte(rest).ok_or(Reason::InvalidHex)?;
            bytes(byte, rest)
        }
        '0'..='7' => {
            let more = rest.bytes().take(2).take_while(|b| (b'0'..=b'7').contains(b)).count();
            let digits = format!("{first}{}", &rest[..more]);
            let byte = u32::from_str_radix(&digits, 8).unwrap_or(0);
            bytes(u8::try_from(byte).map_err(|_| Reason::TooBigNumber)?, &rest[more..])
        }
        'c' => control(rest),
        'C' => control(rest.strip_prefix('-').ok_or(Reason::TooShortControl)?),
        c => one(c),
    }
}

fn control(rest: &str) -> Result<(Vec<char>, &str), Reason> {
    let mut chars = rest.chars();
    let c = chars.next().filter(char::is_ascii).ok_or(Reason::TooShortControl)?;
    let byte = if c == '?' { 0x7F } else { c as u8 & 0x1F };
    Ok((vec![char::from(byte)], chars.as_str()))
}

fn hex_byte(rest: &str) -> Option<(u8, &str)> {
    let digits = rest.bytes().take(2).take_while(u8::is_ascii_hexdigit).count();
    let byte = u8::from_str_radix(&rest[..digits], 16).ok()?;
    Some((byte, &rest[digits..]))
}

/// A byte below 0x80 is a character; from 0x80 on, it must form one with the bytes that follow as `\xHH`.
fn bytes(first: u8, rest: &str) -> Result<(Vec<char>, &str), Reason> {
    if first < 0x80 {
        return Ok((vec![char::from(first)], rest));
    }
    let (mut buffer, mut rest) = (vec![first], rest);
    while buffer.len() < 4 {
        if let Ok(text) = std::str::from_utf8(&buffer) {
            return Ok((text.chars().collect(), rest));
        }
        let (byte, after) = rest.strip_prefix("\\x").and_then(hex_byte).ok_or(Reason::InvalidMultibyte)?;
        buffer.push(byte);
        rest = after;
    }
    let text = std::str::from_utf8(&buffer).map_err(|_| Reason::InvalidMultibyte)?;
    Ok((text.chars().collect(), rest))
}

fn unicode(rest: &str) -> Result<(Vec<char>, &str), Reason> {
    let point =
        |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or(Reason::InvalidUnicode);
    if let Some(inner) = rest.strip_prefix('{') {
        let end = inner.find('}').ok_or(Reason::InvalidUnicode)?;
        let chars = inner[..end].split_ascii_whitespace().map(point).collect::<Result<Vec<_>, _>>()?;
        return if chars.is_empty() { Err(Reason::InvalidUnicode) } else { Ok((chars, &inner[end + 1..])) };
    }
    let digits =
        rest.get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit())).ok_or(Reason::InvalidUnicode)?;
    Ok((vec![point(digits)?], &rest[4..]))
}

/// Translates what follows a `[` up to its `]`, and returns what follows that.
pub fn translate<'a>(rest: &'a str, out: &mut String, range: Range, depth: usize) -> Result<&'a str, Reason> {
    if depth > DEEPEST {
        return Err(Reason::TooDeep);
    }
    let (mut rest, negated) = rest.strip_prefix('^').map_or((rest, false), |rest| (rest, true));
    out.push_str(if negated { "[^" } else { "[" });
    let start = out.len();
    // A `]` right at the start is a member, if another one ends the class.
    if rest.starts_with(']') {
        if !rest[1..].contains(']') {
            return Err(Reason::EmptyClass);
        }
        out.push_str("\\]");
        rest = &rest[1..];
    }
    loop {
        let mut chars = rest.chars();
        let c = chars.next().ok_or(Reason::EndInClass)?;
        let after = chars.as_str();
        rest = match c {
            ']' => {
                if out.len() == start {
                    // `[a&&]` and the like; an empty class matches nothing.
                    return Err(Reason::EmptyClass);
                }
                out.push(']');
                return Ok(after);
            }
            '[' => nested(after, out, range, depth)?,
            '&' if after.starts_with('&') => {
                out.push_str("&&");
                &after[1..]
            }
            '\\' => {
                let mut letters = after.chars();
                let letter = letters.next().ok_or(Reason::EndInEscape)?;
                match letter {
                    'w' | 'W' | 'd' | 'D' | 's' | 'S' | 'h' | 'H' => {
                        shorthand(letter, range, out);
                        letters.as_str()
                    }
                    'p' | 'P' => property(letters.as_str(), letter == 'P', out)?,
                    'R' | 'X' => member(&[letter], letters.as_str(), out)?,
                    _ => {
                        let (members, after) = character(letter, letters.as_str(), true)?;
                        member(&members, after, out)?
                    }
                }
            }
            c => member(&[c], after, out)?,
        };
    }
}

fn nested<'a>(after: &'a str, out: &mut String, range: Range, depth: usize) -> Result<&'a str, Reason> {
    if let Some(bracket) = after.strip_prefix(':')
        && let Some(end) = bracket.find(":]")
    {
        let (name, negated) = bracket[..end].strip_prefix('^').map_or((&bracket[..end], false), |name| (name, true));
        if let Some((wide, narrow)) = posix(name) {
            push_set(if range == Range::Ascii { narrow } else { wide }, negated, out);
            return Ok(&bracket[end + 2..]);
        }
    }
    translate(after, out, range, depth + 1)
}

/// Writes characters, the last of which may begin a range.
fn member<'a>(members: &[char], after: &'a str, out: &mut String) -> Result<&'a str, Reason> {
    for member in members {
        push_literal(out, *member);
    }
    let (Some(low), Some(rest)) = (members.last(), after.strip_prefix('-')) else { return Ok(after) };
    let mut chars = rest.chars();
    let (high, rest) = match chars.next() {
        None => return Err(Reason::EndInClass),
        // `[a-]`, `[a-[b]]` and `[a-\w]`: the hyphen is a member.
        Some(']' | '[') => return Ok(after),
        Some('\\') => {
            let letter = chars.next().ok_or(Reason::EndInEscape)?;
            if "wWdDsShHpP".contains(letter) {
                return Ok(after);
            }
            let (high, rest) = character(letter, chars.as_str(), true)?;
            (high.first().copied().unwrap_or('\0'), rest)
        }
        Some(c) => (c, chars.as_str()),
    };
    if high < *low {
        return Err(Reason::EmptyRange);
    }
    out.push('-');
    push_literal(out, high);
    Ok(rest)
}

/// Writes a character as a literal, inside and outside of a class.
pub fn push_literal(out: &mut String, c: char) {
    // `\<` and `\>` would be word boundaries.
    if c.is_ascii_punctuation() && !matches!(c, '_' | '<' | '>') {
        out.push('\\');
        out.push(c);
    } else if c.is_ascii_control() || c == ' ' {
        out.push_str(&format!("\\x{:02X}", u32::from(c)));
    } else {
        out.push(c);
    }
}
