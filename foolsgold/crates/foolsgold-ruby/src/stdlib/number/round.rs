//! Rounding to decimal digits.
//!
//! CRuby scales a float, rounds, checks whether the neighbour would be read back as the float itself, and scales back:
//! 0.285 becomes 0.29 although the float is below it. That is visible behaviour, so it is followed here step by step.

/// How to round exactly between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Away from zero.
    Up,
    /// Towards zero.
    Down,
    /// To the even digit.
    Even,
}

/// Which neighbour is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// The nearest.
    Nearest(Half),
    /// The one below.
    Floor,
    /// The one above.
    Ceil,
    /// The one towards zero.
    Truncate,
}

/// A float rounded to this many decimals, which must be at least one.
#[must_use]
pub fn round_float(value: f64, digits: i32, rounding: Rounding) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = binary_exponent(value);
    if has_no_more_digits(digits, exponent) {
        return value;
    }
    let vanishes = is_below_digits(digits, exponent);
    let rounding = match rounding {
        Rounding::Truncate if value > 0.0 => Rounding::Floor,
        Rounding::Truncate => Rounding::Ceil,
        other => other,
    };
    match rounding {
        Rounding::Nearest(_) if vanishes => 0.0,
        Rounding::Floor if vanishes && value > 0.0 => 0.0,
        Rounding::Ceil if vanishes && value < 0.0 => 0.0,
        // 10^15 and more times the value is not exact.
        Rounding::Nearest(half) if digits > 14 => exactly(value, digits, half),
        Rounding::Nearest(half) => {
            let scale = 10_f64.powi(digits);
            nearest(value, scale, half) / scale
        }
        Rounding::Floor => {
            let scale = power_of_ten(digits);
            let below = (value * scale).floor();
            let above = (below + 1.0) / scale;
            if above > value { below / scale } else { above }
        }
        Rounding::Ceil | Rounding::Truncate => {
            let scale = power_of_ten(digits);
            (value * scale).ceil() / scale
        }
    }
}

/// A finite float rounded to a whole number, still as a float.
#[must_use]
pub fn round_to_whole(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest(half) => nearest(value, 1.0, half),
        Rounding::Floor => value.floor(),
        Rounding::Ceil => value.ceil(),
        Rounding::Truncate => value.trunc(),
    }
}

/// An Integer rounded to tens, hundreds and so on, with `zeros` zeros at the end. `None` if it needs more than 128
/// bits, which no 64-bit result does.
#[must_use]
pub fn round_integer(value: i128, zeros: u32, rounding: Rounding) -> Option<i128> {
    let Some(unit) = 10_i128.checked_pow(zeros) else {
        // Far larger than the value: zero, or out of range.
        return match rounding {
            Rounding::Floor if value < 0 => None,
            Rounding::Ceil if value > 0 => None,
            _ => Some(0),
        };
    };
    let below = value.div_euclid(unit).checked_mul(unit)?;
    let rest = value - below;
    if rest == 0 {
        return Some(value);
    }
    let above = below.checked_add(unit)?;
    let up = match rounding {
        Rounding::Floor => false,
        Rounding::Ceil => true,
        Rounding::Truncate => value < 0,
        Rounding::Nearest(half) => match (rest * 2).cmp(&unit) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => match half {
                Half::Up => value > 0,
                Half::Down => value < 0,
                Half::Even => (below / unit) % 2 != 0,
            },
        },
    };
    Some(if up { above } else { below })
}

/// Whether CRuby considers this to be more zeros than a whole float can have, and returns 0.
#[must_use]
pub fn float_vanishes(value: f64, zeros: u32, rounding: Rounding) -> bool {
    let exponent = binary_exponent(value);
    let below = matches!(rounding, Rounding::Nearest(_))
        && is_below_digits(i32::try_from(zeros).map_or(i32::MIN, |zeros| -zeros), exponent);
    below || bits_vanish(exponent.max(0).unsigned_abs(), zeros)
}

/// The same for an Integer.
#[must_use]
pub fn integer_vanishes(value: i64, zeros: u32) -> bool {
    bits_vanish(u64::BITS - value.unsigned_abs().leading_zeros(), zeros)
}

/// By the number of bytes, which is eight for small Integers. This applies to `floor` and `ceil`, too.
fn bits_vanish(bits: u32, zeros: u32) -> bool {
    let bytes = if bits <= 62 { 8 } else { bits.div_ceil(8) };
    0.415_241 * f64::from(zeros) - 0.125 > f64::from(bytes)
}

