//! The options of a pattern or of a group.

/// Options of a whole pattern, encoded as in Ruby's `Regexp#options`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options(pub u8);

impl Options {
    /// `Regexp::IGNORECASE`.
    pub const IGNORE_CASE: u8 = 1;
    /// `Regexp::EXTENDED`.
    pub const EXTENDED: u8 = 2;
    /// `Regexp::MULTILINE`: the dot matches a newline.
    pub const MULTILINE: u8 = 4;
    /// `Regexp::NOENCODING`, the `n` of a literal.
    pub const NO_ENCODING: u8 = 32;

    /// Whether an option is set.
    #[must_use]
    pub fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    /// The letters after a literal, in CRuby's order: `mix`.
    #[must_use]
    pub fn letters(self) -> String {
        let letters = [(Self::MULTILINE, 'm'), (Self::IGNORE_CASE, 'i'), (Self::EXTENDED, 'x')];
        letters.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, letter)| *letter).collect()
    }

    /// The options for a literal's letters (`"imx"`, `"n"`); other letters are ignored.
    #[must_use]
    pub fn from_letters(letters: &[u8]) -> Self {
        letters.iter().fold(Self(0), |options, letter| {
            Self(
                options.0
                    | match letter {
                        b'i' => Self::IGNORE_CASE,
                        b'x' => Self::EXTENDED,
                        b'm' => Self::MULTILINE,
                        b'n' => Self::NO_ENCODING,
                        _ => 0,
                    },
            )
        })
    }
}

/// What `\w`, `\d`, `\s` and POSIX brackets mean: `(?d)`, `(?a)`, `(?u)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Ruby's default: shorthands are ASCII, brackets Unicode.
    Default,
    /// `(?a)`: all of them ASCII.
    Ascii,
    /// `(?u)`: all of them Unicode.
    Unicode,
}
