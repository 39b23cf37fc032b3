//! All matches, compared with CRuby's on the same patterns and texts.

use super::{Options, Pattern, SearchError, Spans};
use crate::stdlib::oracle::ruby;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use underpin_test_support::need;

/// Offsets of all groups of all matches, or the error, from CRuby.
const ALL_MATCHES: &str = r#"
INPUT.map do |source, options, text|
  begin
    re = Regexp.new(source, options)
    found = []
    text.scan(re) do
      m = Regexp.last_match
      found << (0...m.size).map { |i| m.begin(i) && [text[0...m.begin(i)].bytesize, text[0...m.end(i)].bytesize] }
    end
    [found, re.names.map { |n| [n, re.named_captures[n]] }]
  rescue RegexpError => e
    e.message
  end
end
"#;

fn ours(source: &str, options: u8, text: &str) -> Value {
    let pattern = match Pattern::get(source.as_bytes(), Options(options)) {
        Ok(pattern) => pattern,
        Err(error) => return json!(error.to_string()),
    };
    let mut found: Vec<Spans> = Vec::new();
    let result = pattern.each(text.as_bytes(), |spans| {
        found.push(spans);
        Ok::<_, SearchError>(true)
    });
    match result {
        Ok(()) => json!([found, pattern.names()]),
        Err(error) => json!(error.to_string()),
    }
}

