//! Parameters of commands: lists and ranges of values, and the words that contain them.

use anyhow::{Context, bail};
use std::ffi::{OsStr, OsString};

/// One value for each parameter.
pub type ParameterSet = Vec<(String, String)>;

/// The most values of one range: more are taken for a typing error.
const MOST: i128 = 10_000;

/// The cross product of all ranges and lists; one empty set if there are none. `scans` has name, least and greatest
/// value in turn, `steps` a step for each range in order, `lists` name and values in turn.
///
/// # Errors
/// If a range or a list cannot be read.
pub fn parameters(scans: &[String], steps: &[String], lists: &[String]) -> anyhow::Result<Vec<ParameterSet>> {
    let mut sets = vec![ParameterSet::new()];
    for (index, triple) in scans.chunks_exact(3).enumerate() {
        let [name, least, greatest] = triple else { continue };
        let step = steps.get(index).map(String::as_str);
        sets = with_each(&sets, name, &range(least, greatest, step).with_context(|| format!("-P {name}"))?);
    }
    if steps.len() > scans.len() / 3 {
        bail!("-D belongs to -P: write -P VAR MIN MAX -D STEP");
    }
    for pair in lists.chunks_exact(2) {
        let [name, values] = pair else { continue };
        if name.is_empty() || values.is_empty() {
            bail!("-L {name:?} {values:?}: write -L VAR VALUE,VALUE,...");
        }
        sets = with_each(&sets, name, &values.split(',').map(str::to_owned).collect::<Vec<_>>());
    }
    Ok(sets)
}

fn with_each(sets: &[ParameterSet], name: &str, values: &[String]) -> Vec<ParameterSet> {
    let with = |set: &ParameterSet, value: &String| [set.clone(), vec![(name.to_owned(), value.clone())]].concat();
    sets.iter().flat_map(|set| values.iter().map(move |value| with(set, value))).collect()
}

/// From the least to the greatest value, the latter only if the steps reach it. Counted in decimal digits, so that 0.1,
/// 0.2, 0.3 are exact. The first value is kept as it was given.
fn range(least: &str, greatest: &str, step: Option<&str>) -> anyhow::Result<Vec<String>> {
    if step.is_none() && decimals(least) + decimals(greatest) > 0 {
        bail!("a range of fractions needs its step: -D STEP");
    }
    let step_text = step.unwrap_or("1");
    let digits = [least, greatest, step_text].map(decimals).into_iter().max().unwrap_or(0);
    let read = |text: &str| scaled(text, digits).with_context(|| format!("{text:?} is not a number such as 3 or 0.25"));
    let (low, high, step) = (read(least)?, read(greatest)?, read(step_text)?);
    if step <= 0 {
        bail!("the step must be above 0");
    }
    if low > high {
        bail!("the range is empty: {least} is above {greatest}");
    }
    let count = (high - low) / step + 1;
    if count > MOST {
        bail!("the range has {count} values, and {MOST} are the most");
    }
    let shown = decimals(least).max(decimals(step_text));
    let unit = 10i128.pow(u32::try_from(digits - shown)?);
    let rest = (1..count).map(|index| written((low + index * step) / unit, shown));
    Ok(std::iter::once(least.to_owned()).chain(rest).collect())
}

fn decimals(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

/// A decimal number in units of its last digit.
fn scaled(text: &str, digits: usize) -> Option<i128> {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let all_digits = format!("{whole}{fraction}{}", "0".repeat(digits.checked_sub(fraction.len())?));
    let sound = !whole.is_empty() && all_digits.len() <= 30 && all_digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: i128 = sound.then(|| all_digits.parse().ok()).flatten()?;
    Some(if negative { -number } else { number })
}

fn written(number: i128, digits: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let text = format!("{:0>width$}", number.unsigned_abs(), width = digits + 1);
    let (whole, fraction) = text.split_at(text.len() - digits);
    if digits == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A text with `{NAME}` replaced by the value.
pub fn fill(text: &str, set: &ParameterSet) -> String {
    set.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// The same for a word that need not be UTF-8; a word that is not has no parameters.
pub fn fill_word(word: &OsStr, set: &ParameterSet) -> OsString {
    word.to_str().map_or_else(|| word.to_owned(), |text| fill(text, set).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_counted_as_hyperfine_counts_it() {
        // Each is what `hyperfine --show-output -P x MIN MAX [-D STEP] 'echo {x}'` ran.
        for (arguments, values) in [
            (["1", "4", ""], &["1", "2", "3", "4"][..]),
            (["0", "10", "4"], &["0", "4", "8"]),
            (["0.3", "0.7", "0.2"], &["0.3", "0.5", "0.7"]),
            (["1", "2", "0.5"], &["1", "1.5", "2.0"]),
            (["-1", "1", ""], &["-1", "0", "1"]),
            (["7", "7", ""], &["7"]),
        ] {
            let [least, greatest, step] = arguments;
            let step = Some(step).filter(|step| !step.is_empty());
            assert_eq!(range(least, greatest, step).unwrap(), values, "{arguments:?}");
        }
    }

    #[test]
    fn a_range_that_has_no_end_or_no_numbers_is_refused() {
        for [least, greatest, step] in
            [["2", "1", "1"], ["0", "1", "0"], ["0", "1", "-1"], ["0", "1e9", "1"], ["", "1", "1"], ["0", "99999", "1"]]
        {
            assert!(range(least, greatest, Some(step)).is_err(), "{least} {greatest} {step}");
        }
        assert!(range("0.3", "1", None).is_err(), "hyperfine wants a step there too");
    }

    #[test]
    fn every_value_meets_every_other() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let sets = parameters(&words(&["a", "1", "2"]), &[], &words(&["b", "x,y"])).unwrap();
        let texts: Vec<String> = sets.iter().map(|set| fill("{a}{b}", set)).collect();
        assert_eq!(texts, ["1x", "1y", "2x", "2y"]);
        assert!(parameters(&[], &words(&["1"]), &[]).is_err(), "a step without a range");
    }
}
