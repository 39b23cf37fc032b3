//! Translates Ruby's regular expression syntax (Onigmo) into that of the fancy-regex crate.
//!
//! Differences handled here: `^` and `$` are always line anchors, `m` means "dot matches newline", `\w`, `\d` and `\s`
//! are ASCII while POSIX brackets are Unicode, `x` does not remove blanks inside a class, options in the middle of a
//! group (`a(?i)b|c`) apply to the group's end including the alternation, quantifiers stack (`a{2}{3}`), `\Z` skips one
//! newline only, and the many escapes. The result is written without the `x` option: blanks and comments are removed.
//! Not supported: multi-character case folding, `\y`, `\X` beyond the usual clusters.

use super::class::{self, push_literal};
use super::error::{PatternError, Reason};
use super::options::{Options, Range};

/// A pattern in fancy-regex syntax, and the names of its groups.
#[derive(Debug, PartialEq, Eq)]
pub struct Translated {
    /// The pattern; case and dot are options of the builder.
    pub pattern: String,
    /// Names in the order of their first use, each with the numbers of its groups. If there are any, groups without a
    /// name do not capture.
    pub names: Vec<(String, Vec<usize>)>,
}

#[derive(Clone, Copy)]
struct Frame {
    extended: bool,
    range: Range,
    /// Parentheses to close beyond the group's own, for options in its middle.
    extra: usize,
    /// Where the group begins in the output, so that a quantifier after it can wrap it.
    start: usize,
}

/// The deepest nesting of groups that is translated. fancy-regex accepts less (64 levels); its error is reported as
/// [`Reason::TooDeep`] too.
const DEEPEST: usize = 200;

/// Translates a pattern.
///
/// # Errors
/// With Onigmo's reason if the pattern is malformed.
pub fn translate(source: &str, options: Options) -> Result<Translated, PatternError> {
    let frame = Frame { extended: options.has(Options::EXTENDED), range: Range::Default, extra: 0, start: 0 };
    // In a byte pattern this means all non-ASCII bytes: the same texts have a non-ASCII character.
    let bytes = options.has(Options::NO_ENCODING).then(|| source.replace(r"\x80-\xff", r"\u{80}-\u{10ffff}"));
    let mut translator = Translator {
        rest: bytes.as_deref().unwrap_or(source),
        out: String::with_capacity(source.len() + 16),
        frame,
        stack: Vec::new(),
        atom: Atom::None,
        names: Vec::new(),
        named: 0,
        plain: 0,
    };
    translator.run().map_err(|reason| PatternError::new(reason, source, options))?;
    Ok(Translated { pattern: translator.out, names: translator.names })
}

/// What a quantifier would apply to.
#[derive(Clone, Copy)]
pub(super) enum Atom {
    /// Nothing: the start of a branch.
    None,
    /// The item that begins at this position of the output.
    At(usize),
    /// The same, and it has a quantifier already.
    Repeated(usize),
    /// An assertion at this position: repeating it only changes whether it must hold.
    Assertion(usize),
}

pub(super) struct Translator<'a> {
    pub(super) rest: &'a str,
    pub(super) out: String,
    frame: Frame,
    stack: Vec<Frame>,
    pub(super) atom: Atom,
    names: Vec<(String, Vec<usize>)>,
    named: usize,
    plain: usize,
}

