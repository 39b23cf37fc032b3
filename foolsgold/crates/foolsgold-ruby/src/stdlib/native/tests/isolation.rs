//! Nothing of one request is visible in the next, and nothing occurs twice that must not.

use super::{evaluate, interpreter};
use std::collections::HashSet;

#[test]
fn a_restored_interpreter_has_nothing_of_the_request_before() {
    let mut interpreter = interpreter();
    evaluate(&mut interpreter, "'seen' =~ /(ee)/; $1.nil?");
    evaluate(&mut interpreter, "'x' =~ /y/");
    interpreter.snapshot(None).unwrap();
    let mut uuids = HashSet::new();
    for request in 0..50 {
        assert_eq!(
            evaluate(
                &mut interpreter,
                "[$~, $1, ENV['SECRET'], JSON.respond_to?(:leak), /cached/.instance_variable_get(:@leak)]"
            ),
            "[nil, nil, nil, false, nil]"
        );
        assert!(uuids.insert(evaluate(
            &mut interpreter,
            "[SecureRandom.uuid, SecureRandom.hex, SecureRandom.random_number(1 << 60)]"
        )));
        let hostile = format!(
            "ENV['SECRET'] = 'of {request}'; 'secret' =~ /(s.*)/; def JSON.leak = 1\nRegexp.class_eval {{ def ===(_other) = true }}\nclass String; def gsub(*) = 'broken'; end\n500.times {{ |n| Regexp.compile(\"a#{{n}}\") }}; /secret{request}/ =~ 'secret{request}'; $1"
        );
        evaluate(&mut interpreter, &hostile);
        assert_eq!(evaluate(&mut interpreter, "'abc'.gsub(/b/, 'x')"), "\"broken\"");
        interpreter.restore().unwrap();
        assert_eq!(evaluate(&mut interpreter, "['abc'.gsub(/b/, 'x'), /b/ === 'x']"), "[\"axc\", false]");
        interpreter.restore().unwrap();
    }
}

#[test]
fn two_interpreters_of_one_thread_share_nothing_but_compiled_patterns() {
    let (mut one, mut other) = (interpreter(), interpreter());
    assert_eq!(evaluate(&mut one, "'abc' =~ /b(.)/; ENV['ONE'] = '1'; $1"), "\"c\"");
    assert_eq!(evaluate(&mut other, "[$~, $1, ENV['ONE']]"), "[nil, nil, nil]");
    assert_eq!(evaluate(&mut other, "'abd' =~ /b(.)/; $1"), "\"d\"");
    assert_eq!(evaluate(&mut one, "$1"), "\"c\"");
}

#[test]
fn a_pattern_that_backtracks_for_ever_raises() {
    let mut interpreter = interpreter();
    let snippet = "/\\A(?=(a+)+$)(a|aa)+\\1b/ =~ 'a' * 5000";
    assert_eq!(evaluate(&mut interpreter, snippet), "\"Regexp::TimeoutError: regexp match timeout\"");
    assert_eq!(evaluate(&mut interpreter, "Regexp::TimeoutError.superclass"), "RegexpError");
}

#[test]
fn the_environment_can_be_limited_to_names() {
    let mut interpreter = mruby::Interpreter::new(mruby::Limits::default()).unwrap();
    let only = crate::stdlib::Environment::Only(vec!["PATH".to_owned()]);
    interpreter.enter(|ruby| crate::stdlib::define_with(ruby, &only)).unwrap();
    assert_eq!(evaluate(&mut interpreter, "[ENV.keys, ENV['HOME']]"), "[[\"PATH\"], nil]");
}

#[test]
fn a_hostile_text_ends_in_an_exception_and_no_more() {
    let mut interpreter = interpreter();
    for snippet in [
        "JSON.parse('[' * 100_000)",
        "JSON.parse('[' * 100_000, max_nesting: false)",
        "a = []; 100_000.times { a = [a] }; JSON.generate(a, max_nesting: 0)",
        "Regexp.new('(' * 100_000)",
        "Regexp.new('(?:a{1000}){1000}{1000}')",
        "SecureRandom.hex(1 << 60)",
        "Time.at(0).strftime('%9999999999d' * 10).size > 0 ? raise('long') : 0",
        "'x'.encode('UTF-8', 'nonsense')",
        "MatchData.new[0]",
        "Regexp.allocate =~ 'x'",
    ] {
        let shown = evaluate(&mut interpreter, snippet);
        assert!(shown.contains("Error: ") || shown.contains("long"), "{snippet}: {shown}");
    }
    assert_eq!(evaluate(&mut interpreter, "'still' =~ /l/"), "3");
}

#[test]
fn an_interpreter_that_is_not_restored_forgets_the_last_match() {
    let mut interpreter = interpreter();
    assert_eq!(evaluate(&mut interpreter, "'secret' =~ /s(.)(.)/; [$1, $2, $&, $']"), r#"["e", "c", "sec", "ret"]"#);
    let last_match = interpreter.enter(crate::stdlib::last_match).unwrap();
    interpreter.enter(|ruby| crate::stdlib::forget(ruby, last_match)).unwrap();
    assert_eq!(evaluate(&mut interpreter, "[$~, $1, $2, $&, $', Regexp.last_match]"), "[nil, nil, nil, nil, nil, nil]");
    interpreter.enter(|ruby| crate::stdlib::forget(ruby, last_match)).unwrap();
}
