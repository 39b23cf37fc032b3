//! The interpreter's numbers, implemented with [`crate::stdlib::number`]: `format`, `round` and similar methods,
//! `to_f`, `Float()`, `sum`.

use super::raise;
use crate::stdlib::json::float_text;
use crate::stdlib::number::{
    Arguments, Directive, FloatSum, FloatSyntax, FormatError, Half, Rounding, Whole, float_vanishes, format,
    integer_vanishes, leading_float, round_float, round_integer, round_to_whole, strict_float,
};
use mruby::{Args, Kind, Outcome, Raise, Ruby, Value};

pub fn define<'r>(ruby: Ruby<'r>, native: Value<'r>) -> Outcome<'r, ()> {
    let kernel = ruby.class("Kernel")?;
    for name in ["sprintf", "format"] {
        ruby.define_method(kernel, name, kernel_format)?;
        ruby.define_singleton_method(kernel, name, kernel_format)?;
    }
    let string = ruby.class("String")?;
    ruby.define_method(string, "%", |ruby, args| {
        let given = args.required(0)?;
        if given.kind() == Kind::Array {
            return formatted(ruby, args.self_value(), &ruby.array_values(given)?);
        }
        formatted(ruby, args.self_value(), &[given])
    })?;
    ruby.define_method(string, "to_f", |ruby, args| {
        let value = leading_float(&ruby.bytes(args.self_value())?);
        ruby.float(value)
    })?;
    // strict_float(text): the result of Float() for a String.
    ruby.define_singleton_method(native, "strict_float", |ruby, args: Args<'_>| {
        let text = args.required(0)?;
        let read = strict_float(&ruby.bytes(text)?);
        match read {
            Ok(value) => ruby.float(value),
            Err(FloatSyntax::Nul) => Err(raise("ArgumentError", FloatSyntax::Nul)),
            Err(error) => Err(raise("ArgumentError", format!("{error}: {}", ruby.inspect(text)?))),
        }
    })?;
    ruby.define_singleton_method(native, "sum", |ruby, args: Args<'_>| sum(ruby, args.required(0)?, args.get(1)))?;
    define_rounding(ruby)?;
    let float = ruby.class("Float")?;
    for name in ["to_s", "inspect"] {
        ruby.define_method(float, name, |ruby, args| ruby.str(float_text(float_of(args.self_value()))))?;
    }
    Ok(())
}

// ----------------------------------------------------------------------------------------------------------------
// format

/// An error of a format, or an exception raised by one of its values.
struct Failed<'r>(Raise<'r>);

impl From<FormatError> for Failed<'_> {
    fn from(error: FormatError) -> Self {
        let class = if matches!(error, FormatError::NoKey(_)) { "KeyError" } else { "ArgumentError" };
        Self(raise(class, error))
    }
}

impl<'r> From<Raise<'r>> for Failed<'r> {
    fn from(raise: Raise<'r>) -> Self {
        Self(raise)
    }
}

/// `format(template, ...)`. Keywords become the Hash that names refer to.
fn kernel_format<'r>(ruby: Ruby<'r>, args: Args<'r>) -> Outcome<'r> {
    let mut values = args.all().to_vec();
    values.extend(args.keywords());
    match values.split_first() {
        Some((template, values)) => formatted(ruby, *template, values),
        None => Err(raise("ArgumentError", "too few arguments")),
    }
}

fn formatted<'r>(ruby: Ruby<'r>, template: Value<'r>, values: &[Value<'r>]) -> Outcome<'r> {
    // A copy: `to_s` of a value may change the template.
    let template = ruby.to_vec(template)?;
    let text = format(&template, &mut Values { ruby, values }).map_err(|failed| failed.0)?;
    ruby.str(text)
}

struct Values<'r, 'v> {
    ruby: Ruby<'r>,
    values: &'v [Value<'r>],
}

