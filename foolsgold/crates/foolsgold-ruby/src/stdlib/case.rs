//! Case conversion for all of Unicode, letter by letter, as in CRuby.
//!
//! The core library has the full mappings to upper and lower case. The rest is derived from them: title case (the first
//! letter of `capitalize`), folding, and the exceptions of some languages.

use thiserror::Error;

/// The conversion of each letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `upcase`
    Up,
    /// `downcase`
    Down,
    /// `swapcase`
    Swap,
    /// `capitalize`
    Capitalize,
}

/// Which letters are changed, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Letters {
    /// All, by the rules of most languages. CRuby makes no exception for Lithuanian either.
    #[default]
    All,
    /// `:ascii`
    Ascii,
    /// `:turkic`: i has a dot in upper case too, and ı has none.
    Turkic,
    /// `:fold`, for `downcase` only: letters that differ only in case become equal.
    Fold,
}

/// Why options are refused, with ArgumentError.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the words say it")]
pub enum OptionError {
    #[error("too many options")]
    TooMany,
    #[error("invalid option")]
    Unknown,
    #[error("invalid second option")]
    Second,
    #[error("option :fold only allowed for downcasing")]
    Fold,
}

impl Letters {
    /// Parses the options (symbols, without their colon) of a method.
    ///
    /// # Errors
    /// If CRuby refuses them.
    pub fn of(options: &[String], change: Change) -> Result<Self, OptionError> {
        let names: Vec<&str> = options.iter().map(String::as_str).collect();
        match names.as_slice() {
            [] | ["lithuanian"] => Ok(Self::All),
            [_, _, _, ..] => Err(OptionError::TooMany),
            ["turkic"] | ["turkic", "lithuanian"] | ["lithuanian", "turkic"] => Ok(Self::Turkic),
            ["turkic" | "lithuanian", _] => Err(OptionError::Second),
            [_, _] => Err(OptionError::TooMany),
            ["ascii"] => Ok(Self::Ascii),
            ["fold"] if change == Change::Down => Ok(Self::Fold),
            ["fold"] => Err(OptionError::Fold),
            [_] => Err(OptionError::Unknown),
        }
    }
}

impl Change {
    /// Converts a text. Bytes that are not UTF-8 stay.
    #[must_use]
    pub fn apply(self, text: &[u8], letters: Letters) -> Vec<u8> {
        // The common case.
        if text.is_ascii() && letters != Letters::Turkic {
            match self {
                Self::Up => return text.to_ascii_uppercase(),
                Self::Down => return text.to_ascii_lowercase(),
                Self::Swap | Self::Capitalize => {}
            }
        }
        let mut out = Vec::with_capacity(text.len());
        let mut first = true;
        for chunk in text.utf8_chunks() {
            for c in chunk.valid().chars() {
                let change = match self {
                    Self::Capitalize if !first => Self::Down,
                    other => other,
                };
                first = false;
                if c.is_ascii() && letters != Letters::Turkic {
                    out.push(change.ascii(c as u8));
                } else if letters == Letters::Ascii {
                    push(&mut out, c);
                } else {
                    change.letter(&mut out, c, letters);
                }
            }
            first &= chunk.invalid().is_empty();
            out.extend_from_slice(chunk.invalid());
        }
        out
    }

    fn ascii(self, byte: u8) -> u8 {
        match self {
            Self::Down => byte.to_ascii_lowercase(),
            Self::Swap if byte.is_ascii_uppercase() => byte.to_ascii_lowercase(),
            Self::Up | Self::Swap | Self::Capitalize => byte.to_ascii_uppercase(),
        }
    }

