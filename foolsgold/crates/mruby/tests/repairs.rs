//! What build/repairs.rs changes in mruby 3.2.0.

use mruby::{Interpreter, Limits};

/// The result of a text, as shown by `inspect`.
fn inspect(text: &str) -> String {
    let mut interpreter = Interpreter::new(Limits::default()).expect("an interpreter");
    interpreter.enter(|ruby| ruby.inspect(ruby.run(text)?)).expect("no exception")
}

#[test]
fn keywords_become_a_hash_where_a_method_has_none() {
    assert_eq!(inspect("def one(h) h end; one(a: 1, \"b\" => 2)"), r#"{:a=>1, "b"=>2}"#);
    assert_eq!(inspect("def two(n, h) [n, h] end; two(5, a: 1)"), "[5, {:a=>1}]");
    assert_eq!(inspect("def with_block(n, h) yield n, h end; with_block(5, a: 1) { |n, h| [h, n] }"), "[{:a=>1}, 5]");
    assert_eq!(inspect("def none(n) n end; none(3, **{})"), "3");
    assert_eq!(inspect("def locals(h) x = nil; [h, x] end; locals(a: 1)"), "[{:a=>1}, nil]");
    assert_eq!(inspect("lambda { |h| h }.call(a: 1)"), "{:a=>1}");
    let refused = "def strict(a) a end; begin; strict(1, b: 2); rescue ArgumentError => e; e.message end";
    assert!(inspect(refused).contains("wrong number of arguments"));
}

#[test]
fn raise_without_arguments_raises_what_was_rescued() {
    let text = "begin; begin; raise KeyError, 'first'; rescue => e; raise; end; rescue => e; [e.class, e.message]; end";
    assert_eq!(inspect(text), r#"[KeyError, "first"]"#);
    assert_eq!(inspect("begin; raise 'x'; rescue; $!.message; end"), r#""x""#);
    assert_eq!(
        inspect("begin; raise; rescue => e; [e.class, e.message]; end"),
        r#"[RuntimeError, "unhandled exception"]"#
    );
    // An `ensure` that runs because of a `break` has no exception.
    assert_eq!(inspect("[1].each { begin; break; ensure; 1; end }; $!"), "nil");
}

#[test]
fn an_exception_has_a_cause_where_it_was_raised_in_a_rescue_or_ensure_clause() {
    let first = "begin; raise KeyError, 'first'";
    assert_eq!(
        inspect(&format!("begin; {first}; rescue; raise 'x'; end; rescue => e; e.cause.message; end")),
        r#""first""#
    );
    assert_eq!(
        inspect(&format!("begin; {first}; ensure; raise 'x'; end; rescue => e; e.cause.message; end")),
        r#""first""#
    );
    assert_eq!(inspect(&format!("{first}; rescue; end; begin; raise 'x'; rescue => e; e.cause; end")), "nil");
    assert_eq!(inspect(&format!("x = {first}; rescue => e; [e.message, 1]; end; x")), r#"["first", 1]"#);
    let given = "begin; raise KeyError, 'text', ['line:1'], cause: IndexError.new('given'); rescue => e; [e.message, e.backtrace, e.cause.message]; end";
    assert_eq!(inspect(given), r#"["text", ["line:1"], "given"]"#);
}

#[test]
fn methods_in_a_text_have_local_variables_of_their_own() {
    let text = "name = 'outer'; eval('def change; name = 1; name end; class Inside; name = 2; end'); [change, name]";
    assert_eq!(inspect(text), r#"[1, "outer"]"#);
    assert_eq!(inspect("name = 'outer'; eval('name = name + \"!\"'); name"), r#""outer!""#);
    assert_eq!(inspect("n = 1; eval('def a; 1; end; n += 1; [2].each { |i| n += i }'); n"), "4");
}

#[test]
fn brackets_call_the_method_of_a_subclass() {
    let classes = "class H < Hash; def [](k) = super(k.downcase); end; class A < Array; def [](i) = -i; end; \
                   class S < String; def [](i) = 'own'; end; ";
    assert_eq!(
        inspect(&format!("{classes}h = H.new; h.store('a', 1); [h['A'], A.new[5], S.new('x')[0]]")),
        r#"[1, -5, "own"]"#
    );
    assert_eq!(inspect("h = {1 => 2}; def h.[](k) = 7; [h[1], {1 => 2}[1], [3][0], 'x'[0]]"), r#"[7, 2, 3, "x"]"#);
}

#[test]
fn a_module_does_not_give_constants_of_the_top_level_for_its_own() {
    let module = "class Top; end; module Base; FROM = 1; end; \
                  module Mod; include Base; IN = 2; def self.const_missing(name) = [:missing, name]; def self.inside = Top; end; ";
    assert_eq!(
        inspect(&format!("{module}[Mod::Top, Mod::IN, Mod::FROM, Mod.inside]")),
        "[[:missing, :Top], 2, 1, Top]"
    );
    assert!(
        inspect("module Plain; end; begin; Plain::String; rescue NameError => e; e.message; end")
            .contains("Plain::String")
    );
    assert_eq!(inspect("class A; X = 1; end; class B < A; end; [B::X, Object::String]"), "[1, String]");
}

#[test]
fn fibers_run_in_methods_that_rust_called() {
    let mut interpreter = Interpreter::new(Limits::default()).expect("an interpreter");
    let text = "def self.walk\n  e = [1, 2].each\n  f = Fiber.new { |x| y = Fiber.yield(x + 1); raise KeyError, y.to_s }\n  out = [e.next, e.next, (e.next rescue $!.class), [1, 2].zip([3, 4]), f.resume(5)]\n  begin; f.resume(7); rescue KeyError => error; out << error.message; end\n  out << f.alive?\n  5.times { out << Fiber.new { [8].each { |x| Fiber.yield x } }.resume }\n  out\nend\nself";
    for _ in 0..3 {
        let shown = interpreter.enter(|ruby| {
            let object = ruby.run(text)?;
            ruby.inspect(ruby.send(object, "walk", &[])?)
        });
        assert_eq!(
            shown.expect("no exception"),
            "[1, 2, StopIteration, [[1, 3], [2, 4]], 6, \"7\", false, 8, 8, 8, 8, 8]"
        );
    }
}

#[test]
fn a_fiber_still_cannot_yield_across_rust() {
    let mut interpreter = Interpreter::new(Limits::default()).expect("an interpreter");
    let shown = interpreter.enter(|ruby| {
        ruby.define_method(ruby.object_class(), "through_rust", |ruby, args| {
            ruby.yield_block(args.required_block()?, &[])
        })?;
        ruby.inspect(ruby.run(
            "begin; Fiber.new { through_rust { Fiber.yield 1 } }.resume; rescue FiberError => e; e.message; end",
        )?)
    });
    assert_eq!(shown.expect("no exception"), "\"can't cross C function boundary\"");
}

#[test]
fn decimal_numbers_are_the_nearest_floats() {
    let numbers = [
        "2.32",
        "0.238",
        "6.84186",
        "4.534895",
        "1.23456789012345e+25",
        "9007199254740993.0",
        "5e-324",
        "1e400",
        "179.99",
        "-0.1",
    ];
    for number in numbers {
        let nearest: f64 = number.parse().expect("a number");
        let mut interpreter = Interpreter::new(Limits::default()).expect("an interpreter");
        let read = interpreter
            .enter(|ruby| Ok([ruby.run(number)?.as_float(), ruby.run(&format!("'{number}x'.to_f"))?.as_float()]));
        assert_eq!(read.expect("no exception"), [Some(nearest); 2], "{number}");
    }
    assert_eq!(inspect("['0x1f'.to_f, '1_5'.to_f, '.5'.to_f, '1e'.to_f, '-'.to_f].map(&:to_i)"), "[0, 15, 0, 1, 0]");
}

#[test]
fn a_full_collection_in_the_midst_of_another_keeps_what_is_in_use() {
    // How far the first collection has come depends on how much was allocated.
    for made in (0..24_000).step_by(400) {
        let mut interpreter = Interpreter::new(Limits::default()).expect("an interpreter");
        interpreter
            .enter(|ruby| {
                ruby.run(&format!("$kept = []; {made}.times {{ |i| $kept << [i, 'x'] if i % 3 == 0; [i] }}; nil"))
                    .map(drop)
            })
            .expect("room");
        interpreter.full_gc();
        let whole = format!(
            "500.times {{ [1] }}; $kept.each_with_index.all? {{ |one, i| one == [i * 3, 'x'] }} && $kept.size == ({made} + 2) / 3"
        );
        let whole = interpreter.enter(|ruby| ruby.inspect(ruby.run(&whole)?)).expect("nothing is lost");
        assert_eq!(whole, "true", "after {made} objects");
    }
}
