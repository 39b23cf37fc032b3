//! Random numbers and formats in an interpreter and in CRuby.
//!
//! `FOOLSGOLD_NUMBERS` sets how many; `cargo xtask numbers` runs a million and writes the result to
//! foolsgold/docs/numbers.md.

use super::interpreter;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use underpin_test_support::{Random, need};

/// The program that both run.
const PROGRAM: &str = include_str!("numbers.rb");
/// Cases in an ordinary test run.
const USUAL: usize = 50_000;
/// Cases per call into the interpreter.
const BATCH: usize = 500;

#[test]
fn random_numbers_and_formats_give_what_they_give_in_cruby() {
    need!("ruby");
    let asked = std::env::var("FOOLSGOLD_NUMBERS").ok().and_then(|count| count.parse().ok());
    let count = asked.unwrap_or(USUAL);
    let mut random = Random::new(0x6001_d5ee);
    let cases: Vec<String> = (0..count).map(|_| case(&mut random)).collect();
    let theirs = cruby(&cases);
    let ours = ours(&cases);
    assert_eq!(theirs.len(), cases.len());
    let mut wrong = Vec::new();
    let mut tally: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for ((case, theirs), ours) in cases.iter().zip(&theirs).zip(&ours) {
        let kind = tally.entry(case.split('\t').next().unwrap_or("")).or_default();
        kind.0 += 1;
        if theirs != ours {
            kind.1 += 1;
            wrong.push(format!("{}\n    CRuby {theirs}\n    ours  {ours}", case.replace('\t', " ")));
        }
    }
    for (kind, (cases, differ)) in tally.iter().filter(|_| asked.is_some()) {
        println!("numbers: | {kind} | {cases} | {differ} |");
    }
    let shown = wrong.iter().take(60).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{shown}", wrong.len());
}

