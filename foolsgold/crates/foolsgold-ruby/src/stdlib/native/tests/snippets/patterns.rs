//! Patterns, and the methods of String that take them.

use super::compare;
use crate::stdlib::native::tests::{evaluate, interpreter};
use crate::stdlib::oracle::ruby;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::json;
use underpin_test_support::need;

#[test]
fn regexp() {
    need!("ruby");
    compare(&[
        "/a(.)c/ =~ 'xabc'",
        "'xabc' =~ /a(.)c/; [$~[0], $1, $2, $~.pre_match, $~.post_match]",
        "'xabc' =~ /a(.)c/; [$&, $`, $', $+]",
        "'éxabc' =~ /a(.)c/",
        "'x' =~ /y/; [$~, $1]",
        "/a/.match('b')",
        "/(?<year>\\d+)-(?<mon>\\d+)/.match('on 2026-11')",
        "m = /(?<year>\\d+)-(?<mon>\\d+)/.match('on 2026-11'); [m[:year], m['mon'], m[0], m[1], m.names, m.captures, m.named_captures, m.begin(:mon), m.offset(1), m.end(0)]",
        "m = /(.)(.)(x)?/.match('éab'); [m.to_a, m.begin(2), m.end(2), m.offset(3), m.pre_match, m.post_match, m.size, m.values_at(0, 2, -1), m.string, m.regexp]",
        "/(.)/.match('abc', 1)[0]",
        "/(.)/.match('abc', -1)[0]",
        "/(.)/.match('abc', 9)",
        "/b/.match('abc') { |m| m[0] * 2 }",
        "/b/.match?('abc')",
        "/b/.match?(nil)",
        "/B/i.match?('abc')",
        "'abc' =~ /b/; /x/.match?('y'); $~[0]",
        "/b/ === 'abc'",
        "/b/ === nil",
        "/b/ === :abc",
        "/b/ === 3",
        "case 'hello 42' when /(\\d+)/ then $1 else 0 end",
        "%w[apple bob cat].grep(/b/)",
        "%w[apple bob cat].grep(/(.)b/) { $1 }",
        "%w[apple bob cat].grep_v(/b/)",
        "Regexp.escape('a.b*c [x] \\n-')",
        "Regexp.union",
        "Regexp.union('a.b', /c/i)",
        "Regexp.union(['x', 'y'])",
        "Regexp.union(/z/)",
        "Regexp.new('a/b').inspect",
        "Regexp.new('a b', Regexp::EXTENDED | Regexp::IGNORECASE).to_s",
        "Regexp.new('a', true).options",
        "Regexp.new(/x/m).options",
        "/a/mix.options",
        "/a/mix.source",
        "/#{'a.b'}c/.source",
        "/x#{/y/i}/.source",
        "/a/ == /a/",
        "/a/ == /a/i",
        "/a/.eql?(/a/)",
        "/a/.hash == /a/.hash",
        "{ /a/ => 1 }[/a/]",
        "/(?<a>.)(?<b>.)/.names",
        "/(?<a>.)(?<a>.)/.named_captures",
        "Regexp.new('(')",
        "Regexp.new('[b-a]')",
        "Regexp.new(3)",
        "/a/ =~ 3",
        "'ab' =~ 'a'",
        "'ab'.match('b')[0]",
        "'ab'.match('(')",
        "'ab'.match?('b')",
        "'ab'.match(/x/)",
        "Regexp.last_match",
        "'abc'.match(/b(.)/); [Regexp.last_match(0), Regexp.last_match(1)]",
        ":abc =~ /c/",
        ":abc.match?(/c/)",
        "nil =~ /x/",
        "/\\A[[:space:]]*\\z/.match?(\" \\n\")",
        "/日(.)/.match('日本語').begin(1)",
        "/x/.match('x').inspect",
        "/(x)(y)?/.match('x').inspect",
        "/(x)/.match('x') == /(x)/.match('x')",
        "case { a: 1 } when Hash then 'h' end",
        "if /(?<n>\\d+)/ =~ 'a12' then $~[:n] end",
        "'foo.bar'.match(/(?<a>\\w+)\\.(?<b>\\w+)/)[:c]",
        "'foo'.match(/o/)[5]",
        "'foo'.match(/o/).begin(5)",
        "/a/.frozen?",
    ]);
}

