//! Core classes: encodings, conversions, small gaps.

use super::compare;
use crate::stdlib::native::tests::{evaluate, interpreter};
use underpin_test_support::need;

#[test]
fn encodings() {
    need!("ruby");
    compare(&[
        "'é'.encoding.to_s",
        "'é'.encoding == Encoding::UTF_8",
        "'é'.valid_encoding?",
        "\"\\xff\".valid_encoding?",
        "\"a\\xffb\".scrub",
        "\"a\\xffb\".scrub('?')",
        "\"a\\xffb\".scrub { |bytes| '<' + bytes.unpack1('H*') + '>' }",
        "'é'.encode('ISO-8859-1').bytes",
        "'é日'.encode('ISO-8859-1', undef: :replace).bytes",
        "'é'.encode('US-ASCII', undef: :replace, replace: '!')",
        "'日'.encode('ISO-8859-1')",
        "begin; \"\\xff\".encode('UTF-16LE'); rescue Encoding::InvalidByteSequenceError => e; e.class; end",
        "'é'.encode('UTF-16BE').bytes",
        "\"caf\\xe9\".encode('UTF-8', 'ISO-8859-1')",
        "\"caf\\xe9\".force_encoding('ISO-8859-1').is_a?(String)",
        "'x'.force_encoding('nonsense')",
        "Encoding::UTF_8.name",
        "Encoding.default_external.name",
        "Encoding.find('utf-8').name",
        "'<a>'.encode(xml: :text)",
        "'<\"a\">'.encode(xml: :attr)",
        "'abc'.unpack1('H*')",
        "'é'.b.bytes",
        "'é'.bytesize",
        "'abc'.ascii_only?",
        "'é'.ascii_only?",
    ]);
}

#[test]
fn floats_are_shown_with_the_fewest_digits() {
    need!("ruby");
    compare(&[
        "0.1 + 0.2",
        "1e20",
        "1e-5",
        "100.0",
        "1.0 / 3",
        "-0.0",
        "1e15",
        "\"#{0.5}\"",
        "0.1.to_s",
        "Float::INFINITY",
        "[1.5]",
    ]);
}

#[test]
fn parts_are_loaded_when_they_are_required_or_missed() {
    let mut interpreter = interpreter();
    assert_eq!(
        evaluate(&mut interpreter, "[Object.const_defined?(:JSON), Object.const_defined?(:URI)]"),
        "[false, false]"
    );
    assert_eq!(
        evaluate(
            &mut interpreter,
            "[FoolsGold::Native.require_feature('json'), FoolsGold::Native.require_feature('json.rb')]"
        ),
        "[true, false]"
    );
    assert_eq!(
        evaluate(
            &mut interpreter,
            "[FoolsGold::Native.require_feature('time'), FoolsGold::Native.require_feature('none')]"
        ),
        "[false, nil]"
    );
    assert_eq!(evaluate(&mut interpreter, "module Inside; def self.x = URI.parse('/a').path; end; Inside.x"), "\"/a\"");
    assert_eq!(evaluate(&mut interpreter, "Nowhere"), "\"NameError: uninitialized constant Nowhere\"");
    assert!(crate::stdlib::features().any(|feature| feature == "digest/sha2"));
}

#[test]
fn conversions_and_small_gaps() {
    need!("ruby");
    compare(&[
        "Integer('x')",
        "Integer('')",
        "Integer('12', exception: false)",
        "Integer('x', exception: false)",
        "Integer(nil, exception: false)",
        "Integer(nil)",
        "Integer([1])",
        "Integer('z', 36)",
        "Integer('0x1f')",
        "Integer(12.9)",
        "Float('x')",
        "Float('1.5x')",
        "Float('x', exception: false)",
        "Float(nil)",
        "Float('1_000.5')",
        "Float('2.32')",
        "[2.32, 0.238, 4.534895, 1.23456789012345e+25]",
        "'héllo'.upcase",
        "'ÀÉß'.downcase",
        "'straße'.upcase",
        "'éA'.swapcase",
        "'éCOLE'.capitalize",
        "s = +'é'; [s.upcase!, s, s.upcase!]",
        "s = +'abc'; [s.capitalize!, s.downcase!, s.downcase!, s]",
        "\"a\\nb\\n\".each_line(chomp: true).to_a",
        "\"a\\r\\nb\".lines(chomp: true)",
        "\"a\\n\\nb\\n\\n\\nc\".lines('')",
        "\"a\\nb\".lines",
        "''.lines",
        "'a,b,c'.each_line(',').to_a",
        "'a,b,c'.each_line(',', chomp: true).to_a",
        "out = []; \"a\\nb\".each_line { |l| out << l }; out",
        "'abc'.sum",
        "Integer.sqrt(17)",
        "Integer.sqrt(10**18)",
        "rand(1..1)",
        "(1..3).cover?(rand(1..3))",
        "rand(1.0..2.0).class",
        "Random.rand(3).class",
        "3.integer?",
        "3.5.integer?",
        "[1, 1, 2, 3, 3].chunk { |x| x % 2 == 1 }.to_a",
        "[1, 2, 3, 4].slice_before { |x| x % 2 == 0 }.to_a",
        "[1, 2, 3, 4].slice_after(2).to_a",
        "S1 = Struct.new(:a, :b, keyword_init: true); [S1.new(a: 1, b: 2).to_a, S1.new(b: 3).a]",
        "begin; S1.new(c: 1); rescue ArgumentError => e; e.message; end",
        "S2 = Struct.new(:a, :b) do def both = [a, b] end; S2.new(1, 2).both",
        "class S3 < Struct.new(:a); def twice = a * 2; end; S3.new(4).twice",
        "[1, 2].zip([3, 4], [5, 6])",
    ]);
}