fn compare(cases: &[(String, u8, String)]) {
    let theirs = ruby(ALL_MATCHES, &json!(cases));
    let mut wrong = Vec::new();
    for ((source, options, text), expected) in cases.iter().zip(theirs.as_array().expect("a list")) {
        let ours = ours(source, *options, text);
        if ours != *expected {
            wrong.push(format!("/{source}/{options} on {text:?}\n    CRuby {expected}\n    ours  {ours}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn table(rows: &[(&str, u8, &str)]) -> Vec<(String, u8, String)> {
    rows.iter().map(|(source, options, text)| ((*source).to_owned(), *options, (*text).to_owned())).collect()
}

#[test]
fn patterns_find_what_cruby_finds() {
    need!("ruby");
    compare(&table(&[
        ("", 0, "aé"),
        ("a", 0, "banana"),
        ("A", 1, "banana"),
        ("^", 0, "a\nb\n"),
        ("$", 0, "a\nb\n"),
        ("^b", 0, "a\nb\nab"),
        ("^ *b", 0, "a\n  b\n"),
        ("a$", 0, "a\nba"),
        (r"\Aa", 0, "a\na"),
        (r"a\Z", 0, "a\na\n"),
        (r"a\Z", 0, "a\na\n\n"),
        (r"a\z", 0, "a\na"),
        ("a.c", 0, "a\nc abc"),
        ("a.c", 4, "a\nc abc"),
        ("(?m:a.c)", 0, "a\nc abc"),
        ("(?-m:a.c)", 4, "a\nc abc"),
        (r"\w+", 0, "héllo wörld_1"),
        (r"\W+", 0, "héllo wörld_1"),
        (r"[\w]+", 0, "héllo"),
        (r"[\W]+", 0, "héllo é"),
        (r"[^\W]+", 0, "héllo é"),
        (r"\d+", 0, "12 ٣٤"),
        (r"[[:digit:]]+", 0, "12 ٣٤"),
        (r"\s+", 0, "a \t\u{a0}\n\u{b}b"),
        (r"[[:space:]]+", 0, "a \t\u{a0}\n\u{b}b\u{2003}"),
        (r"[[:alpha:]]+", 0, "héllo_日本"),
        (r"[^[:alpha:]]+", 0, "héllo_日本!"),
        (r"[[:^alpha:]]+", 0, "héllo_日本!"),
        (r"[[:punct:]]+", 0, "a!$+<=>^`|~#%&'()*,-./:;?@[\\]_{}"),
        (r"[[:upper:][:digit:]]+", 0, "ABcÉ12"),
        (r"[[:lower:]]+", 0, "ABcéß"),
        (r"[[:word:]]+", 0, "a_é日1-"),
        (r"[[:cntrl:]]", 0, "a\u{1}b\u{7f}"),
        (r"[[:graph:]]+", 0, "a b\u{e9}\n"),
        (r"[[:print:]]+", 0, "a b\u{e9}\n"),
        (r"[[:blank:]]+", 0, "a \t\n"),
        (r"[[:xdigit:]]+", 0, "12fgAF"),
        (r"[[:alnum:]]+", 0, "a1é-"),
        (r"\h+", 0, "12fgAF"),
        (r"\H+", 0, "12fgAF"),
        (r"[\h]+", 0, "12fgAF"),
        (r"\p{Alpha}+", 0, "aé1"),
        (r"\p{^Alpha}+", 0, "aé1"),
        (r"\P{Alpha}+", 0, "aé1"),
        (r"\p{Lu}", 0, "aÉB"),
        (r"\p{Hiragana}+", 0, "あいア"),
        (r"\p{Greek}+", 0, "abγδ"),
        (r"\bfoo\b", 0, "foo fooé foo"),
        (r"\Boo", 0, "foo oo"),
        (r"(a)(b)?", 0, "aab"),
        (r"(?<x>a)(?<y>b)?", 0, "aab"),
        (r"(?<x>a)(b)", 0, "ab"),
        (r"(?'x'a)", 0, "a"),
        (r"(?<x>a)|(?<x>b)", 0, "ab"),
        (r"(a)\1", 0, "aab"),
        (r"(?<q>['\x22]).*?\k<q>", 0, "'a' \"b\""),
        (r"(?i)a(?-i)b", 0, "Ab AB"),
        (r"a(?i)b|c", 0, "aB aC ac"),
        (r"(?:a(?i)b|c)d", 0, "aBd aCd acD"),
        (r"(?x) a b # c", 0, "ab"),
        (r"a b # comment", 2, "ab"),
        ("a [ ] b\n+ # c", 2, "a bbb"),
        (r"a\ b\#", 2, "a b#"),
        (r"\1 2", 2, "12"),
        (r"(a)\1 2", 2, "aa2"),
        (r"a++b", 0, "aaab"),
        (r"a++a", 0, "aaab"),
        (r"a?+a", 0, "a"),
        (r"(?>a+)b", 0, "aab"),
        (r"a{2}", 0, "aaaaa"),
        (r"a{2}?", 0, "aaaaa"),
        (r"a{2,}?", 0, "aaaaa"),
        (r"a{,2}", 0, "aaa"),
        (r"a{1,2}+", 0, "aaaaa"),
        (r"a{2}{2}", 0, "aaaaa"),
        (r"a{", 0, "a{"),
        (r"a{x}", 0, "a{x}"),
        (r"a{,}", 0, "a{,}"),
        (r"(?=a)", 0, "aba"),
        (r"(?!a)\w", 0, "ab"),
        (r"(?<=a)b", 0, "abb"),
        (r"(?<!a)b", 0, "abb"),
        (r"(?<=a|bc)d", 0, "ad bcd"),
        (r"[a-c&&b-d]+", 0, "abcd"),
        (r"[a-z&&[^aeiou]]+", 0, "hello"),
        (r"[a-]", 0, "a-"),
        (r"[-a]", 0, "a-"),
        (r"[a\-c]", 0, "abc-"),
        (r"[a--]", 0, "a-"),
        (r"[~~]", 0, "~"),
        (r"[\]]", 0, "]"),
        (r"[]a]", 0, "]a"),
        (r"[^]a]", 0, "]ab"),
        (r"[\b]", 0, "\u{8}"),
        (r"[\n\t]", 0, "\n\t"),
        (r"[.*+?]", 0, "a.*+?"),
        (r"\x41\x20\u0042\u{43}", 0, "A BC"),
        (r"\u{41 42}", 0, "AB"),
        (r"\xe3\x81\x82", 0, "あ"),
        (r"\x4", 0, "\u{4}"),
        (r"\101\0", 0, "A\0"),
        (r"\cA\C-a", 0, "\u{1}\u{1}"),
        (r"\e\a\f\v", 0, "\u{1b}\u{7}\u{c}\u{b}"),
        (r"\y\-\/\q", 0, "y-/q"),
        (r"\<b\>", 0, "<b>"),
        (r"\R", 0, "a\r\nb\nc\rd\u{2028}"),
        (r"\X", 0, "ae\u{301}\r\n"),
        (r"\Ga", 0, "aab a"),
        (r"a\Kb", 0, "ab"),
        (r"(?<n>\((?:[^()]|\g<n>)*\))", 0, "(a(b)c)(d"),
        (r"(a)?(?(1)b|c)", 0, "ab c"),
        (r"(?#comment)a", 0, "a"),
        (r"é+", 1, "éÉ"),
        ("日本", 0, "日本語"),
        (r"(?u)\w+", 0, "é1"),
        (r"(?a)[[:alpha:]]+", 0, "aé"),
        (r"^*a", 0, "a"),
        (r"(?:)+a", 0, "a"),
        (r"()*", 0, "a"),
        (r"x*", 0, "baac"),
        (r"a*", 0, "baac"),
        (r"a|b|", 0, "ac"),
        (r"|a", 0, "a"),
        (r"a.*?c", 0, "abcabc"),
        (r"(a|ab)(c|bcd)(d*)", 0, "abcd"),
        (r"(?:(a)|b)*", 0, "ab"),
        (r"/", 0, "a/b"),
        (r"\A[^@\s]+@([^@\s]+\.)+[^@\s]+\z", 0, "someone@example.co.uk"),
        (r"\A(?<y>\d{4})-(?<m>\d\d)-(?<d>\d\d)\z", 0, "2026-11-21"),
        (r"%([0-9a-fA-F]{2})", 0, "a%20b%zz%41"),
        (r"[^ a-zA-Z0-9_.\-~]", 0, "a b&c=é"),
        (r#"(?:"[^"]*"|[^,;\s])+"#, 0, "text/html, a=\"b, c\"; q=1"),
        (r"(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)\10", 0, "abcdefghijj"),
    ]));
}

#[test]
fn malformed_patterns_are_refused_as_in_cruby() {
    need!("ruby");
    compare(&table(&[
        ("(a", 0, ""),
        ("a)", 0, ""),
        ("[a", 0, ""),
        ("[b-a]", 0, ""),
        ("*a", 0, ""),
        ("+", 0, ""),
        ("?", 0, ""),
        ("a|*", 0, ""),
        ("(?q)", 0, ""),
        ("(?<>a)", 0, ""),
        ("(?<1a>a)", 0, ""),
        ("(?<a", 0, ""),
        (r"\xff", 0, ""),
        (r"\p{Nonsense}", 0, ""),
        ("a{100001}", 0, ""),
        (r"(?<a>b)\1", 0, ""),
        ("[]", 0, ""),
    ]));
}

/// Random combinations of fragments: what CRuby accepts and matches must be accepted and matched here.
#[test]
fn random_patterns_find_what_cruby_finds() {
    need!("ruby");
    let fragment = proptest::sample::select(vec![
        "a",
        "b",
        "é",
        ".",
        "^",
        "$",
        r"\w",
        r"\W",
        r"\d",
        r"\s",
        "[ab]",
        "[^a]",
        r"\b",
        "(a|b)",
        "(?:ab)",
        "(a)?",
        "(?=a)",
        "(?!b)",
        "(?<=a)",
        "a*",
        "b+",
        "a?",
        "[[:alpha:]]+",
        ".*?",
        "(?i:A)",
        "a{1,2}",
        "b{2}",
        r"\A",
        r"\z",
        "(?>a|ab)",
        "|",
    ]);
    let pattern = proptest::collection::vec(fragment, 1..5).prop_map(|fragments| fragments.concat());
    let text = proptest::collection::vec(proptest::sample::select(vec!["a", "b", "é", " ", "\n", "1", "A"]), 0..8)
        .prop_map(|parts| parts.concat());
    let case = (pattern, proptest::sample::select(vec![0u8, 1, 4]), text);
    let mut runner = TestRunner::deterministic();
    let cases: Vec<_> = (0..3000).map(|_| case.new_tree(&mut runner).expect("a case").current()).collect();
    compare(&cases);
}

#[test]
fn a_pattern_that_backtracks_for_ever_is_stopped() {
    let pattern = Pattern::get(br"\A(?=(a+)+$)(a|aa)+\1b", Options(0)).unwrap();
    let text = "a".repeat(5000);
    assert_eq!(pattern.search(text.as_bytes(), 0), Err(SearchError::Timeout));
    let linear = Pattern::get(br"\A(a+)+b\z", Options(0)).unwrap();
    assert_eq!(linear.search(text.as_bytes(), 0), Ok(None));
}

#[test]
fn a_pattern_that_would_take_all_memory_is_refused() {
    assert!(Pattern::get(b"(?:(?:a{1000}){1000}){1000}", Options(0)).is_err());
    assert!(Pattern::get("(".repeat(100_000).as_bytes(), Options(0)).is_err());
    assert!(Pattern::get("[".repeat(60_000).as_bytes(), Options(0)).is_err());
}

#[test]
fn a_text_that_is_not_utf8_is_searched_byte_by_byte() {
    let spans =
        |source: &str, text: &[u8]| Pattern::get(source.as_bytes(), Options(0)).unwrap().search(text, 0).unwrap();
    assert_eq!(spans("a.c", b"\xffa\xfec"), Some(vec![Some((1, 4))]));
    assert_eq!(spans(r"[^a]+", b"a\xff\xfea"), Some(vec![Some((1, 3))]));
    assert_eq!(spans("é", "\u{e9}".as_bytes()), Some(vec![Some((0, 2))]));
    assert_eq!(spans("é", b"\xff\xc3\xa9"), Some(vec![Some((1, 3))]));
}

#[test]
fn searches_start_at_an_offset_and_go_backwards_too() {
    let pattern = Pattern::get(b"^a", Options(0)).unwrap();
    assert_eq!(pattern.search(b"aa\na", 1), Ok(Some(vec![Some((3, 4))])));
    assert_eq!(pattern.search(b"a", 2), Ok(None));
    let pattern = Pattern::get(b"a+", Options(0)).unwrap();
    assert_eq!(pattern.search_back(b"aabaa", 5), Ok(Some(vec![Some((4, 5))])));
    assert_eq!(pattern.search_back(b"aabaa", 2), Ok(Some(vec![Some((1, 2))])));
    assert_eq!(pattern.search_at(b"baa", 0), Ok(None));
    assert_eq!(pattern.search_at(b"baa", 1), Ok(Some(vec![Some((1, 3))])));
}

#[test]
fn the_cache_forgets_and_still_answers() {
    for n in 0..1500 {
        let source = format!("a{n}b");
        assert!(Pattern::get(source.as_bytes(), Options(0)).unwrap().is_match(source.as_bytes(), 0).unwrap());
    }
}

#[test]
fn escaping_and_templates_are_those_of_cruby() {
    need!("ruby");
    let texts = ["a.b*c", "\n\t\r\u{c}\u{b} é-#&~{}", "/[x]/", ""];
    let escaped: Vec<String> =
        texts.iter().map(|text| String::from_utf8(super::escape(text.as_bytes())).unwrap()).collect();
    assert_eq!(ruby("INPUT.map { |t| Regexp.escape(t) }", &json!(texts)), json!(escaped));

    let templates = [r"<\0>", r"\&\\", r"\1-\2-\9", r"\k<x>", r"\`|\'", r"\z\", r"\k", r"\k<", r"\k<none>", "plain"];
    let pattern = Pattern::get(b"(?<x>b)(?<y>c)?", Options(0)).unwrap();
    let ours: Vec<String> = templates
        .iter()
        .map(|template| {
            let spans = pattern.search(b"abd", 0).unwrap().unwrap();
            let mut out = b"a".to_vec();
            match super::template(template.as_bytes(), b"abd", &spans, pattern.names(), &mut out) {
                Ok(()) => String::from_utf8(out).unwrap() + "d",
                Err(error) => error.to_string(),
            }
        })
        .collect();
    let theirs = ruby("INPUT.map { |t| 'abd'.sub(/(?<x>b)(?<y>c)?/, t) rescue $!.message }", &json!(templates));
    assert_eq!(theirs, json!(ours));
}

#[test]
fn a_pattern_inside_of_another_keeps_its_options() {
    need!("ruby");
    let cases = [("a/b", 0), ("a", 1), ("a b", 7), (r"a\/b", 2)];
    let ours: Vec<String> = cases
        .iter()
        .map(|(source, options)| {
            String::from_utf8(super::source_of_union(source.as_bytes(), Options(*options))).unwrap()
        })
        .collect();
    assert_eq!(ruby("INPUT.map { |s, o| Regexp.new(s, o).to_s }", &json!(cases)), json!(ours));
}
