//! One directive of a format (`%-08.3f`), and how a number or a text is padded to its width.

/// What is between `%` and the letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directive {
    /// `#`
    pub alternate: bool,
    /// `+`
    pub plus: bool,
    /// A blank.
    pub space: bool,
    /// `-`
    pub left: bool,
    /// `0`
    pub zero: bool,
    /// The least number of characters.
    pub width: Option<usize>,
    /// What follows the dot. A dot with nothing after it means 0.
    pub precision: Option<usize>,
    /// Whether a dot was read: a negative precision (`%.*f`) is ignored, but flags may not follow it.
    pub(super) dot: bool,
}

impl Directive {
    /// Whether there is nothing between `%` and the letter.
    pub(super) fn is_plain(self) -> bool {
        self == Self::default()
    }

    /// The sign to write for a number.
    pub(super) fn sign(self, negative: bool) -> &'static str {
        match () {
            () if negative => "-",
            () if self.plus => "+",
            () if self.space => " ",
            () => "",
        }
    }

    /// Writes sign, prefix and digits, padded to the width with zeros after the prefix or with blanks on either side.
    pub(super) fn number(self, out: &mut Vec<u8>, prefix: &str, digits: &[u8]) {
        let missing = self.width.unwrap_or(0).saturating_sub(prefix.len() + digits.len());
        let zeros = if self.zero && !self.left { missing } else { 0 };
        if !self.left {
            fill(out, b' ', missing - zeros);
        }
        out.extend_from_slice(prefix.as_bytes());
        fill(out, b'0', zeros);
        out.extend_from_slice(digits);
        if self.left {
            fill(out, b' ', missing);
        }
    }

    /// Writes a text of this many characters, ignoring the precision.
    pub fn text(self, out: &mut Vec<u8>, text: &[u8], characters: usize) {
        let missing = self.width.unwrap_or(0).saturating_sub(characters);
        if !self.left {
            fill(out, b' ', missing);
        }
        out.extend_from_slice(text);
        if self.left {
            fill(out, b' ', missing);
        }
    }
}

pub(super) fn fill(out: &mut Vec<u8>, byte: u8, count: usize) {
    out.resize(out.len() + count, byte);
}
