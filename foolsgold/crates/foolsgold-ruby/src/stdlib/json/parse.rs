//! Reading JSON: RFC 8259 and what CRuby allows beyond it (comments, `\q` for `q`, and `NaN` if enabled).

use thiserror::Error;

/// The longest part of the text that an error shows.
const SHOWN: usize = 60;
/// The deepest nesting, whatever limit a program sets: the reader is recursive.
const DEEPEST: usize = 1_000;

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// `JSON::ParserError`, with the text from the position of the error.
    #[error("unexpected token at '{0}'")]
    Unexpected(String),
    /// `JSON::ParserError` for half of a pair of surrogates.
    #[error("incomplete surrogate pair at '{0}'")]
    Surrogate(String),
    /// `JSON::NestingError`.
    #[error("nesting of {0} is too deep")]
    TooDeep(usize),
}

/// What the reader allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The deepest nesting of arrays and objects; 0 means [`DEEPEST`].
    pub nesting: usize,
    /// Whether `NaN`, `Infinity` and `-Infinity` are numbers.
    pub nan: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { nesting: 100, nan: false }
    }
}

/// Creates values from what is read, in the order of the text.
pub trait Builder {
    /// A value.
    type Value: Copy;
    /// The error that ends reading.
    type Error: From<Error>;
    /// `null`, `true`, `false`.
    ///
    /// # Errors
    /// As for all methods of this trait: any error of the builder.
    fn simple(&mut self, value: Option<bool>) -> Result<Self::Value, Self::Error>;
    /// An integer of 64 bits.
    ///
    /// # Errors
    /// See [`Builder::simple`].
    fn integer(&mut self, value: i64) -> Result<Self::Value, Self::Error>;
    /// A larger integer, as its digits.
    ///
    /// # Errors
    /// See [`Builder::simple`].
    fn big_integer(&mut self, digits: &str) -> Result<Self::Value, Self::Error>;
    /// A number with a fraction or an exponent.
    ///
    /// # Errors
    /// See [`Builder::simple`].
    fn float(&mut self, value: f64) -> Result<Self::Value, Self::Error>;
    /// A string, with its escapes decoded.
    ///
    /// # Errors
    /// See [`Builder::simple`].
    fn string(&mut self, value: &[u8]) -> Result<Self::Value, Self::Error>;
    /// An empty array.
    ///
    /// # Errors
    /// See [`Builder::simple`].
    fn array(&mut self) -> Result<Self::Value, Self::Error>;
    /// Appends to an array.
    ///
    /// # Errors
    /// See [`Builder::simple`].
    fn push(&mut self, array: Self::Value, value: Self::Value) -> Result<(), Self::Error>;
    /// An empty object.
    ///
    /// # Errors
    /// See [`Builder::simple`].
    fn object(&mut self) -> Result<Self::Value, Self::Error>;
    /// A key, created before its value.
    ///
    /// # Errors
    /// See [`Builder::simple`].
    fn key(&mut self, key: &[u8]) -> Result<Self::Value, Self::Error>;
    /// Sets a member; a later one with the same name replaces an earlier one.
    ///
    /// # Errors
    /// See [`Builder::simple`].
    fn insert(&mut self, object: Self::Value, key: Self::Value, value: Self::Value) -> Result<(), Self::Error>;
}

/// Reads a text that holds one value.
///
/// # Errors
/// If the text is malformed or nested too deeply, and whatever the builder returns.
pub fn parse<B: Builder>(text: &[u8], limits: Limits, builder: &mut B) -> Result<B::Value, B::Error> {
    let nesting = if limits.nesting == 0 { DEEPEST } else { limits.nesting.min(DEEPEST) };
    let mut reader = Reader { text, at: 0, limits: Limits { nesting, ..limits }, scratch: Vec::new() };
    reader.blanks()?;
    let value = reader.value(builder, 0)?;
    reader.blanks()?;
    if reader.at < text.len() {
        return Err(reader.unexpected(reader.at).into());
    }
    Ok(value)
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    limits: Limits,
    scratch: Vec<u8>,
}