impl<'r> Arguments for Values<'r, '_> {
    type Value = Value<'r>;
    type Error = Failed<'r>;

    fn positional(&mut self, index: usize) -> Result<Value<'r>, Failed<'r>> {
        Ok(self.values.get(index).copied().ok_or(FormatError::TooFew)?)
    }

    fn named(&mut self, name: &[u8], shown: &str) -> Result<Value<'r>, Failed<'r>> {
        let [hash] = self.values else { return Err(FormatError::NoHash.into()) };
        if hash.kind() != Kind::Hash {
            return Err(FormatError::NoHash.into());
        }
        let name = self.ruby.str(name)?;
        let key = self.ruby.send(name, "to_sym", &[])?;
        if let Some(value) = self.ruby.hash_fetch(*hash, key)? {
            return Ok(value);
        }
        // The Hash's default for a missing key.
        let default = self.ruby.send(*hash, "[]", &[key])?;
        if default.is_nil() { Err(FormatError::NoKey(shown.to_owned()).into()) } else { Ok(default) }
    }

    fn size(&mut self, value: Value<'r>) -> Result<i64, Failed<'r>> {
        Ok(digits_argument(self.ruby, value)?)
    }

    fn write(
        &mut self,
        out: &mut Vec<u8>,
        letter: u8,
        directive: Directive,
        value: Value<'r>,
    ) -> Result<(), Failed<'r>> {
        let ruby = self.ruby;
        match letter {
            b's' | b'p' => {
                let text = if letter == b'p' { ruby.send(value, "inspect", &[])? } else { ruby.to_s(value)? };
                write_text(out, directive, &ruby.bytes(text)?);
            }
            b'c' => write_character(ruby, out, directive, value)?,
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'b' | b'B' => {
                directive.integer(out, letter, whole(ruby, value)?);
            }
            b'f' if value.kind() == Kind::Integer => directive.fixed_integer(out, value.as_int().unwrap_or(0)),
            _ => {
                let number = match value.kind() {
                    Kind::Float => value,
                    _ => ruby.send(ruby.top_self(), "Float", &[value])?,
                };
                directive.float(out, letter, float_of(number));
            }
        }
        Ok(())
    }
}

/// `%s`: the precision cuts off characters, and the width counts them.
fn write_text(out: &mut Vec<u8>, directive: Directive, text: &[u8]) {
    if directive.precision.is_none() && directive.width.is_none() {
        out.extend_from_slice(text);
        return;
    }
    let mut ends = character_ends(text);
    let (mut count, mut end) = (0, 0);
    let most = directive.precision.unwrap_or(usize::MAX);
    while count < most
        && let Some(next) = ends.next()
    {
        (count, end) = (count + 1, next);
    }
    directive.text(out, &text[..end], count);
}

/// Where each character ends; a byte that is not UTF-8 counts as one.
fn character_ends(text: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    text.utf8_chunks().flat_map(move |chunk| {
        let start = at;
        at += chunk.valid().len();
        let broken = at;
        at += chunk.invalid().len();
        let valid = chunk.valid().char_indices().map(move |(offset, c)| start + offset + c.len_utf8());
        valid.chain((1..=chunk.invalid().len()).map(move |offset| broken + offset))
    })
}

fn write_character<'r>(ruby: Ruby<'r>, out: &mut Vec<u8>, directive: Directive, value: Value<'r>) -> Outcome<'r, ()> {
    if value.kind() == Kind::String {
        let text = ruby.bytes(value)?;
        if character_ends(&text).count() != 1 {
            return Err(raise("ArgumentError", "%c requires a character"));
        }
        directive.text(out, &text, 1);
        return Ok(());
    }
    let point = u32::try_from(digits_argument(ruby, value)?).ok().and_then(char::from_u32);
    let Some(character) = point else { return Err(raise("ArgumentError", "invalid character")) };
    directive.text(out, character.to_string().as_bytes(), 1);
    Ok(())
}

/// A value as `%d` takes it: the whole part of a float; a text is read as `Integer()` does.
fn whole<'r>(ruby: Ruby<'r>, value: Value<'r>) -> Outcome<'r, Whole> {
    match value.kind() {
        Kind::Integer => Ok(Whole::from(value.as_int().unwrap_or(0))),
        Kind::Float => {
            let value = float_of(value);
            if value.is_finite() {
                Ok(Whole::of_float(value))
            } else {
                Err(raise("FloatDomainError", float_text(value)))
            }
        }
        _ => {
            let number = ruby.send(ruby.top_self(), "Integer", &[value])?;
            Ok(Whole::from(number.as_int().unwrap_or(0)))
        }
    }
}