#[test]
fn strings_with_patterns() {
    need!("ruby");
    compare(&[
        "'hello world'.scan(/o/)",
        "'hello world'.scan(/(l)(.)/)",
        "'hello'.scan('l')",
        "out = []; 'a1b2'.scan(/([a-z])(\\d)/) { |a, b| out << [a, b, $~[0]] }; out",
        "'été'.scan(/./)",
        "'ab'.scan(//)",
        "'hello'.sub('l', 'L')",
        "'hello'.sub(/l/) { |m| m.upcase }",
        "'hello'.gsub(/l/, 'L')",
        "'hello'.gsub('l') { 'L' }",
        "'hello'.gsub(/[el]/, 'e' => '3', 'l' => 1)",
        "'hello'.gsub(/(l)(o)?/, '<\\\\1|\\\\2>')",
        "'hello'.gsub(/(?<x>l)/, '[\\\\k<x>]')",
        "'hello'.gsub(/l/, '\\\\0\\\\0')",
        "'hello'.gsub(/l/, '\\\\\\\\')",
        "'hello'.gsub(/x/, 'y')",
        "'hello'.gsub(/(.)/) { $1.ord.to_s + ' ' }",
        "'hello'.gsub(//, '-')",
        "'hello'.gsub('', '-')",
        "'été'.gsub(/t/, 'é')",
        "'a.b.c'.gsub('.', '-')",
        "'a+b'.sub('+', '\\\\0\\\\0')",
        "'hello'.gsub(/l/).with_index.map { |m, i| \"#{m}#{i}\" }",
        "s = +'hello'; [s.sub!(/l/, 'L'), s]",
        "s = +'hello'; [s.gsub!(/l/, 'L'), s]",
        "s = +'hello'; [s.gsub!(/x/, 'L'), s]",
        "'hello'.gsub(/l/) { break 'out' }",
        "'hello'.gsub(/l/) { raise ArgumentError, 'in a block' }",
        "begin; 'hello'.freeze.gsub!(/l/, 'x'); rescue FrozenError => e; e.class; end",
        "'hello'.gsub",
        "'hello'.gsub(3, 'x')",
        "'a,b;c'.split(/[,;]/)",
        "'a1b2c3'.split(/(\\d)/)",
        "'abc'.split(//)",
        "'abc'.split('')",
        "'été'.split('')",
        "' a  b c '.split",
        "' a  b c '.split(' ')",
        "' a  b c '.split(/ /)",
        "'a,b,c'.split(',')",
        "'a,b,c'.split(',', 2)",
        "'a,b,c,,'.split(',')",
        "'a,b,c,,'.split(',', -1)",
        "'a,b,c'.split(/,/, 2)",
        "'a,b,c,,'.split(/,/, -1)",
        "',a'.split(/,/)",
        "''.split(/,/)",
        "''.split(',')",
        "'abc'.split(/b/, 1)",
        "'ab'.split(//, -1)",
        "'a b'.split(/\\s*/)",
        "'aXbXc'.split('X') { |x| x }",
        "'a  b'.split('  ')",
        "'hello'[/l+/]",
        "'hello'[/(h)(e)/, 2]",
        "'hello'[/(?<v>[aeiou])/, 'v']",
        "'hello'[/x/]",
        "'hello'[1]",
        "'hello'[1, 3]",
        "'hello'[1..]",
        "'hello'['ell']",
        "'hello'.slice(/l+/)",
        "'hello'.slice(1, 2)",
        "s = +'hello'; s[/l+/] = 'L'; s",
        "s = +'hello'; s[/(h)(e)/, 2] = 'E'; s",
        "s = +'hello'; s[/x/] = 'L'",
        "s = +'hello'; s[0] = 'J'; s",
        "s = +'hello'; s[1, 2] = ''; s",
        "s = +'hello'; [s.slice!(/l+/), s]",
        "s = +'hello'; [s.slice!(0), s]",
        "'hello'.index(/l/)",
        "'hello'.index(/l/, 3)",
        "'hello'.index('l', -2)",
        "'hello'.index(/x/)",
        "'étéa'.index(/a/)",
        "'hello'.rindex(/l/)",
        "'hello'.rindex(/l/, 2)",
        "'hello'.rindex('l')",
        "'hello'.rindex(/l+/)",
        "'hello'.start_with?(/h(.)/)",
        "'hello'.start_with?(/e/)",
        "'hello'.start_with?('he', 'x')",
        "'hello'.start_with?('x')",
        "'hello'.start_with?(3)",
        "'hello'.partition(/l+/)",
        "'hello'.partition('l')",
        "'hello'.partition(/x/)",
        "'hello'.rpartition(/l/)",
        "'hello'.rpartition('l')",
        "'hello'.rpartition(/x/)",
        "'a-b_c'.tr('-_', '  ')",
        "\"a\\nb\\n\".each_line.to_a",
        "'Hello World'.gsub(/[A-Z]/) { |c| '_' + c.downcase }",
        "'hello_world'.gsub(/_(.)/) { $1.upcase }",
        "'2026-11-21'.match(/(\\d+)-(\\d+)-(\\d+)/).captures.map(&:to_i)",
        "'a=1&b=2'.split('&').map { |p| p.split('=', 2) }",
        "'%41%42'.gsub(/%(\\h\\h)/) { $1.hex.chr }",
        "'  lead'.sub(/\\A\\s+/, '')",
        "\"a\\n\".gsub(/^/, '> ')",
        "\"a\\nb\\n\".gsub(/^/, '> ')",
        "\"a\\nb\".gsub(/$/, '!')",
        "'1234567'.gsub(/(\\d)(?=(\\d{3})+$)/, '\\\\1,')",
        "'CamelCaseString'.gsub(/([a-z])([A-Z])/, '\\\\1_\\\\2').downcase",
    ]);
}