impl Reader<'_> {
    fn shown(&self, from: usize) -> String {
        let rest = self.text.get(from..).unwrap_or_default();
        String::from_utf8_lossy(&rest[..rest.len().min(SHOWN)]).into_owned()
    }

    fn unexpected(&self, from: usize) -> Error {
        Error::Unexpected(self.shown(from))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) -> Result<(), Error> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Result<(), Error> {
        let rest = &self.text[self.at..];
        let length = if rest.starts_with(b"//") {
            rest.iter().position(|&byte| byte == b'\n').map(|end| end + 1).or(Some(rest.len()))
        } else if rest.starts_with(b"/*") {
            rest[2..].windows(2).position(|two| two == b"*/").map(|end| end + 4)
        } else {
            None
        };
        self.at += length.ok_or_else(|| self.unexpected(self.at))?;
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> bool {
        let found = self.text[self.at..].starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn value<B: Builder>(&mut self, builder: &mut B, depth: usize) -> Result<B::Value, B::Error> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                let string = self.string()?;
                builder.string(string)
            }
            Some(b'{') => self.object(builder, depth + 1),
            Some(b'[') => self.array(builder, depth + 1),
            Some(b'n') if self.word(b"null") => builder.simple(None),
            Some(b't') if self.word(b"true") => builder.simple(Some(true)),
            Some(b'f') if self.word(b"false") => builder.simple(Some(false)),
            Some(b'N') if self.limits.nan && self.word(b"NaN") => builder.float(f64::NAN),
            Some(b'I') if self.limits.nan && self.word(b"Infinity") => builder.float(f64::INFINITY),
            Some(b'-') if self.limits.nan && self.word(b"-Infinity") => builder.float(f64::NEG_INFINITY),
            Some(b'-' | b'0'..=b'9') => self.number(builder),
            _ => Err(self.unexpected(start).into()),
        }
    }

    fn deeper(&self, depth: usize) -> Result<(), Error> {
        if depth > self.limits.nesting { Err(Error::TooDeep(depth)) } else { Ok(()) }
    }

    fn array<B: Builder>(&mut self, builder: &mut B, depth: usize) -> Result<B::Value, B::Error> {
        self.deeper(depth)?;
        let array = builder.array()?;
        self.at += 1;
        self.blanks()?;
        if self.word(b"]") {
            return Ok(array);
        }
        loop {
            let value = self.value(builder, depth)?;
            builder.push(array, value)?;
            self.blanks()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(array);
                }
                _ => return Err(self.unexpected(self.at).into()),
            }
            self.blanks()?;
        }
    }

    fn object<B: Builder>(&mut self, builder: &mut B, depth: usize) -> Result<B::Value, B::Error> {
        self.deeper(depth)?;
        let object = builder.object()?;
        self.at += 1;
        self.blanks()?;
        if self.word(b"}") {
            return Ok(object);
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected(self.at).into());
            }
            let key = {
                let key = self.string()?;
                builder.key(key)?
            };
            self.blanks()?;
            if !self.word(b":") {
                return Err(self.unexpected(self.at).into());
            }
            self.blanks()?;
            let value = self.value(builder, depth)?;
            builder.insert(object, key, value)?;
            self.blanks()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(object);
                }
                _ => return Err(self.unexpected(self.at).into()),
            }
            self.blanks()?;
        }
    }

    fn digits(&mut self) -> usize {
        let count = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn number<B: Builder>(&mut self, builder: &mut B) -> Result<B::Value, B::Error> {
        let start = self.at;
        self.word(b"-");
        let leading_zero = self.peek() == Some(b'0');
        let digits = self.digits();
        if digits == 0 || (leading_zero && digits > 1) {
            return Err(self.unexpected(start).into());
        }
        let mut whole = true;
        if self.word(b".") {
            whole = false;
            if self.digits() == 0 {
                return Err(self.unexpected(start).into());
            }
        }
        if self.word(b"e") || self.word(b"E") {
            whole = false;
            let _ = self.word(b"+") || self.word(b"-");
            if self.digits() == 0 {
                return Err(self.unexpected(start).into());
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        if !whole {
            return builder.float(text.parse().unwrap_or(f64::NAN));
        }
        match text.parse() {
            Ok(value) => builder.integer(value),
            Err(_) => builder.big_integer(text),
        }
    }

    /// The string at the current quote, with its escapes decoded. One without escapes is not copied.
    fn string(&mut self) -> Result<&[u8], Error> {
        let start = self.at + 1;
        let plain = self.text[start..].iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20);
        let end = start + plain.ok_or_else(|| self.unexpected(self.at))?;
        if self.text[end] == b'"' {
            self.at = end + 1;
            return Ok(&self.text[start..end]);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend_from_slice(&self.text[start..end]);
        let result = self.escaped(end, &mut scratch);
        self.scratch = scratch;
        self.at = result?;
        Ok(&self.scratch)
    }

    /// Continues from `at` to the closing quote; returns the position after it.
    fn escaped(&self, mut at: usize, out: &mut Vec<u8>) -> Result<usize, Error> {
        loop {
            let byte = *self.text.get(at).ok_or_else(|| self.unexpected(self.at))?;
            at += 1;
            match byte {
                b'"' => return Ok(at),
                0..=0x1F => return Err(self.unexpected(self.at)),
                b'\\' => {}
                _ => {
                    out.push(byte);
                    continue;
                }
            }
            let letter = *self.text.get(at).ok_or_else(|| self.unexpected(self.at))?;
            at += 1;
            match letter {
                b'b' => out.push(8),
                b'f' => out.push(12),
                b'n' => out.push(b'\n'),
                b'r' => out.push(b'\r'),
                b't' => out.push(b'\t'),
                b'u' => at = self.unicode(at, out)?,
                0..=0x1F => return Err(self.unexpected(self.at)),
                other => out.push(other),
            }
        }
    }

    fn four_digits(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 4)?;
        digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
    }

    fn unicode(&self, at: usize, out: &mut Vec<u8>) -> Result<usize, Error> {
        let first = self.four_digits(at).ok_or_else(|| self.unexpected(self.at))?;
        let mut end = at + 4;
        let point = match first {
            0xD800..=0xDBFF if self.text[end..].starts_with(b"\\u") => match self.four_digits(end + 2) {
                Some(second @ 0xDC00..=0xDFFF) => {
                    end += 6;
                    0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)
                }
                _ => first,
            },
            _ => first,
        };
        let c = char::from_u32(point).ok_or_else(|| Error::Surrogate(self.shown(at - 2)))?;
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(end)
    }
}