fn float_of(value: Value<'_>) -> f64 {
    value.as_float().unwrap_or(f64::NAN)
}

// --------------------------------------------------------------------------------------------------------------
// rounding

fn define_rounding(ruby: Ruby<'_>) -> Outcome<'_, ()> {
    let (float, integer) = (ruby.class("Float")?, ruby.class("Integer")?);
    for (name, rounding) in [
        ("round", Rounding::Nearest(Half::Up)),
        ("floor", Rounding::Floor),
        ("ceil", Rounding::Ceil),
        ("truncate", Rounding::Truncate),
    ] {
        ruby.define_method(float, name, move |ruby: Ruby<'_>, args: Args<'_>| {
            let (digits, rounding) = rounding_arguments(ruby, &args, rounding)?;
            rounded_float(ruby, float_of(args.self_value()), digits, rounding)
        })?;
        ruby.define_method(integer, name, move |ruby: Ruby<'_>, args: Args<'_>| {
            let (digits, rounding) = rounding_arguments(ruby, &args, rounding)?;
            if digits >= 0 {
                return Ok(args.self_value());
            }
            let value = args.self_value().as_int().unwrap_or(0);
            if integer_vanishes(value, digits.unsigned_abs()) {
                return ruby.int(0);
            }
            rounded_integer(ruby, i128::from(value), digits, rounding)
        })?;
    }
    for name in ["to_i", "to_int"] {
        ruby.define_method(float, name, |ruby: Ruby<'_>, args: Args<'_>| {
            whole_number(ruby, float_of(args.self_value()).trunc())
        })?;
    }
    Ok(())
}

/// The number of digits, and the rounding with the mode set by `half:`.
fn rounding_arguments<'r>(ruby: Ruby<'r>, args: &Args<'r>, rounding: Rounding) -> Outcome<'r, (i32, Rounding)> {
    args.expect(0..=1)?;
    let digits = if args.is_empty() { 0 } else { digits_argument(ruby, args.get(0))? };
    let digits = i32::try_from(digits)
        .map_err(|_| raise("RangeError", format!("integer {digits} too big to convert to `int'")))?;
    let half = match rounding {
        Rounding::Nearest(_) => args.keyword("half")?,
        _ => None,
    };
    let Some(half) = half.filter(|half| !half.is_nil()) else { return Ok((digits, rounding)) };
    let unknown = |name: &str| raise("ArgumentError", format!("invalid rounding mode: {name}"));
    let name = match half.kind() {
        Kind::Symbol | Kind::String => ruby.string(ruby.to_s(half)?)?,
        _ => return Err(unknown(&ruby.inspect(half)?)),
    };
    let half = match name.as_str() {
        "up" => Half::Up,
        "down" => Half::Down,
        "even" => Half::Even,
        other => return Err(unknown(other)),
    };
    Ok((digits, Rounding::Nearest(half)))
}

/// A value as CRuby's `NUM2INT` takes it.
fn digits_argument<'r>(ruby: Ruby<'r>, value: Value<'r>) -> Outcome<'r, i64> {
    if let Some(number) = value.as_int() {
        return Ok(number);
    }
    let no_conversion = |name: &str| raise("TypeError", format!("no implicit conversion {name} integer"));
    match value.kind() {
        Kind::Float => ruby.send(value, "to_i", &[])?.as_int().ok_or_else(|| no_conversion("of Float into")),
        Kind::Nil => Err(no_conversion("from nil to")),
        _ if ruby.respond_to(value, "to_int")? => {
            ruby.send(value, "to_int", &[])?.as_int().ok_or_else(|| no_conversion("into"))
        }
        _ => Err(raise("TypeError", format!("no implicit conversion of {} into Integer", ruby.class_name(value)))),
    }
}

fn rounded_float<'r>(ruby: Ruby<'r>, value: f64, digits: i32, rounding: Rounding) -> Outcome<'r> {
    if digits > 0 {
        return ruby.float(round_float(value, digits, rounding));
    }
    if digits == 0 || !value.is_finite() {
        return whole_number(ruby, round_to_whole(value, rounding));
    }
    if float_vanishes(value, digits.unsigned_abs(), rounding) {
        return ruby.int(0);
    }
    // As in CRuby: first to a whole number, then to the digits.
    let first = match rounding {
        Rounding::Nearest(_) => Rounding::Truncate,
        other => other,
    };
    let whole = round_to_whole(value, first);
    if whole.abs() > 1e38 {
        let unit = 10_f64.powi(digits.saturating_neg());
        let to_zero = match rounding {
            Rounding::Nearest(_) => whole.abs() < unit * 0.49,
            Rounding::Floor => whole > 0.0 && whole < unit,
            Rounding::Ceil => whole < 0.0 && -whole < unit,
            Rounding::Truncate => whole.abs() < unit,
        };
        if to_zero {
            return ruby.int(0);
        }
        return Err(raise("RangeError", "integer overflow in rounding"));
    }
    #[allow(clippy::cast_possible_truncation, reason = "looked at above")]
    rounded_integer(ruby, whole as i128, digits, rounding)
}

