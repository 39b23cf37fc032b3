//! Numbers as text, rounding, sums. Random ones are in `super::super::numbers`.

use super::compare;
use crate::stdlib::native::tests::{evaluate, interpreter};
use underpin_test_support::need;

#[test]
fn numbers_of_an_ordinary_page() {
    need!("ruby");
    compare(&[
        "'%.1f' % 0.00000793",
        "'%.2f' % 9.5e-6",
        "'%.2f' % -5.9e-06",
        "'%.2f' % 2.345",
        "'%.2f' % 1.115",
        "0.285.round(2)",
        "17.525.round(2)",
        "'%.0f' % 9007199254740993.0",
        "'%.1f' % 8.8160072390536e16",
        "'%.20f' % 0.1",
        "([0.1] * 10).sum",
        "[0.1, 0.2, 0.3].sum { |x| x * 3 }",
        "(1..10).sum",
        "(1...1).sum",
        "(1..3).sum { |x| x * 0.1 }",
        "({ a: 1, b: 2 }).sum { |_, value| value }",
        "['a', 'b'].sum('')",
        "[[1], [2]].sum([])",
        "[3.0, 1e400, -1e400].sum.nan?",
    ]);
}

#[test]
fn formats_with_every_part() {
    need!("ruby");
    compare(&[
        "format('%<a>.2f|%<b>d', a: 1.005, b: 2)",
        "format('%{a}-%{b}', a: 1, b: :x)",
        "'%-10<a>s|' % { a: 'é' }",
        "'%10{a}|' % { a: 'é' }",
        "'%2$s %1$s' % ['a', 'b']",
        "'%*d|%-*d|%.*f' % [5, 1, 5, 2, 2, 3.14159]",
        "'%1$*2$d' % [5, 8]",
        "'%c%c' % [10, 'é']",
        "'%5c|%-5c|' % ['x', 65]",
        "'%.2s|%5.1s|' % ['été', 'été']",
        "'%p %p' % [nil, 'a']",
        "'%d %d' % [3.99, -3.5]",
        "'%d' % '0x1f'",
        "'%f' % '1_0.5'",
        "'%d' % 1e20",
        "'%x' % 1e20",
        "'%o %x %b' % [-8, -255, -5]",
        "'%#o|%#x|%#b|%+x|% x' % [-8, -255, -5, -255, 255]",
        "'%08x|%.8x|%-8x|' % [-255, -255, -255]",
        "'%s and %%' % 5",
        "'100%%' % []",
        "\"%\\n\" % []",
        "h = Hash.new { |_, key| key.to_s * 2 }; '%<ab>s' % h",
        "'%s' % [[1, 2]]",
        "format('%s', [1, 2])",
        "Kernel.format('%05.1f', 2.25)",
        "sprintf('%+.1e', 12345.678)",
    ]);
}

#[test]
fn mistakes_in_formats_are_named() {
    need!("ruby");
    compare(&[
        "'%' % []",
        "'%d' % []",
        "'%d' % nil",
        "'%d' % 'x'",
        "'%f' % 'x'",
        "'%f' % nil",
        "'%d' % (0.0 / 0)",
        "'%y' % 1",
        "'%5' % 1",
        "'%-%' % 1",
        "'%<a>d' % { b: 1 }",
        "'%<a' % { b: 1 }",
        "'%<a>d' % 1",
        "'%<a><b>d' % { a: 1, b: 2 }",
        "'%s %<a>d' % { a: 1 }",
        "'%1$s %<a>d' % { a: 1 }",
        "'%1$s %s' % [1]",
        "'%s %1$s' % [1]",
        "'%1$1$s' % [1]",
        "'%5-d' % 1",
        "'%.5-d' % 1",
        "'%5*d' % [1, 2]",
        "'%.3.3f' % 1.0",
        "'%c' % 'ab'",
        "'%c' % nil",
        "'%99999999999d' % 1",
        "'%.99999999999f' % 1",
        "format",
        "1.5.round('x')",
        "1.5.round(nil)",
        "1.5.round(half: :odd)",
        "1.5.round(half: 'even')",
        "2.5.round(half: nil)",
        "15.round(-1, half: :even)",
        "15.round(-1, half: :down)",
        "(0.0 / 0).round",
        "Float::INFINITY.to_i",
        "(0.0 / 0).round(2).nan?",
        "1.0.divmod(0)",
        "1.0.div(0)",
        "0 % 0",
        "7.divmod(2.5)",
        "7.div(2.5)",
        "7.0.div(0.5)",
        "-4.0 % 2",
        "5.0 % 0",
    ]);
}

#[test]
fn integers_of_64_bits_are_compared_exactly() {
    need!("ruby");
    compare(&[
        "[9007199254740993, 9007199254740992].sort",
        "9007199254740993 <=> 9007199254740992",
        "9007199254740993 == 9007199254740992.0",
        "9007199254740992.0 < 9007199254740993",
        "4611686018427387905 > 4611686018427387904",
        "4611686018427387904 < 5",
        "4611686018427387904 == 4611686018427387904",
        "9223372036854775807 < 9223372036854775808.0",
        "[1, 0.0 / 0].map { |x| x <=> 1 }",
        "[(0.0 / 0) < 1, 1 <= (0.0 / 0), 1 == (0.0 / 0)]",
        "[3, 1.5, 2].max",
    ]);
}

#[test]
fn what_would_need_more_memory_than_there_is_is_refused() {
    let mut interpreter = interpreter();
    for snippet in ["'%999999999d' % 1", "'%.999999999f' % 1.0", "'%*d' % [1 << 40, 1]"] {
        assert!(evaluate(&mut interpreter, snippet).contains("Error: "), "{snippet}");
    }
    assert_eq!(evaluate(&mut interpreter, "'%d' % 1"), "\"1\"");
}
