//! Figures for people: times, sizes and counts with units. JSON never uses these functions.

use std::cell::Cell;

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

/// The unit of all times, if the user wants one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Millionths of a second.
    Microsecond,
    /// Thousandths of a second.
    Millisecond,
    /// Seconds.
    Second,
}

impl TimeUnit {
    /// Its symbol, and how many of it are in a second.
    #[must_use]
    pub const fn sign(self) -> (&'static str, f64) {
        match self {
            TimeUnit::Microsecond => ("µs", 1e6),
            TimeUnit::Millisecond => ("ms", 1e3),
            TimeUnit::Second => ("s", 1.0),
        }
    }
}

thread_local! {
    /// Set by [`with_time_unit`] for one rendering: every rendering formats its times through [`time`].
    static WANTED: Cell<Option<TimeUnit>> = const { Cell::new(None) };
}

/// Renders with all times in one unit; `None`: each in the unit that suits it.
pub fn with_time_unit<T>(unit: Option<TimeUnit>, render: impl FnOnce() -> T) -> T {
    struct Restore(Option<TimeUnit>);
    impl Drop for Restore {
        fn drop(&mut self) {
            WANTED.set(self.0);
        }
    }
    let _restore = Restore(WANTED.replace(unit));
    render()
}

/// A time with three significant digits: `417 ns`, `1.25 ms`, `31.0 s`; in the unit of [`with_time_unit`], if any.
#[must_use]
pub fn time(seconds: f64) -> String {
    let (value, unit) = in_unit(seconds);
    let decimals = match value.abs() {
        0.0 => 0,
        // Reached only in a unit that the user chose.
        v if v < 0.9995 => (2 - v.log10().floor() as i32).clamp(0, 9) as usize,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let decimals = if unit == "ns" { 0 } else { decimals };
    format!("{value:.decimals$} {unit}")
}

/// The same with that many significant digits, in nanoseconds too: the time of one operation, `1.93 ns`.
#[must_use]
pub fn time_to(seconds: f64, digits: i32) -> String {
    let (value, unit) = in_unit(seconds);
    // What rounds up to the next power of ten has a digit more before the point.
    let rounded = value.abs() * (1.0 + 0.5 * 10f64.powi(-digits));
    let before = if rounded > 0.0 { rounded.log10().floor() as i32 + 1 } else { digits };
    let decimals = (digits - before).clamp(0, 12) as usize;
    format!("{value:.decimals$} {unit}")
}

/// A time in the unit that suits it, or that the user chose.
fn in_unit(seconds: f64) -> (f64, &'static str) {
    match seconds.abs() {
        _ if let Some(unit) = WANTED.get() => (seconds * unit.sign().1, unit.sign().0),
        0.0 => (0.0, "s"),
        s if s < 999.5e-9 => (seconds * 1e9, "ns"),
        s if s < 999.5e-6 => (seconds * 1e6, "µs"),
        s if s < 999.5e-3 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    }
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

/// A moment as text, in UTC: `2026-11-21 20:04 UTC`.
#[must_use]
pub fn date(unix_seconds: u64) -> String {
    let (days, seconds) = (unix_seconds / 86_400, unix_seconds % 86_400);
    // Years begin in March here, so that a leap day is the last of its year (Hinnant's `civil_from_days`).
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60)
}

/// A share as a whole percentage; a share above zero is never shown as zero.
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
    fn all_times_of_a_rendering_are_in_the_unit_that_was_asked_for() {
        let times = |unit| with_time_unit(Some(unit), || [0.0, 1.25e-6, 0.000_97, 0.25, 31.0].map(time));
        assert_eq!(times(TimeUnit::Second), ["0 s", "0.00000125 s", "0.000970 s", "0.250 s", "31.0 s"]);
        assert_eq!(times(TimeUnit::Millisecond), ["0 ms", "0.00125 ms", "0.970 ms", "250 ms", "31000 ms"]);
        assert_eq!(times(TimeUnit::Microsecond), ["0 µs", "1.25 µs", "970 µs", "250000 µs", "31000000 µs"]);
        assert_eq!(time(0.25), "250 ms", "only inside");
    }

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
    fn times_of_operations_have_their_digits_in_nanoseconds_too() {
        let texts = [0.0, 1.934e-9, 9.996e-9, 41.72e-9, 0.31e-9, 1.254e-3].map(|seconds| time_to(seconds, 3));
        assert_eq!(texts, ["0 s", "1.93 ns", "10.0 ns", "41.7 ns", "0.310 ns", "1.25 ms"]);
        let texts = [5.401_87e-3, 10.202_1e-3, 75.4242e-3].map(|seconds| time_to(seconds, 5));
        assert_eq!(texts, ["5.4019 ms", "10.202 ms", "75.424 ms"]);
        assert_eq!(with_time_unit(Some(TimeUnit::Second), || time_to(0.0125, 3)), "0.0125 s");
    }

    #[test]
    fn sizes_have_binary_prefixes() {
        assert_eq!(
            [0, 512, 1024, 1_572_864, 1_073_741_824].map(size),
            ["0 B", "512 B", "1.0 KiB", "1.5 MiB", "1.0 GiB"]
        );
    }

    #[test]
    fn dates_are_those_of_date_1() {
        // From `date -u -d @SECONDS '+%F %R UTC'`.
        for (seconds, words) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (1_795_291_458, "2026-11-21 20:04 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(seconds), words);
        }
    }

    #[test]
    fn a_small_share_is_not_called_zero() {
        assert_eq!(
            [percent(0.0, 1.0), percent(0.001, 1.0), percent(1.0, 3.0), percent(1.0, 0.0)],
            ["0 %", "<1 %", "33 %", "0 %"]
        );
    }
}