#[test]
fn changes_of_case() {
    need!("ruby");
    compare(&[
        "'ß'.capitalize",
        "'ﬁx'.capitalize",
        "'ǆ'.capitalize",
        "'é'.upcase(:ascii)",
        "'Éa'.downcase(:ascii)",
        "'éA'.swapcase(:ascii)",
        "'éa'.capitalize(:ascii)",
        "'ISPARTA'.downcase(:turkic)",
        "'iz'.capitalize(:turkic, :lithuanian)",
        "'Straße'.downcase(:fold)",
        "'a'.upcase(:fold)",
        "'a'.upcase(:foo)",
        "'a'.upcase(:ascii, :turkic)",
        "'a'.upcase(:turkic, :ascii)",
        "'a'.upcase(:turkic, :lithuanian, :x)",
        "'a'.upcase('x')",
        "s = +'é'; [s.upcase!(:ascii), s]",
        ":é.upcase(:ascii).to_s",
        "'STRASSE'.casecmp?('straße')",
        "'a'.casecmp?('b')",
    ]);
}

#[test]
fn the_first_of_several_and_limits() {
    need!("ruby");
    compare(&[
        "[3, 1, 2].max(2)",
        "[3, 1, 2].min(2)",
        "[3, 1, 2].max(5)",
        "[].max(1)",
        "[3, 1, 2].max { |a, b| b <=> a }",
        "[3, 1, 2].max(2) { |a, b| b <=> a }",
        "(1..4).max(2)",
        "(1..4).min(2)",
        "(1..4).max",
        "%w[a bbb cc].max_by(1) { |s| s.size }",
        "%w[a bbb cc].min_by(2) { |s| s.size }",
        "%w[a bbb cc].max_by { |s| s.size }",
        "({ a: 1, b: 2 }).max_by { |_, v| v }",
        "5.clamp(..3)",
        "2.clamp(..3)",
        "5.clamp(...3)",
        "5.clamp(7..)",
        "5.clamp(1, 3)",
        "'b'.clamp(..'a')",
    ]);
}

#[test]
fn bits_are_packed_and_unpacked() {
    need!("ruby");
    compare(&[
        "'a'.unpack('b*')",
        "'a'.unpack('B*')",
        "'ab'.unpack('B12')",
        "'ab'.unpack('b3 B')",
        "''.unpack('b*')",
        "'a'.unpack('B99')",
        "'abc'.unpack('B4 B4 a')",
        "['10000110'].pack('b*')",
        "['01100001'].pack('B*')",
        "['0110000101'].pack('B10').bytes",
        "['1'].pack('B8').bytes",
        "['101'].pack('b').bytes",
    ]);
    // CRuby 3.1 only warns; 3.3 raises too.
    let mut interpreter = interpreter();
    assert_eq!(evaluate(&mut interpreter, "'a'.unpack('y')"), "\"ArgumentError: unknown pack directive 'y'\"");
}

#[test]
fn inherited_runs_before_the_block_of_a_class() {
    need!("ruby");
    compare(&[
        "s = Class.new { def self.inherited(one) = one.define_singleton_method(:tr) { 5 } }; x = 0; Class.new(s) { x = tr }; x",
        "order = []; s = Class.new; s.define_singleton_method(:inherited) { |_| order << 1 }; Class.new(s) { order << 2 }; order",
    ]);
}