/// `e` for a value between 2^(e-1) and 2^e.
fn binary_exponent(value: f64) -> i32 {
    const FRACTION_BITS: u32 = 52;
    let bits = value.abs().to_bits();
    match i32::try_from(bits >> FRACTION_BITS).unwrap_or(0) {
        0 => -1010 - i32::try_from(bits.leading_zeros()).unwrap_or(0),
        biased => biased - 1022,
    }
}

/// Whether a float with that exponent has no digits beyond these, so that rounding changes nothing: 17 digits
/// distinguish all floats. As in CRuby, logarithms are estimated as a third or a quarter of the exponent.
fn has_no_more_digits(digits: i32, exponent: i32) -> bool {
    digits >= 17 - if exponent > 0 { exponent / 4 } else { exponent / 3 - 1 }
}

/// Whether a float with that exponent is less than half of the last digit.
fn is_below_digits(digits: i32, exponent: i32) -> bool {
    digits < -if exponent > 0 { exponent / 3 + 1 } else { exponent / 4 }
}

/// A power of ten from the C library, as in CRuby; beyond 10^22 it need not be the nearest float.
fn power_of_ten(digits: i32) -> f64 {
    // Hidden from the optimiser, so that no other function is substituted for this base.
    std::hint::black_box(10.0_f64).powf(f64::from(digits))
}

/// The whole number nearest to `value * scale`.
fn nearest(value: f64, scale: f64, half: Half) -> f64 {
    // The rules are symmetric.
    let (magnitude, sign) = (value.abs(), value.signum());
    let rounded = (magnitude * scale).round();
    sign * match half {
        Half::Up if scale == 1.0 => rounded,
        Half::Up if (rounded + 0.5) / scale <= magnitude => rounded + 1.0,
        Half::Down if (rounded - 0.5) / scale >= magnitude => rounded - 1.0,
        Half::Up | Half::Down => rounded,
        Half::Even => nearest_even(magnitude, scale),
    }
}

fn nearest_even(magnitude: f64, scale: f64) -> f64 {
    let scaled = magnitude * scale;
    let below = scaled.floor();
    let rest = scaled - below;
    if rest > 0.5 {
        below + 1.0
    } else if rest == 0.5 || (below + 0.5) / scale <= magnitude {
        below + below % 2.0
    } else {
        below
    }
}

/// Rounds by the exact decimal expansion. CRuby makes a fraction of the result and divides its two parts as floats.
fn exactly(value: f64, digits: i32, half: Half) -> f64 {
    let places = usize::try_from(digits).unwrap_or(0);
    // The whole expansion: no float has more digits.
    let all = format!("{:.1074}", value.abs());
    let point = all.find('.').unwrap_or(all.len());
    let (kept, rest) = all.split_at((point + 1 + places).min(all.len()));
    let rest = rest.trim_end_matches('0');
    // Floats that have digits beyond these are below 10^20 such units.
    let Ok(mut units) = kept.replace('.', "").parse::<u128>() else { return value };
    let up = match rest {
        "" => false,
        "5" => half == Half::Up || (half == Half::Even && units % 2 == 1),
        rest => rest.as_bytes()[0] >= b'5',
    };
    units += u128::from(up);
    let magnitude = match fraction(units, digits.unsigned_abs()) {
        Some((numerator, denominator)) => numerator / denominator,
        None => format!("{units}e-{digits}").parse().unwrap_or(0.0),
    };
    if units == 0 { 0.0 } else { magnitude.copysign(value) }
}

/// `units / 10^places` in lowest terms, if the denominator is one of CRuby's small Integers; beyond them it divides
/// exactly.
#[allow(clippy::cast_precision_loss, reason = "CRuby divides floats, too")]
fn fraction(mut units: u128, places: u32) -> Option<(f64, f64)> {
    let (mut twos, mut fives) = (places, places);
    while twos > 0 && units > 0 && units.is_multiple_of(2) {
        (units, twos) = (units / 2, twos - 1);
    }
    while fives > 0 && units > 0 && units.is_multiple_of(5) {
        (units, fives) = (units / 5, fives - 1);
    }
    let denominator = 2_u128.checked_pow(twos)?.checked_mul(5_u128.checked_pow(fives)?)?;
    (denominator < 1 << 62).then_some((units as f64, denominator as f64))
}