fn rounded_integer<'r>(ruby: Ruby<'r>, value: i128, digits: i32, rounding: Rounding) -> Outcome<'r> {
    let rounded = round_integer(value, digits.unsigned_abs(), rounding);
    let fits = rounded.and_then(|rounded| i64::try_from(rounded).ok());
    ruby.int(fits.ok_or_else(|| raise("RangeError", "integer overflow in rounding"))?)
}

/// A whole float as an Integer.
fn whole_number(ruby: Ruby<'_>, value: f64) -> Outcome<'_> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if !value.is_finite() {
        return Err(raise("FloatDomainError", float_text(value)));
    }
    if !(-LIMIT..LIMIT).contains(&value) {
        return Err(raise("RangeError", format!("number ({}) too big for integer", float_text(value))));
    }
    #[allow(clippy::cast_possible_truncation, reason = "looked at above")]
    ruby.int(value as i64)
}

// -------------------------------------------------------------------------------------------------------------------
// sum

/// The sum of an Array's values and an initial value: exact for Integers, compensated for floats, with `+` for anything
/// else.
fn sum<'r>(ruby: Ruby<'r>, values: Value<'r>, start: Value<'r>) -> Outcome<'r> {
    let values = ruby.array_values(values)?;
    let mut rest = values.as_slice();
    let mut total = start;
    if let Some(first) = as_float(start) {
        let integers = rest.iter().map_while(|value| value.as_int());
        let count = integers.clone().count();
        let whole =
            integers.clone().fold(i128::from(start.as_int().unwrap_or(0)), |sum, value| sum + i128::from(value));
        rest = &rest[count..];
        let float_follows = rest.first().is_some_and(|value| value.kind() == Kind::Float);
        if start.kind() == Kind::Integer && !float_follows {
            let whole = i64::try_from(whole).map_err(|_| raise("RangeError", "integer overflow in addition"))?;
            total = ruby.int(whole)?;
        } else {
            #[allow(clippy::cast_precision_loss, reason = "an Integer that meets a Float becomes one")]
            let begin = if start.kind() == Kind::Float { integers_onto(first, integers) } else { whole as f64 };
            let mut floats = FloatSum::new(begin);
            let count = rest.iter().map_while(|value| as_float(*value)).map(|value| floats.add(value)).count();
            rest = &rest[count..];
            total = ruby.float(if rest.is_empty() { floats.total() } else { floats.partial() })?;
        }
    }
    for value in rest {
        total = ruby.send(total, "+", &[*value])?;
    }
    Ok(total)
}

/// Integers added to a float: as in CRuby, exactly among themselves while they stay below 63 bits.
#[allow(clippy::cast_precision_loss, reason = "an Integer that meets a Float becomes one")]
fn integers_onto(mut sum: f64, integers: impl Iterator<Item = i64>) -> f64 {
    const SMALL: std::ops::Range<i64> = -(1 << 62)..1 << 62;
    let mut whole = 0_i64;
    for value in integers {
        if !SMALL.contains(&value) {
            sum += value as f64;
            continue;
        }
        whole += value;
        if !SMALL.contains(&whole) {
            sum += whole as f64;
            whole = 0;
        }
    }
    sum + whole as f64
}

#[allow(clippy::cast_precision_loss, reason = "an Integer that meets a Float becomes one")]
fn as_float(value: Value<'_>) -> Option<f64> {
    value.as_float().or_else(|| value.as_int().map(|value| value as f64))
}
