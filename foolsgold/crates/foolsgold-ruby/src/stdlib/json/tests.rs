//! JSON as CRuby reads and writes it.

use super::{Builder, Error, Limits, float_text, parse, write_float, write_string};
use crate::stdlib::oracle::ruby;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::RefCell;
use underpin_test_support::need;

/// Builds serde's values; a value is its index in the list.
#[derive(Default)]
struct Tree(RefCell<Vec<Value>>);

impl Tree {
    fn add(&self, value: Value) -> Result<usize, Error> {
        let mut values = self.0.borrow_mut();
        values.push(value);
        Ok(values.len() - 1)
    }
}

impl Builder for Tree {
    type Value = usize;
    type Error = Error;
    fn simple(&mut self, value: Option<bool>) -> Result<usize, Error> {
        self.add(json!(value))
    }
    fn integer(&mut self, value: i64) -> Result<usize, Error> {
        self.add(json!(value))
    }
    fn big_integer(&mut self, digits: &str) -> Result<usize, Error> {
        self.add(json!(format!("big {digits}")))
    }
    fn float(&mut self, value: f64) -> Result<usize, Error> {
        self.add(json!(format!("float {}", float_text(value))))
    }
    fn string(&mut self, value: &[u8]) -> Result<usize, Error> {
        self.add(json!(String::from_utf8_lossy(value)))
    }
    fn array(&mut self) -> Result<usize, Error> {
        self.add(json!([]))
    }
    fn push(&mut self, array: usize, value: usize) -> Result<(), Error> {
        let value = json!({ "at": value });
        self.0.borrow_mut()[array].as_array_mut().unwrap().push(value);
        Ok(())
    }
    fn object(&mut self) -> Result<usize, Error> {
        self.add(json!({}))
    }
    fn key(&mut self, key: &[u8]) -> Result<usize, Error> {
        self.string(key)
    }
    fn insert(&mut self, object: usize, key: usize, value: usize) -> Result<(), Error> {
        let mut values = self.0.borrow_mut();
        let key = values[key].as_str().unwrap().to_owned();
        values[object].as_object_mut().unwrap().insert(key, json!({ "at": value }));
        Ok(())
    }
}

impl Tree {
    /// The value at an index, with all indexes in it resolved; objects become lists of pairs, since their order
    /// matters.
    fn whole(&self, at: usize) -> Value {
        let value = self.0.borrow()[at].clone();
        let inner = |value: &Value| self.whole(usize::try_from(value["at"].as_u64().unwrap()).unwrap());
        match value {
            Value::Array(items) => items.iter().map(inner).collect(),
            Value::Object(members) => {
                json!({ "object": members.iter().map(|(key, value)| (key, inner(value))).collect::<std::collections::BTreeMap<_, _>>() })
            }
            other => other,
        }
    }
}

fn ours(text: &str, limits: Limits) -> Value {
    let mut tree = Tree::default();
    match parse(text.as_bytes(), limits, &mut tree) {
        Ok(at) => tree.whole(at),
        Err(Error::TooDeep(depth)) => json!({ "error": format!("nesting of {depth} is too deep") }),
        Err(_) => json!({ "error": "ParserError" }),
    }
}

const READ: &str = r#"
show = lambda do |v|
  case v
  when Integer then v.bit_length < 64 ? v : "big #{v}"
  when Float then "float #{v}"
  when Array then v.map(&show)
  when Hash then { "object" => v.sort.to_h.transform_values(&show) }
  else v
  end
end
INPUT.map do |text|
  begin
    show[JSON.parse(text)]
  rescue JSON::NestingError => e
    { "error" => e.message }
  rescue JSON::ParserError
    { "error" => "ParserError" }
  end
end
"#;