    fn letter(self, out: &mut Vec<u8>, c: char, letters: Letters) {
        if letters == Letters::Turkic
            && let Some(changed) = self.turkic(c)
        {
            return push(out, changed);
        }
        match self {
            Self::Down if letters == Letters::Fold => fold(c).for_each(|c| push(out, c)),
            Self::Down => c.to_lowercase().for_each(|c| push(out, c)),
            Self::Up => c.to_uppercase().for_each(|c| push(out, c)),
            Self::Capitalize => title(c).for_each(|c| push(out, c)),
            Self::Swap if is_title(c) => swapped_title(c).for_each(|c| push(out, c)),
            Self::Swap if is_upper(c) => c.to_lowercase().for_each(|c| push(out, c)),
            Self::Swap => c.to_uppercase().for_each(|c| push(out, c)),
        }
    }

    fn turkic(self, c: char) -> Option<char> {
        match (c, self) {
            ('i', Self::Up | Self::Swap | Self::Capitalize) => Some('İ'),
            ('I', Self::Down | Self::Swap) => Some('ı'),
            ('İ', Self::Down | Self::Swap) => Some('i'),
            _ => None,
        }
    }
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Whether `swapcase` converts it to lower case.
fn is_upper(c: char) -> bool {
    let mut lower = c.to_lowercase();
    lower.next() != Some(c) || lower.next().is_some()
}

/// Whether it is a title-case letter: its first part is upper case, the second lower case.
fn is_title(c: char) -> bool {
    matches!(u32::from(c), 0x1C5 | 0x1C8 | 0x1CB | 0x1F2 | 0x1F88..=0x1F8F | 0x1F98..=0x1F9F | 0x1FA8..=0x1FAF | 0x1FBC | 0x1FCC | 0x1FFC)
}

/// Its first part in lower case and its second in upper case.
fn swapped_title(c: char) -> Some3 {
    let (first, second) = match c {
        'ǅ' => (Some('d'), Some('Ž')),
        'ǈ' => (Some('l'), Some('J')),
        'ǋ' => (Some('n'), Some('J')),
        'ǲ' => (Some('d'), Some('Z')),
        greek => {
            let mut upper = greek.to_uppercase();
            (upper.next().and_then(|letter| letter.to_lowercase().next()), upper.next())
        }
    };
    some([first, second, None])
}

/// At most three letters.
type Some3 = std::iter::Flatten<std::array::IntoIter<Option<char>, 3>>;

fn some(letters: [Option<char>; 3]) -> Some3 {
    letters.into_iter().flatten()
}

const IOTA: char = '\u{399}';
const SMALL_IOTA_BELOW: char = '\u{345}';

/// The title-case form: if the upper-case form has several letters, only the first stays upper case.
fn title(c: char) -> Some3 {
    match c {
        // Digraphs: Dž is between DŽ and dž.
        'Ǆ'..='ǆ' => return some([Some('ǅ'), None, None]),
        'Ǉ'..='ǉ' => return some([Some('ǈ'), None, None]),
        'Ǌ'..='ǌ' => return some([Some('ǋ'), None, None]),
        'Ǳ'..='ǳ' => return some([Some('ǲ'), None, None]),
        // Georgian has upper-case letters for whole words only.
        '\u{10D0}'..='\u{10FF}' => return some([Some(c), None, None]),
        '\u{1C90}'..='\u{1CBF}' => return some([c.to_lowercase().next(), None, None]),
        // Greek with iota subscript: one letter for both.
        '\u{1F80}'..='\u{1FAF}' => return some([char::from_u32(u32::from(c) | 8), None, None]),
        '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => return some([char::from_u32(u32::from(c) + 9), None, None]),
        '\u{1FBC}' | '\u{1FCC}' | '\u{1FFC}' | 'ŉ' => {}
        _ => {
            let mut upper = c.to_uppercase();
            let (first, mut rest) = (upper.next(), [upper.next(), upper.next()]);
            for letter in rest.iter_mut().flatten() {
                let small = if *letter == IOTA { Some(SMALL_IOTA_BELOW) } else { letter.to_lowercase().next() };
                *letter = small.unwrap_or(*letter);
            }
            return some([first, rest[0], rest[1]]);
        }
    }
    if c == 'ŉ' {
        let mut upper = c.to_uppercase();
        return some([upper.next(), upper.next(), upper.next()]);
    }
    some([Some(c), None, None])
}

/// The case folding of a letter: usually the lower case of its upper case.
fn fold(c: char) -> Some3 {
    match c {
        // Without its dot it is a different letter.
        'ı' => return some([Some(c), None, None]),
        'İ' => return some([Some('i'), Some('\u{307}'), None]),
        // Cherokee folds to its upper-case letters, which are older in Unicode.
        '\u{13A0}'..='\u{13F5}' => return some([Some(c), None, None]),
        '\u{13F8}'..='\u{13FD}' | '\u{AB70}'..='\u{ABBF}' => {
            return some([c.to_uppercase().next(), None, None]);
        }
        _ => {}
    }
    let mut upper = c.to_uppercase();
    let small = |letter: Option<char>| letter.map(|letter| letter.to_lowercase().next().unwrap_or(letter));
    if c == 'ẞ' {
        return some([Some('s'), Some('s'), None]);
    }
    // One by one, so that they are evaluated in the order of the letters.
    let first = small(upper.next());
    let second = small(upper.next());
    some([first, second, small(upper.next())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stdlib::oracle::ruby;
    use serde_json::json;
    use underpin_test_support::need;

    /// Compares the results for all characters with those of CRuby.
    #[test]
    fn every_character_changes_as_in_cruby() {
        need!("ruby");
        let program = r"
            all = (0..0x10ffff).filter_map { |point| [point].pack('U') unless (0xd800..0xdfff).cover?(point) }
            cased = all.select { |c| c != c.upcase || c != c.downcase || c != c.downcase(:fold) || c != c.capitalize }
            INPUT.flat_map { |name, options, ours|
                ours = ours.to_h
                (cased | ours.keys).filter_map { |c|
                    mine = ours[c] || c
                    theirs = c.send(name, *options.map(&:to_sym))
                    # Letters that this CRuby's version of Unicode does not know yet are left out.
                    next if theirs == mine || !(c + mine).match?(/\A\p{Assigned}+\z/)
                    format('U+%04X %s %s %p: CRuby %s, ours %s', c.ord, c, name, options, theirs, mine)
                }
            }";
        let changes = [
            ("upcase", Change::Up),
            ("downcase", Change::Down),
            ("swapcase", Change::Swap),
            ("capitalize", Change::Capitalize),
        ];
        let differs =
            |c: char, mut made: Box<dyn Iterator<Item = char>>| made.next() != Some(c) || made.next().is_some();
        let cased: Vec<char> = ('\0'..=char::MAX)
            .filter(|&c| {
                differs(c, Box::new(c.to_uppercase()))
                    || differs(c, Box::new(c.to_lowercase()))
                    || differs(c, Box::new(fold(c)))
                    || differs(c, Box::new(title(c)))
            })
            .collect();
        let mut input = Vec::new();
        for (name, change) in changes {
            for options in
                [vec![], vec!["ascii"], vec!["turkic"], vec!["lithuanian"], vec!["lithuanian", "turkic"], vec!["fold"]]
            {
                if options == ["fold"] && change != Change::Down {
                    continue;
                }
                let given: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
                let letters = Letters::of(&given, change).unwrap();
                let made = |c: &char| {
                    let made = String::from_utf8(change.apply(c.to_string().as_bytes(), letters)).unwrap();
                    (made != c.to_string()).then(|| (c.to_string(), made))
                };
                input.push((name, options, cased.iter().filter_map(made).collect::<Vec<_>>()));
            }
        }
        let wrong = ruby(program, &json!(input));
        let wrong: Vec<&str> = wrong.as_array().unwrap().iter().filter_map(|line| line.as_str()).collect();
        assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(80)].join("\n"));
    }
}