/// Methods of String over random patterns and texts.
#[test]
fn random_patterns_on_random_texts_do_what_they_do_in_cruby() {
    need!("ruby");
    let fragment = proptest::sample::select(vec![
        "a", "b", "é", ".", "^", "$", "\\w", "\\s", "[ab]", "[^a]", "(a|b)", "(a)?", "(?=a)", "a*", "b+", "(?i:A)",
        "b{2}", "\\A", "\\z", "|", ",", "\\b",
    ]);
    let pattern = proptest::collection::vec(fragment, 1..4).prop_map(|fragments| fragments.concat());
    let text = proptest::collection::vec(proptest::sample::select(vec!["a", "b", "é", " ", "\\n", ",", "A"]), 0..8)
        .prop_map(|parts| parts.concat());
    let method = proptest::sample::select(vec![
        "scan(re)",
        "split(re)",
        "split(re, -1)",
        "split(re, 2)",
        "gsub(re, '<\\\\0>')",
        "gsub(re) { |m| m + '|' }",
        "sub(re, '-')",
        "gsub(re, '')",
        "index(re)",
        "index(re, 2)",
        "index(re, -3)",
        "rindex(re)",
        "rindex(re, 2)",
        "partition(re)",
        "rpartition(re)",
        "match(re).inspect",
        "slice(re)",
        "start_with?(re)",
        "=~ re",
        "match?(re)",
        "gsub(re).to_a",
    ]);
    let mut runner = TestRunner::deterministic();
    let snippets: Vec<String> = (0..2000)
        .map(|_| (pattern.clone(), text.clone(), method.clone()).new_tree(&mut runner).unwrap().current())
        .map(|(pattern, text, method)| {
            let call = if method.starts_with('=') { format!(" {method}") } else { format!(".{method}") };
            // CRuby leaves a different last match after these.
            let last = if ["split", "match?", "index", "rindex"].iter().any(|name| method.starts_with(name)) {
                "0"
            } else {
                "$~.to_a"
            };
            format!("re = Regexp.new('{}'); [\"{text}\"{call}, {last}]", pattern.replace("\\\\", "\\"))
        })
        .collect();
    compare(&snippets.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a_scanner_walks_over_a_text() {
    need!("ruby");
    let head = "require 'strscan' rescue nil\ns = StringScanner.new('test string 42')\n";
    let snippets = [
        "[s.scan(/\\w+/), s.scan(/\\w+/), s.scan(/\\s+/), s.pos, s.rest, s.eos?]",
        "[s.check(/\\w+/), s.pos, s.match?(/\\w+/), s.skip(/\\w+/), s.pos]",
        "[s.scan_until(/str/), s.pos, s.pre_match, s.matched, s.post_match]",
        "[s.skip_until(/ /), s.getch, s.peek(3), s.bol?]",
        "[s.exist?(/s/), s.check_until(/r/), s.pos]",
        "s.scan(/(?<a>t)(e)/); [s[0], s[:a], s.matched_size]",
        "s.scan(/test/); s.unscan; s.pos",
        "s.terminate; [s.eos?, s.rest]",
        "s.pos = 5; s.scan(/\\Astr/)",
    ]
    .map(|snippet| format!("{head}{snippet}"));
    // The interpreter runs it without `require`, which belongs to the runtime.
    let mut interpreter = interpreter();
    let theirs = ruby("INPUT.map { |snippet| eval(snippet).inspect }", &json!(snippets));
    for (snippet, expected) in snippets.iter().zip(theirs.as_array().unwrap()) {
        let ours = evaluate(&mut interpreter, &snippet.replace("require 'strscan' rescue nil\n", ""));
        assert_eq!(json!(ours), *expected, "{snippet}");
    }
}
