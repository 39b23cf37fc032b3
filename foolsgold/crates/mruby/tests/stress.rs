//! With a collection before each allocation: what nothing keeps alive is gone at once. With `MRUBY_SANITIZE=address`,
//! AddressSanitizer then reports each use of it.

use mruby::{Error, Field, Interpreter, Limits, Value};

const TEXTS: &[&str] = &[
    "(1..20).map { |i| \"item #{i}\" }.each_slice(3).to_a.flatten.join(',').size",
    "h = {}; 60.times { |i| h[\"key #{i}\"] = [i, i.to_s * 20] }; h.select { |k, v| v[0].zero? }.keys.size",
    "def f(a, b = a + 'x', *c, d: 'y' * 30, **e, &g) = [a, b, c, d, e, g.call(a)]; f('a', 'b', 1, d: 2, z: 3) { |x| x * 40 }.size",
    "begin; raise ArgumentError, 'm' * 50; rescue => e; [e.message.size, e.backtrace.class]; ensure; 'x' * 50; end",
    "s = Struct.new(:a, :b); x = s.new('a' * 40, ['b'] * 20); [x.a.size, x.to_a.size, x == x.dup]",
    "f = Fiber.new { |x| 5.times { |i| x = Fiber.yield(\"#{x} #{i}\" * 5) }; 'end' }; (1..6).map { |i| f.resume(\"r#{i}\") }.last",
    "e = [1, 2, 3].each; [e.next, e.next, e.next, (e.next rescue 'stop' * 10)].size",
    "(1..Float::INFINITY).lazy.map { |x| x.to_s * 30 }.select { |x| x.size > 30 }.first(3).size",
    "class A; attr_accessor :x; def initialize(x) = @x = x; def <=>(o) = x <=> o.x; include Comparable; end; (1..20).map { |i| A.new(i * 7 % 20) }.sort.map(&:x)[0, 3]",
    "eval(\"x = 'local' * 10\\n[1, 2].map { |y| x + y.to_s }.join.size\")",
    "catch(:done) { 10.times { |i| 10.times { |j| throw :done, \"#{i} #{j}\" * 20 if i * j == 42 } } }.size",
    "'%05d|%-20s|%x|%.3f' % [42, 'left', 255, 1.5]",
    "[1, 'two', 3.0].pack('Ca*E').unpack('Ca3E') rescue $!.class",
    "module M; def self.included(c) = c.extend(N); module N; def made = new.tap { |o| o.instance_variable_set(:@a, 'z' * 30) }; end; end; class B; include M; end; B.made.instance_variables",
    "o = Object.new; def o.method_missing(n, *a, &b) = b ? b.call(n, *a) : \"#{n} #{a}\"; [o.some('thing' * 10).size, o.other(1) { |n, x| n }]",
    "Set.new([1, 2, 3, 2]).map { |x| x.to_s * 20 }.size + (Time.now.to_s * 5).size / 1000",
    "a = 'abc' * 30; b = a[10, 50]; c = b.dup; c << 'more'; a.replace('x'); [b.size, c.size, a.tr('x', 'y'), 'été'.reverse, 'a,b'.split(',')]",
    "x = []; 30.times { |i| x.unshift([i] * i); x.push(i.to_s); x.shift if i % 2 == 1 }; x.flatten.size",
    "native('k' * 30) { |v| v + 'block' * 10 }",
    "binding.local_variables.size; m = 'str' * 10; [m.method(:size).call, m.method(:+).unbind.bind(m).call('x').size]",
];

fn interpreter() -> Interpreter {
    let mut interpreter = Interpreter::new(Limits { memory: 64 << 20 }).expect("an interpreter");
    interpreter
        .enter(|ruby| {
            ruby.define_method(ruby.class("Kernel")?, "native", |ruby, args| {
                let text = args.bytes(0)?;
                let copy = ruby.str(&*text)?;
                let longer = ruby.yield_block(args.required_block()?, &[copy])?;
                let made = ruby.hash()?;
                ruby.hash_set(made, ruby.symbol("made")?, ruby.str("in Rust")?)?;
                let size = ruby.send(longer, "size", &[])?;
                ruby.array(&[copy, size, made])
            })
        })
        .expect("a native");
    interpreter
}

#[test]
fn nothing_is_collected_that_is_in_use() {
    let (mut calm, mut stressed) = (interpreter(), interpreter());
    stressed.stress_gc(true);
    for text in TEXTS {
        let run = |interpreter: &mut Interpreter| interpreter.enter(|ruby| ruby.inspect(ruby.run(text)?));
        let expected = run(&mut calm);
        assert!(expected.is_ok(), "{text}: {expected:?}");
        assert_eq!(run(&mut stressed), expected, "{text}");
    }
}

#[test]
fn values_in_rust_are_kept() {
    let mut interpreter = interpreter();
    interpreter.stress_gc(true);
    let result: Result<(), Error> = interpreter.enter(|ruby| {
        let strings: Vec<Value<'_>> =
            (0..300).map(|i| ruby.str(format!("string number {i}, long enough"))).collect::<Result<_, _>>()?;
        let array = ruby.array(&strings)?;
        let hash = ruby.hash()?;
        for string in &strings {
            ruby.hash_set(hash, *string, ruby.float(0.5)?)?;
        }
        // A value stays alive even after it left its containers.
        let element = ruby.array_get(array, 7)?;
        let pairs = ruby.hash_pairs(hash)?;
        ruby.send(array, "clear", &[])?;
        ruby.send(hash, "clear", &[])?;
        ruby.run("GC.start; Array.new(500) { 'x' * 50 }")?;
        assert_eq!(ruby.string(element)?, "string number 7, long enough");
        assert!(pairs.iter().all(|(_, value)| value.as_float() == Some(0.5)));
        let template = ruby.run("{ 'a' => 'b' * 50 }")?;
        let fields: Vec<Field<'_, '_>> =
            strings.iter().map(|key| Field::bytes(*key, b"a value that is long enough to be on its own")).collect();
        let filled = ruby.hash_dup_with(template, &fields)?;
        let mut bytes = 0;
        assert!(ruby.hash_strings(filled, |key, value| bytes += key.len() + value.len())?);
        assert!(bytes > 300 * 60);
        let error = ruby.eval("def oops = raise('message ' * 10)\noops", "stress.rb", 1).unwrap_err();
        let exception = error.exception(ruby).map(|exception| ruby.describe(exception));
        assert_eq!(exception.map(|exception| exception.backtrace.len()), Some(2));
        Ok(())
    });
    result.unwrap();
}

#[test]
fn code_is_compiled_and_loaded() {
    let mut interpreter = interpreter();
    interpreter.stress_gc(true);
    let text = "class Page\n  TITLE = 'a title ' * 5\n  def show(x = nil, *y, z: 1) = \"#{TITLE} #{x} #{y} #{z}\"\nend\nPage.new.show(1, 2, z: 3).size";
    let code = interpreter.enter(|ruby| ruby.compile(text, "page.rb")).unwrap();
    assert_eq!(interpreter.enter(|ruby| Ok(ruby.load(&code)?.as_int())).unwrap(), Some(48));
    let wrong = interpreter.enter(|ruby| ruby.compile("def (", "wrong.rb"));
    assert!(matches!(wrong, Err(Error::Raised(exception)) if exception.class == "SyntaxError"));
}