#[test]
fn texts_are_read_or_refused_as_by_cruby() {
    need!("ruby");
    let deep = "[".repeat(101) + &"]".repeat(101);
    let texts = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12",
        "-7",
        "1.5",
        "-1.5e3",
        "1E-2",
        "1e400",
        "123456789012345678901234567890",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "\"\"",
        "\"a\\nb\\u00e9\\/\\\\\\\"\\b\\f\\r\\t\"",
        "\"\\ud83d\\ude00\"",
        "\"\\q\"",
        "\"é日本\"",
        "[]",
        "{}",
        "[1,[2,[3]],{}]",
        "{\"a\":{\"b\":[1,2]},\"c\":null}",
        "{\"a\":1,\"a\":2}",
        " [ 1 , 2 ] ",
        "\n{\"a\" : 1}\t",
        "// c\n1",
        "/* c */[1/* d */]",
        "",
        " ",
        "[1,",
        "[1,]",
        "{\"a\":}",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\":1,}",
        "nul",
        "nil",
        "[1}",
        "\"abc",
        "[01]",
        "NaN",
        "[Infinity]",
        "{}x",
        "\"\\u12\"",
        "[\"a\nb\"]",
        "-",
        "[-]",
        "2.",
        "1e",
        "[1 2]",
        "+1",
        ".5",
        "'a'",
        "\"\\ud83d\"",
        "\"a\u{7f}\"",
        "/",
        "/*",
        "[\"\\",
        &deep,
    ];
    let theirs = ruby(READ, &json!(texts[..]));
    for (text, expected) in texts.iter().zip(theirs.as_array().unwrap()) {
        assert_eq!(ours(text, Limits::default()), *expected, "{text}");
    }
}

#[test]
fn nesting_is_bounded_even_where_a_program_lifts_the_limit() {
    let deep = "[".repeat(100_000);
    assert_eq!(ours(&deep, Limits { nesting: 0, nan: false }), json!({ "error": "nesting of 1001 is too deep" }));
    assert_eq!(ours("[[1]]", Limits { nesting: 1, nan: false }), json!({ "error": "nesting of 2 is too deep" }));
    assert_eq!(ours("[NaN,-Infinity]", Limits { nesting: 9, nan: true }), json!(["float NaN", "float -Infinity"]));
}

#[test]
fn an_error_shows_where_it_is_and_stays_short() {
    let error = |text: &str| parse(text.as_bytes(), Limits::default(), &mut Tree::default()).unwrap_err().to_string();
    assert_eq!(error("[1, x]"), "unexpected token at 'x]'");
    assert!(error(&("x".repeat(10_000))).len() < 100);
}

#[test]
fn strings_and_floats_are_written_as_by_cruby() {
    need!("ruby");
    let texts = ["", "a\"b\\c/d", "\n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}", "é日本😀", "\u{2028}|\u{2029}", "</script>"];
    let write = |safe| {
        let one = |text: &&str| {
            let mut out = Vec::new();
            write_string(text.as_bytes(), safe, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        json!(texts.iter().map(one).collect::<Vec<_>>())
    };
    assert_eq!(ruby("INPUT.map { |t| JSON.generate(t) }", &json!(texts)), write(false));
    // Debian's json calls this option escape_slash; escaping of line separators came with script_safe in json 2.7.
    let slashes = ruby("INPUT.map { |t| JSON.generate(t, escape_slash: true) }", &json!(texts[..]));
    assert_eq!(
        slashes.to_string().replace('\u{2028}', "\\\\u2028").replace('\u{2029}', "\\\\u2029"),
        write(true).to_string()
    );
    assert!(write_string(b"\xff", false, &mut Vec::new()).is_err());
    assert!(write_float(f64::NAN, false, &mut Vec::new()).is_err());

    let floats = [
        0.0,
        -0.0,
        1.0,
        0.1,
        0.1 + 0.2,
        1e15,
        1e16,
        123_456_789_012_345_680.0,
        1e20,
        1e100,
        1.5e-5,
        0.0001,
        1e-4,
        9.999e-5,
        -2.5e-10,
        5e-324,
        1.797_693_134_862_315_7e308,
    ];
    let ours: Vec<_> = floats.iter().map(|value| float_text(*value)).collect();
    assert_eq!(ruby("INPUT.map(&:to_s)", &json!(floats)), json!(ours));
}

proptest! {
    #[test]
    fn what_is_written_comes_back(text: String, value: f64) {
        for safe in [false, true] {
            let mut out = Vec::new();
            write_string(text.as_bytes(), safe, &mut out).unwrap();
            prop_assert_eq!(ours(&String::from_utf8(out).unwrap(), Limits::default()), json!(text));
        }
        prop_assert_eq!(float_text(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
    }

    #[test]
    fn nothing_makes_the_reader_panic(text: Vec<u8>) {
        let _ = parse(&text, Limits::default(), &mut Tree::default());
    }

    #[test]
    fn what_serde_writes_is_read(value in json_value()) {
        let shown = |text: &str| ours(text, Limits::default());
        prop_assert_eq!(shown(&value.to_string()), shown(&serde_json::to_string_pretty(&value).unwrap()));
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