impl Translator<'_> {
    fn run(&mut self) -> Result<(), Reason> {
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape()?,
                '[' => {
                    let start = self.out.len();
                    self.rest = class::translate(self.rest, &mut self.out, self.frame.range, 0)?;
                    self.atom = Atom::At(start);
                }
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => {
                    self.out.push('|');
                    self.atom = Atom::None;
                }
                '^' => self.line_start(),
                '$' => self.assertion("(?m:$)"),
                '.' => self.atom("."),
                '*' | '+' | '?' => self.quantifier(&c.to_string(), true)?,
                '{' => self.braces()?,
                ' ' | '\t' | '\r' | '\n' | '\x0B' | '\x0C' if self.frame.extended => {}
                '#' if self.frame.extended => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                }
                c => self.literal(c),
            }
        }
        if !self.stack.is_empty() {
            return Err(Reason::UnmatchedOpen);
        }
        self.close_extra();
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    fn atom(&mut self, text: &str) {
        self.atom = Atom::At(self.out.len());
        self.out.push_str(text);
    }

    fn assertion(&mut self, text: &str) {
        self.atom = Atom::Assertion(self.out.len());
        self.out.push_str(text);
    }

    pub(super) fn literal(&mut self, c: char) {
        self.atom = Atom::At(self.out.len());
        push_literal(&mut self.out, c);
    }

    /// `^`: in Onigmo it does not match at the very end after a last newline. If a character must follow, that makes no
    /// difference, and the plain anchor is much faster.
    fn line_start(&mut self) {
        let mut chars = self.rest.chars();
        let character = chars.next().is_some_and(|c| {
            let blank = self.frame.extended && c == ' ';
            !blank && (c.is_alphanumeric() || " <>=\"'/,;:!@%&~`_-".contains(c))
        });
        let must_follow = character && !matches!(chars.next(), Some('*' | '?' | '{'));
        self.assertion(if must_follow { "(?m:^)" } else { r"(?:(?m:^)(?!(?<=\n)\z))" });
    }

    fn open(&mut self) -> Result<(), Reason> {
        if self.stack.len() >= DEEPEST {
            return Err(Reason::TooDeep);
        }
        if self.rest.starts_with("?#") {
            return self.comment();
        }
        let (frame, start) = (self.frame, self.out.len());
        if let Some(rest) = self.rest.strip_prefix('?') {
            let kinds = [":", "=", "!", ">", "~", "<=", "<!"];
            if let Some(kind) = kinds.iter().find(|kind| rest.starts_with(**kind)) {
                self.out.push_str("(?");
                self.out.push_str(kind);
                self.rest = &rest[kind.len()..];
            } else if rest.starts_with('<') || rest.starts_with('\'') {
                self.named_group(rest)?;
            } else if rest.starts_with('(') {
                let end = rest.find(')').ok_or(Reason::UnmatchedOpen)?;
                self.out.push_str("(?");
                self.out.push_str(&rest[..=end]);
                self.rest = &rest[end + 1..];
            } else {
                self.rest = rest;
                if !self.options()? {
                    return Ok(());
                }
            }
        } else {
            self.plain += 1;
            self.out.push('(');
        }
        let inner = self.frame;
        self.stack.push(Frame { start, ..frame });
        self.frame = Frame { extra: 0, ..inner };
        self.atom = Atom::None;
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Reason> {
        let mut chars = self.rest[2..].chars();
        loop {
            match chars.next() {
                None => return Err(Reason::EndInGroup),
                Some('\\') => {
                    chars.next();
                }
                Some(')') => break,
                Some(_) => {}
            }
        }
        self.rest = chars.as_str();
        Ok(())
    }

    fn named_group(&mut self, rest: &str) -> Result<(), Reason> {
        let close = if rest.starts_with('<') { '>' } else { '\'' };
        let Some(end) = rest[1..].find(close).map(|end| end + 1) else {
            return Err(Reason::InvalidName(rest[1..].to_owned()));
        };
        let name = &rest[1..end];
        if name.is_empty()
            || name.starts_with(|c: char| c.is_ascii_digit())
            || name.contains(|c: char| !(c.is_alphanumeric() || c == '_'))
        {
            return Err(if name.is_empty() { Reason::EmptyName } else { Reason::InvalidName(name.to_owned()) });
        }
        self.named += 1;
        match self.names.iter_mut().find(|(known, _)| known == name) {
            Some((_, groups)) => groups.push(self.named),
            None => self.names.push((name.to_owned(), vec![self.named])),
        }
        self.out.push_str("(?<");
        self.out.push_str(name);
        self.out.push('>');
        self.rest = self.rest.get(1 + end + 1..).unwrap_or_default();
        Ok(())
    }

    /// `(?imx-imx)` and `(?imx-imx:`; returns whether a group was opened.
    fn options(&mut self) -> Result<bool, Reason> {
        let (mut on, mut negative) = (true, false);
        let (mut set, mut unset) = (String::new(), String::new());
        loop {
            match self.next() {
                Some('-') if !negative => (on, negative) = (false, true),
                Some('i') => if on { &mut set } else { &mut unset }.push('i'),
                Some('m') => if on { &mut set } else { &mut unset }.push('s'),
                Some('x') => self.frame.extended = on,
                Some('a') if on => self.frame.range = Range::Ascii,
                Some('u') if on => self.frame.range = Range::Unicode,
                Some('d') if on => self.frame.range = Range::Default,
                Some(c @ (':' | ')')) => {
                    self.out.push_str("(?");
                    self.out.push_str(&set);
                    if !unset.is_empty() {
                        self.out.push('-');
                        self.out.push_str(&unset);
                    }
                    self.out.push(':');
                    if c == ')' {
                        self.frame.extra += 1;
                        self.atom = Atom::None;
                    }
                    return Ok(c == ':');
                }
                None => return Err(Reason::EndInGroup),
                Some(_) => return Err(Reason::UndefinedOption),
            }
        }
    }

    fn close_extra(&mut self) {
        for _ in 0..self.frame.extra {
            self.out.push(')');
        }
    }

    fn close(&mut self) -> Result<(), Reason> {
        let outer = self.stack.pop().ok_or(Reason::UnmatchedClose)?;
        self.close_extra();
        self.out.push(')');
        self.frame = outer;
        let group = &self.out[outer.start..];
        let assertion = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|open| group.starts_with(open));
        self.atom = if assertion { Atom::Assertion(outer.start) } else { Atom::At(outer.start) };
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Reason> {
        let c = self.next().ok_or(Reason::EndInEscape)?;
        match c {
            'A' => self.assertion(r"\A"),
            'z' => self.assertion(r"\z"),
            'Z' => self.assertion(r"(?=\n?\z)"),
            'b' => self.assertion(if self.frame.range == Range::Ascii { ASCII_BOUNDARY } else { r"\b" }),
            'B' => self.assertion(if self.frame.range == Range::Ascii { ASCII_NO_BOUNDARY } else { r"\B" }),
            'G' => self.assertion(r"\G"),
            'K' => self.assertion(r"\K"),
            'R' => self.atom(r"(?>\r\n|[\n\x0B\x0C\r\u{85}\u{2028}\u{2029}])"),
            'X' => self.atom(CLUSTER),
            'w' | 'W' | 'd' | 'D' | 's' | 'S' | 'h' | 'H' => {
                self.atom = Atom::At(self.out.len());
                class::shorthand(c, self.frame.range, &mut self.out);
            }
            'p' | 'P' => {
                self.atom = Atom::At(self.out.len());
                self.rest = class::property(self.rest, c == 'P', &mut self.out)?;
            }
            'k' | 'g' if self.rest.starts_with(['<', '\'']) => self.reference(c)?,
            '1'..='9' => self.back_reference(c),
            _ => {
                let (chars, rest) = class::character(c, self.rest, false)?;
                self.rest = rest;
                for c in chars {
                    self.literal(c);
                }
            }
        }
        Ok(())
    }

    fn reference(&mut self, kind: char) -> Result<(), Reason> {
        let close = if self.rest.starts_with('<') { '>' } else { '\'' };
        let end = self.rest[1..].find(close).ok_or(Reason::InvalidBackref)? + 1;
        let name = &self.rest[1..end];
        self.atom = Atom::At(self.out.len());
        self.out.push_str(&format!("\\{kind}<{name}>"));
        self.rest = &self.rest[end + 1..];
        Ok(())
    }

    fn back_reference(&mut self, first: char) {
        let more = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let digits = format!("{first}{}", &self.rest[..more]);
        // Beyond nine it is a back-reference only if that many groups have been opened, otherwise an octal character.
        let opened = self.named.max(self.plain);
        if digits.len() > 1
            && digits.parse::<usize>().is_ok_and(|n| n > opened)
            && first < '8'
            && let Ok((chars, rest)) = class::character(first, self.rest, false)
        {
            self.rest = rest;
            chars.into_iter().for_each(|c| self.literal(c));
            return;
        }
        self.rest = &self.rest[more..];
        self.atom(&format!("(?:\\{digits})"));
    }
}

const ASCII_BOUNDARY: &str = r"(?:(?<=[a-zA-Z0-9_])(?![a-zA-Z0-9_])|(?<![a-zA-Z0-9_])(?=[a-zA-Z0-9_]))";
const ASCII_NO_BOUNDARY: &str = r"(?:(?<=[a-zA-Z0-9_])(?=[a-zA-Z0-9_])|(?<![a-zA-Z0-9_])(?![a-zA-Z0-9_]))";
/// What most people see as one character: a base and its marks, joined emoji, flags, CR LF.
const CLUSTER: &str = r"(?>\r\n|\p{Regional_Indicator}{2}|\p{Extended_Pictographic}[\p{M}\u{1F3FB}-\u{1F3FF}]*(?:\u{200D}\p{Extended_Pictographic}[\p{M}\u{1F3FB}-\u{1F3FF}]*)*|(?s:.)[\p{M}\u{200D}]*)";
