//! CRuby's `format`: reads the directives, fetches their arguments and joins the texts.

use super::directive::Directive;
use thiserror::Error;

/// Errors in a format, with CRuby's messages. All are ArgumentError except [`FormatError::NoKey`], which is KeyError.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the words say it")]
pub enum FormatError {
    #[error("incomplete format specifier; use %% (double %) instead")]
    Incomplete,
    #[error("malformed format string - %{0}")]
    Malformed(String),
    #[error("malformed format string")]
    Unprintable,
    #[error("malformed name - unmatched parenthesis")]
    OpenName,
    #[error("invalid format character - %")]
    FlaggedPercent,
    #[error("{0} too big")]
    TooBig(&'static str),
    #[error("width given twice")]
    WidthTwice,
    #[error("width after precision")]
    WidthAfterPrecision,
    #[error("precision given twice")]
    PrecisionTwice,
    #[error("flag after width")]
    FlagAfterWidth,
    #[error("flag after precision")]
    FlagAfterPrecision,
    #[error("value given twice - {0}$")]
    ValueTwice(usize),
    #[error("invalid index - {0}$")]
    Index(usize),
    #[error("named{0} after <{1}>")]
    NameTwice(String, String),
    #[error("unnumbered({0}) mixed with {1}")]
    Mixed(usize, &'static str),
    #[error("numbered({0}) after unnumbered({1})")]
    NumberedAfterUnnumbered(usize, usize),
    #[error("numbered({0}) after named")]
    NumberedAfterNamed(usize),
    #[error("named{0} after unnumbered({1})")]
    NamedAfterUnnumbered(String, usize),
    #[error("named{0} after numbered")]
    NamedAfterNumbered(String),
    #[error("too few arguments")]
    TooFew,
    #[error("one hash required")]
    NoHash,
    #[error("key{0} not found")]
    NoKey(String),
}

/// Where the arguments of a format come from, and how values are written.
pub trait Arguments {
    /// A value.
    type Value: Copy;
    /// What may go wrong: an error in the format, or of a value.
    type Error: From<FormatError>;

    /// The argument with this index, the first being 0.
    ///
    /// # Errors
    /// [`FormatError::TooFew`].
    fn positional(&mut self, index: usize) -> Result<Self::Value, Self::Error>;
    /// The value for a name, from the Hash that is the only argument. `shown` is the name with its brackets.
    ///
    /// # Errors
    /// [`FormatError::NoHash`], [`FormatError::NoKey`].
    fn named(&mut self, name: &[u8], shown: &str) -> Result<Self::Value, Self::Error>;
    /// A value as a width or a precision (`*`).
    ///
    /// # Errors
    /// If it is not an Integer.
    fn size(&mut self, value: Self::Value) -> Result<i64, Self::Error>;
    /// Writes a value by its letter: one of `csp`, `diuoxXbB`, `feEgGaA`.
    ///
    /// # Errors
    /// If the value cannot be written that way.
    fn write(
        &mut self,
        out: &mut Vec<u8>,
        letter: u8,
        directive: Directive,
        value: Self::Value,
    ) -> Result<(), Self::Error>;
}

/// The largest width or precision: an interpreter could not hold more, and the text is built outside it.
const MOST: usize = 64 << 20;

/// How arguments are referenced in this format; the kinds cannot be mixed.
#[derive(Clone, Copy)]
enum Named {
    /// This many were taken one after another.
    InOrder(usize),
    ByNumber,
    ByName,
}

struct Reader<'t, A: Arguments> {
    template: &'t [u8],
    at: usize,
    arguments: &'t mut A,
    kind: Named,
}

/// Formats a template.
///
/// # Errors
/// An error in the format ([`FormatError`]), or what a value raised.
pub fn format<A: Arguments>(template: &[u8], arguments: &mut A) -> Result<Vec<u8>, A::Error> {
    let mut out = Vec::with_capacity(template.len() + 16);
    let mut reader = Reader { template, at: 0, arguments, kind: Named::InOrder(0) };
    while let Some(offset) = template[reader.at..].iter().position(|byte| *byte == b'%') {
        let percent = reader.at + offset;
        out.extend_from_slice(&template[reader.at..percent]);
        if percent + 1 == template.len() {
            return Err(FormatError::Incomplete.into());
        }
        reader.at = percent + 1;
        reader.directive(&mut out)?;
    }
    out.extend_from_slice(&template[reader.at..]);
    Ok(out)
}

impl<A: Arguments> Reader<'_, A> {
    /// Reads one directive after its percent sign and writes its output.
    fn directive(&mut self, out: &mut Vec<u8>) -> Result<(), A::Error> {
        let mut directive = Directive::default();
        let mut given: Option<A::Value> = None;
        let mut name: Option<String> = None;
        loop {
            // The end of the text counts as a NUL, as in C.
            let byte = self.template.get(self.at).copied().unwrap_or(0);
            match byte {
                b' ' | b'#' | b'+' | b'-' | b'0' => self.flag(&mut directive, byte)?,
                b'1'..=b'9' => {
                    let number = self.number("width")?;
                    if self.peek() == Some(b'$') {
                        if given.is_some() {
                            return Err(FormatError::ValueTwice(number).into());
                        }
                        given = Some(self.numbered(number)?);
                        self.at += 1;
                        continue;
                    }
                    check_width(directive)?;
                    directive.width = Some(number);
                }
                b'<' | b'{' => {
                    given = Some(self.name(byte, &mut name)?);
                    if byte == b'{' {
                        let value = self.value(given)?;
                        return self.arguments.write(out, b's', directive, value);
                    }
                }
                b'*' => {
                    check_width(directive)?;
                    let width = self.star()?;
                    directive.left |= width < 0;
                    directive.width = Some(limited(width.unsigned_abs(), "width")?);
                }
                b'.' => self.precision(&mut directive)?,
                b'\n' | 0 | b'%' => {
                    if !directive.is_plain() || given.is_some() && byte != b'%' {
                        return Err(FormatError::FlaggedPercent.into());
                    }
                    out.push(b'%');
                    self.at += usize::from(byte == b'%');
                    return Ok(());
                }
                b'c' | b's' | b'p' | b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'b' | b'B' | b'f' | b'e' | b'E'
                | b'g' | b'G' | b'a' | b'A' => {
                    self.at += 1;
                    let value = self.value(given)?;
                    return self.arguments.write(out, byte, directive, value);
                }
                b' '..=b'~' => return Err(FormatError::Malformed(char::from(byte).to_string()).into()),
                _ => return Err(FormatError::Unprintable.into()),
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.template.get(self.at).copied()
    }

    fn flag(&mut self, directive: &mut Directive, byte: u8) -> Result<(), A::Error> {
        if directive.width.is_some() {
            return Err(FormatError::FlagAfterWidth.into());
        }
        if directive.dot {
            return Err(FormatError::FlagAfterPrecision.into());
        }
        let flag = match byte {
            b' ' => &mut directive.space,
            b'#' => &mut directive.alternate,
            b'+' => &mut directive.plus,
            b'-' => &mut directive.left,
            _ => &mut directive.zero,
        };
        *flag = true;
        self.at += 1;
        Ok(())
    }

    /// Digits; something must follow them.
    fn number(&mut self, of: &'static str) -> Result<usize, A::Error> {
        let mut number = 0_u64;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            number = number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        if self.peek().is_none() {
            return Err(FormatError::Malformed("*[0-9]".to_owned()).into());
        }
        Ok(limited(number, of)?)
    }

    fn precision(&mut self, directive: &mut Directive) -> Result<(), A::Error> {
        if directive.dot {
            return Err(FormatError::PrecisionTwice.into());
        }
        directive.dot = true;
        self.at += 1;
        directive.precision = if self.peek() == Some(b'*') {
            // A negative one is ignored.
            u64::try_from(self.star()?).ok().map(|size| limited(size, "precision")).transpose()?
        } else {
            Some(self.number("precision")?)
        };
        Ok(())
    }

    /// `*` or `*1$`: a size taken from an argument.
    fn star(&mut self) -> Result<i64, A::Error> {
        self.at += 1;
        let after = self.at;
        let number = self.number("width")?;
        let value = if self.peek() == Some(b'$') {
            self.at += 1;
            self.numbered(number)?
        } else {
            self.at = after;
            self.next()?
        };
        self.arguments.size(value)
    }

    fn value(&mut self, given: Option<A::Value>) -> Result<A::Value, A::Error> {
        given.map_or_else(|| self.next(), Ok)
    }

    fn next(&mut self) -> Result<A::Value, A::Error> {
        match self.kind {
            Named::InOrder(count) => {
                self.kind = Named::InOrder(count + 1);
                self.arguments.positional(count)
            }
            Named::ByNumber => Err(FormatError::Mixed(1, "numbered").into()),
            Named::ByName => Err(FormatError::Mixed(1, "named").into()),
        }
    }

    fn numbered(&mut self, number: usize) -> Result<A::Value, A::Error> {
        match self.kind {
            Named::InOrder(count) if count > 0 => Err(FormatError::NumberedAfterUnnumbered(number, count).into()),
            Named::ByName => Err(FormatError::NumberedAfterNamed(number).into()),
            _ => {
                let index = number.checked_sub(1).ok_or(FormatError::Index(number))?;
                self.kind = Named::ByNumber;
                self.arguments.positional(index)
            }
        }
    }

    /// `<name>` or `{name}`.
    fn name(&mut self, open: u8, before: &mut Option<String>) -> Result<A::Value, A::Error> {
        let close = if open == b'<' { b'>' } else { b'}' };
        let rest = &self.template[self.at..];
        let length = rest.iter().position(|byte| *byte == close).ok_or(FormatError::OpenName)?;
        let (name, shown) = (&rest[1..length], String::from_utf8_lossy(&rest[..=length]).into_owned());
        if let Some(before) = before {
            return Err(FormatError::NameTwice(shown, before.clone()).into());
        }
        match self.kind {
            Named::InOrder(count) if count > 0 => return Err(FormatError::NamedAfterUnnumbered(shown, count).into()),
            Named::ByNumber => return Err(FormatError::NamedAfterNumbered(shown).into()),
            _ => self.kind = Named::ByName,
        }
        *before = Some(String::from_utf8_lossy(name).into_owned());
        self.at += length + 1;
        self.arguments.named(name, &shown)
    }
}

fn check_width(directive: Directive) -> Result<(), FormatError> {
    if directive.width.is_some() {
        return Err(FormatError::WidthTwice);
    }
    if directive.dot { Err(FormatError::WidthAfterPrecision) } else { Ok(()) }
}

fn limited(size: u64, of: &'static str) -> Result<usize, FormatError> {
    usize::try_from(size).ok().filter(|size| *size <= MOST).ok_or(FormatError::TooBig(of))
}
