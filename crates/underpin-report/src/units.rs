//! Figures for people: times, sizes and counts with units. JSON never goes through here.

/// A figure with a separator between thousands: `12,345`.
#[must_use]
pub fn thousands(figure: u64) -> String {
    let digits = figure.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 object`, `2 objects`: a figure with its noun.
#[must_use]
pub fn count(figure: usize, one: &str, many: &str) -> String {
    if figure == 1 { format!("1 {one}") } else { format!("{} {many}", thousands(figure as u64)) }
}

/// `1 fails`, `2 fail`.
#[must_use]
pub fn fails(figure: u64) -> String {
    if figure == 1 { "1 fails".to_owned() } else { format!("{} fail", thousands(figure)) }
}

/// A time in three significant digits: `417 ns`, `1.25 ms`, `31.0 s`.
#[must_use]
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        0.0 => return "0 s".to_owned(),
        s if s < 999.5e-9 => (seconds * 1e9, "ns"),
        s if s < 999.5e-6 => (seconds * 1e6, "µs"),
        s if s < 999.5e-3 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    let decimals = match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let decimals = if unit == "ns" { 0 } else { decimals };
    format!("{value:.decimals$} {unit}")
}

/// A size with a binary prefix: `512 B`, `1.5 MiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 99.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// A share as a whole percentage; what is not zero is not called zero.
#[must_use]
pub fn percent(part: f64, whole: f64) -> String {
    if whole <= 0.0 || part <= 0.0 {
        return "0 %".to_owned();
    }
    let share = part / whole * 100.0;
    if share < 1.0 { "<1 %".to_owned() } else { format!("{share:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_separators() {
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0, 999, 1000, 1_234_567].map(thousands).as_slice());
    }

    #[test]
    fn times_have_three_digits_and_never_four() {
        let texts = [0.0, 4.17e-7, 9.996e-7, 1.254e-3, 9.999e-3, 0.0999, 0.9999, 31.04].map(time);
        assert_eq!(texts, ["0 s", "417 ns", "1.00 µs", "1.25 ms", "10.0 ms", "99.9 ms", "1.00 s", "31.0 s"]);
    }

    #[test]
    fn sizes_have_binary_prefixes() {
        assert_eq!(
            [0, 512, 1024, 1_572_864, 1_073_741_824].map(size),
            ["0 B", "512 B", "1.0 KiB", "1.5 MiB", "1.0 GiB"]
        );
    }

    #[test]
    fn a_small_share_is_not_called_zero() {
        assert_eq!(
            [percent(0.0, 1.0), percent(0.001, 1.0), percent(1.0, 3.0), percent(1.0, 0.0)],
            ["0 %", "<1 %", "33 %", "0 %"]
        );
    }
}