fn cruby(cases: &[String]) -> Vec<String> {
    let program = format!("{PROGRAM}\nSTDIN.each_line(chomp: true) {{ |line| puts answer(line) }}");
    let mut child = Command::new("ruby")
        .args(["-W0", "-e", &program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ruby starts");
    let text = cases.join("\n");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("ruby ends");
    writer.join().expect("the writer ends").expect("ruby reads its input");
    assert!(output.status.success(), "CRuby failed");
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

fn ours(cases: &[String]) -> Vec<String> {
    let mut interpreter = interpreter();
    let defined = interpreter.enter(|ruby| ruby.eval(PROGRAM, "numbers.rb", 1).map(|_| ()));
    defined.unwrap_or_else(|error| panic!("{error}"));
    let mut answers = Vec::with_capacity(cases.len());
    for batch in cases.chunks(BATCH) {
        let text = batch.join("\n");
        let answer = interpreter.enter(|ruby| {
            ruby.gvar_set("$cases", ruby.str(&text)?)?;
            ruby.string(ruby.eval("$cases.split(\"\\n\").map { |line| answer(line) }.join(\"\\n\")", "batch.rb", 1)?)
        });
        answers.extend(answer.unwrap_or_else(|error| panic!("{error}")).lines().map(str::to_owned));
    }
    answers
}

/// Random values of the kinds that a case is made of.
trait Draw {
    fn between(&mut self, low: i64, high: i64) -> i64;
    fn one_in(&mut self, count: u64) -> bool;
    fn of<T: Copy>(&mut self, choices: &[T]) -> T;
}

impl Draw for Random {
    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.below(u64::try_from(high - low + 1).unwrap())).unwrap()
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

/// A float of a kind for which formatting and rounding tend to go wrong.
fn float(random: &mut Random) -> f64 {
    let sign = if random.one_in(3) { -1.0 } else { 1.0 };
    let near = |random: &mut Random, value: f64| {
        let steps = random.between(-2, 2);
        f64::from_bits(value.to_bits().saturating_add_signed(steps))
    };
    sign * match random.below(9) {
        // Any bits at all, including infinities and NaN.
        0 => f64::from_bits(random.next()),
        // Halfway between two decimals, and the neighbours.
        1 => {
            let places = i32::try_from(random.below(8)).unwrap();
            let half = (random.below(1_000_000) as f64 + 0.5) / 10_f64.powi(places);
            near(random, half)
        }
        2 => {
            let power = 10_f64.powi(i32::try_from(random.between(-30, 30)).unwrap());
            near(random, power)
        }
        // Subnormal.
        3 if random.one_in(3) => f64::from_bits(random.next() >> (12 + random.below(50))),
        // Cents, and their sums and products.
        3 | 4 => random.below(10_000_000) as f64 / 100.0,
        5 => random.below(100_000) as f64 / 100.0 * random.of(&[1.19, 0.07, 1.1, 3.0, 0.333]),
        // Integers beyond 2^53, which are no longer dense.
        6 => (random.next() >> random.below(20)) as f64,
        // Between 0 and 1000 with all digits, where most numbers are.
        7 => (random.next() >> 11) as f64 / (1_u64 << 53) as f64 * random.of(&[1.0, 10.0, 1000.0, 1e-5, 1e9]),
        _ => random.of(&[0.0, 0.5, 1.5, 2.5, 0.25, 0.125, 1e15, 1e16, 9.995, 99.5, 1e-4, 5e-324, f64::MAX, 1e22, 1e23]),
    }
}

fn integer(random: &mut Random) -> i64 {
    let value = i64::from_ne_bytes((random.next() >> random.below(64)).to_ne_bytes());
    match random.below(8) {
        0 => random.of(&[0, 1, -1, 7, 8, 9, 10, 255, 256, -256, 15, -15, -16, i64::MAX, i64::MIN + 1]),
        1..=3 => value.wrapping_neg().max(i64::MIN + 1),
        _ => value.max(i64::MIN + 1),
    }
}

/// A number as a field of a case.
fn field(value: f64) -> String {
    let mut text = String::from("f");
    for byte in value.to_be_bytes() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn number(random: &mut Random) -> String {
    if random.one_in(3) { format!("i{}", integer(random)) } else { field(float(random)) }
}

fn case(random: &mut Random) -> String {
    match random.below(20) {
        0..=7 => formatted(random),
        8..=12 => rounded(random),
        13 => format!("to_s\t\t{}", field(float(random))),
        14 => format!("to_i\t\t{}", field(float(random))),
        15 | 16 => read(random),
        17 => divided(random),
        18 => {
            let values: Vec<String> = (0..random.below(12)).map(|_| number(random)).collect();
            let plain = if random.one_in(2) { values } else { vec![field(0.1); values.len()] };
            ["sum\t".to_owned()].into_iter().chain(plain).collect::<Vec<_>>().join("\t")
        }
        _ => compared(random),
    }
}

fn formatted(random: &mut Random) -> String {
    let mut directive = String::from("%");
    let named = random.one_in(8);
    if named {
        directive += "<a>";
    }
    for flag in ["-", "+", " ", "0", "#"] {
        if random.one_in(5) {
            directive += flag;
        }
    }
    let mut values = Vec::new();
    let star = |random: &mut Random| !named && random.one_in(6);
    match random.below(3) {
        0 if star(random) => {
            values.push(format!("i{}", random.between(-20, 20)));
            directive += "*";
        }
        0 => directive += &random.between(1, 30).to_string(),
        _ => {}
    }
    match random.below(5) {
        0 if star(random) => {
            values.push(format!("i{}", random.between(-2, 12)));
            directive += ".*";
        }
        0 => directive += ".",
        1 => {
            let _ = write!(directive, ".{}", random.of(&[17, 20, 30, 60, 340]));
        }
        2 | 3 => {
            let _ = write!(directive, ".{}", random.below(10));
        }
        _ => {}
    }
    let letter =
        random.of(&["f", "f", "f", "e", "g", "E", "G", "a", "A", "d", "i", "u", "x", "X", "o", "b", "B", "s", "p"]);
    directive += letter;
    values.push(number(random));
    let kind = match named {
        true => "named",
        false if random.one_in(2) => "percent",
        false => "format",
    };
    format!("{kind}\t[{directive}]\t{}", values.join("\t"))
}

fn rounded(random: &mut Random) -> String {
    let kind = random.of(&["round", "round", "round", "up", "down", "even", "floor", "ceil", "truncate"]);
    let digits = match random.below(8) {
        0 => random.between(-18, 30),
        // Beyond 300 CRuby's division of large Integers is inexact.
        1 => random.between(1, 300),
        2 => random.between(-330, -25),
        _ => random.between(-4, 6),
    };
    // CRuby's ceil and truncate of Integers beyond 62 bits are off by ten if there is nothing to cut.
    let value = float(random);
    let value = if digits < 0 && value.abs() > 4e18 { value / 4.0 } else { value };
    let value = if random.one_in(3) { format!("i{}", integer(random) / 2) } else { field(value) };
    format!("{kind}\t{digits}\t{value}")
}

/// A text that is a number, or nearly.
fn read(random: &mut Random) -> String {
    let value = float(random);
    let mut text = match random.below(6) {
        0 => format!("{value}"),
        1 => format!("{value:e}"),
        2 => format!("{value:.25e}"),
        3 => format!("{value:.3}"),
        4 => format!("{}", integer(random)),
        // Halfway between two floats, with all digits.
        _ => {
            let any = float(random).abs();
            let low = if any.is_nan() { 1.5 } else { any.clamp(1e-30, 1e30) };
            let high = f64::from_bits(low.to_bits() + 1);
            format!("{:.40e}", low + (high - low) / 2.0)
        }
    };
    // CRuby reads only the first 70 characters if something follows the number.
    text.truncate(50);
    if random.one_in(4) {
        let piece = random.of(&["_", "x", " ", ".", "e", "e5", "-", "+", "__", "E-3", ".5", "0"]);
        let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        text.insert_str(random.of(&places), piece);
    }
    if random.one_in(12) {
        // CRuby rounds longer ones differently.
        let unsigned = random.next() >> (16 + random.below(48));
        text = format!("{}0x{unsigned:x}{}", random.of(&["", "-", "+"]), random.of(&["", "p4", ".8p1", "p-1070", "."]));
    }
    format!("{}\t\tt{text}", random.of(&["to_f", "Float"]))
}

fn divided(random: &mut Random) -> String {
    let (one, other) = (number(random), number(random));
    let both_integers = one.starts_with('i') && other.starts_with('i');
    let kind = if both_integers || random.one_in(2) { "modulo" } else { "divmod" };
    format!("{kind}\t\t{one}\t{other}")
}

/// Two numbers that are close, one of them often an Integer that no float can represent.
fn compared(random: &mut Random) -> String {
    let one = integer(random);
    let other = one.saturating_add(random.between(-2, 2));
    let (one, float) = (format!("i{one}"), field(one as f64));
    match random.below(4) {
        0 => format!("compare\t\t{one}\ti{other}"),
        1 => format!("compare\t\t{one}\t{float}"),
        2 => format!("compare\t\t{float}\ti{other}"),
        _ => format!("compare\t\t{}\t{}", number(random), number(random)),
    }
}
