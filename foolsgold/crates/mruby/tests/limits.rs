//! Runs that never end, use up memory or recurse endlessly, and the state they leave behind.

use mruby::{Error, Interpreter, Limits, Outcome, Value};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn interpreter(memory: usize) -> Interpreter {
    Interpreter::new(Limits { memory }).expect("an interpreter")
}

/// What a server does after each request. Without an arena (in the sanitizer's build) there are no snapshots.
fn keep(interpreter: &mut Interpreter) {
    if !cfg!(mruby_sanitize) {
        interpreter.snapshot(None).expect("a snapshot");
    }
}

/// Restores the interpreter, or makes a new one.
fn again(interpreter: &mut Interpreter, make: impl Fn() -> Interpreter) {
    if cfg!(mruby_sanitize) {
        *interpreter = make();
    } else {
        interpreter.restore().expect("a restore");
    }
}

fn request(interpreter: &mut Interpreter, text: &str) -> Result<String, Error> {
    interpreter.enter(|ruby| ruby.inspect(ruby.run(text)?))
}

/// Runs a text that is stopped after a moment.
fn stopped(interpreter: &mut Interpreter, text: &str) -> Result<String, Error> {
    let stopper = interpreter.stopper();
    let (done, ended) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        let waited = ended.recv_timeout(Duration::from_millis(2));
        if waited.is_err() {
            stopper.stop();
        }
    });
    let result = request(interpreter, text);
    let _ = done.send(());
    watchdog.join().expect("the watchdog");
    result
}

const ENDLESS: &[&str] = &[
    "while true; end",
    "loop { }",
    "begin; loop { }; rescue Exception; retry; end",
    "begin; begin; loop { }; ensure; loop { }; end; rescue Exception; retry; ensure; while true; end; end",
    "def f = loop { }; Fiber.new { Fiber.new { f }.resume }.resume",
    "Fiber.new { loop { Fiber.new { Fiber.yield; begin; loop { }; ensure; loop { }; end }.tap(&:resume).resume } }.resume",
    "[3, 2, 1].each { |x| [x].map { loop { } } }",
    "h = Hash.new { |hash, key| loop { } }; h[1]",
    "class Odd; def hash = loop { }; def eql?(o) = loop { }; end; { Odd.new => 1, Odd.new => 2 }",
    "native { loop { } }",
    "begin; native { native { begin; loop { }; ensure; native { loop { } }; end } }; rescue Exception; retry; end",
    "stubborn { loop { } }",
    "eval('loop { }')",
    "[1].each { |x| instance_eval { loop { } } }",
    "o = Object.new; def o.to_s = loop { }; \"#{o}\"",
    "(1..Float::INFINITY).each { |x| x }",
    "catch(:never) { loop { } }",
    "e = [1, 2].each; loop { begin; e.next; rescue StopIteration; e.rewind; end }",
    "x = ''; loop { x = x.dup; x << 'y' if x.size < 100 }",
    "module Kernel; def loop = super; end; class Object; def method_missing(*) = self; end; while true; nothing; end",
];

fn with_natives(memory: usize) -> Interpreter {
    let mut interpreter = interpreter(memory);
    interpreter
        .enter(|ruby| {
            let kernel = ruby.class("Kernel")?;
            ruby.define_method(kernel, "native", |ruby, args| ruby.yield_block(args.required_block()?, &[]))?;
            // Does not pass on the stop, and calls again.
            ruby.define_method(kernel, "stubborn", |ruby, args| -> Outcome<'_> {
                let block = args.required_block()?;
                for _ in 0..3 {
                    let _ = ruby.yield_block(block, &[]);
                    let _ = ruby.str("more");
                }
                Ok(Value::NIL)
            })
        })
        .expect("natives");
    interpreter
}

#[test]
fn a_run_that_never_ends_is_stopped_whatever_it_rescues() {
    let make = || with_natives(32 << 20);
    let mut interpreter = make();
    keep(&mut interpreter);
    for round in 0..5 {
        for text in ENDLESS {
            assert_eq!(stopped(&mut interpreter, text), Err(Error::Stopped), "round {round}: {text}");
            // A stop before the first instruction has interrupted nothing.
            if !interpreter.usable() {
                assert_eq!(request(&mut interpreter, "1"), Err(Error::Unusable));
            }
            again(&mut interpreter, make);
            assert_eq!(interpreter.differs_from_snapshot(), None);
            assert_eq!(request(&mut interpreter, "[1, 2].map { |x| x * 2 }"), Ok("[2, 4]".to_owned()));
            again(&mut interpreter, make);
        }
    }
}

#[test]
fn an_interpreter_that_was_stopped_can_be_dropped() {
    for text in ENDLESS {
        let mut interpreter = with_natives(32 << 20);
        assert_eq!(stopped(&mut interpreter, text), Err(Error::Stopped), "{text}");
    }
}

#[test]
fn a_stopper_stops_only_its_own_run() {
    let mut interpreter = interpreter(32 << 20);
    let first = interpreter.stopper();
    let second = interpreter.stopper();
    assert!(!first.stop(), "a newer one was given out");
    assert_eq!(request(&mut interpreter, "1 + 1"), Ok("2".to_owned()));
    assert!(second.stop());
    assert_eq!(request(&mut interpreter, "1 + 1"), Err(Error::Stopped), "a stop before the start counts");
    assert!(interpreter.usable(), "nothing was interrupted");
    let third = interpreter.stopper();
    assert_eq!(request(&mut interpreter, "1 + 1"), Ok("2".to_owned()));
    if !cfg!(mruby_sanitize) {
        interpreter.snapshot(None).unwrap();
        assert!(!third.stop(), "a snapshot begins a new run");
        let fourth = interpreter.stopper();
        interpreter.restore().unwrap();
        assert!(!fourth.stop(), "so does a restore");
    }
    let last = interpreter.stopper();
    drop(interpreter);
    assert!(!last.stop(), "the interpreter is gone");
}

#[test]
fn stops_that_come_at_any_moment_harm_no_other_run() {
    let rounds = if cfg!(mruby_sanitize) { 100 } else { 3000 };
    let make = || with_natives(32 << 20);
    let mut interpreter = make();
    keep(&mut interpreter);
    let (send, receive) = mpsc::channel::<mruby::Stopper>();
    let watchdog = thread::spawn(move || {
        for (index, stopper) in receive.iter().enumerate() {
            for _ in 0..index % 97 * 20 {
                std::hint::spin_loop();
            }
            stopper.stop();
        }
    });
    let (mut whole, mut ended) = (0, 0);
    for _ in 0..rounds {
        drop(send.send(interpreter.stopper()));
        match request(&mut interpreter, "native { [1, 2, 3].map { |x| x + 1 } }.size") {
            Ok(text) => {
                assert_eq!(text, "3");
                whole += 1;
            }
            Err(Error::Stopped) => ended += 1,
            Err(other) => panic!("{other}"),
        }
        again(&mut interpreter, make);
        assert_eq!(request(&mut interpreter, "'next'"), Ok("\"next\"".to_owned()));
        again(&mut interpreter, make);
    }
    drop(send);
    watchdog.join().unwrap();
    assert_eq!(whole + ended, rounds);
    assert_eq!(interpreter.differs_from_snapshot(), None);
}

/// Scripts that need more memory than there is.
fn greedy() -> Vec<String> {
    let fixed = [
        "a = []; loop { a << 'x' * 1000 }",
        "s = 'x'; loop { s << s }",
        "'x' * (1 << 40)",
        "Array.new(1 << 40)",
        "Array.new(1 << 28, 1)",
        "h = {}; i = 0; loop { h[i] = i.to_s * 20; i += 1 }",
        "a = [1] * 1000; loop { a += a }",
        "loop { Object.const_set(\"C#{rand(1 << 60)}\", Class.new) }",
        "i = 0; loop { \"a symbol with a long name #{i}\".to_sym; i += 1 }",
        "a = nil; loop { a = [a] * 10 }",
        "f = []; loop { f << Fiber.new { Fiber.yield }.tap(&:resume) }",
        "a = []; loop { x = a.size; a << -> { x } }",
        "(1..Float::INFINITY).map { |x| x.to_s }",
        "s = Struct.new(:a); l = nil; loop { l = s.new(l) }",
        "loop { eval(\"$v#{rand(1 << 60)} = 1\") }",
        "eval('[' + '1,' * 4_000_000 + ']')",
        "'%0100000000d' % 1",
        "a = []; begin; loop { a << 'x' * 10_000 }; rescue NoMemoryError; retry if a.pop; end; loop { a << a.dup }",
        "a = []; begin; loop { a << 'y' * 5000 }; ensure; loop { a << 'z' * 50 }; end",
        "def f(*a) = f(*a, *a, 1); f(1)",
        "native { a = []; loop { a << 'x' * 1000 } }",
        "loop { ObjectSpace.each_object(String) { |s| ($all ||= []) << s.dup + 'x' } }",
        "o = Object.new; i = 0; loop { o.instance_variable_set(\"@v#{i += 1}\", i.to_s * 10) }",
        "a = []; loop { a << (1.5 + a.size) }",
        "[1, 2].pack('x50000000' * 2)",
    ];
    let sizes = [10, 100, 1000, 100_000];
    let sized = |text: &str| sizes.map(|size| text.replace("1000", &size.to_string()));
    fixed.iter().flat_map(|text| sized(text)).collect()
}

#[test]
fn a_hundred_scripts_without_memory_end_and_the_next_request_is_well() {
    let make = || {
        let mut interpreter = with_natives(6 << 20);
        interpreter.enter(|ruby| ruby.run("$list = (1..100).map { |i| \"item #{i}\" }").map(drop)).unwrap();
        interpreter
    };
    let mut interpreter = make();
    keep(&mut interpreter);
    let all = greedy();
    assert!(all.len() >= 100);
    let mut refused = 0;
    for text in &all {
        let result = stopped_late(&mut interpreter, text);
        match &result {
            Err(Error::OutOfMemory) => refused += 1,
            // Some fail with other errors ("argument too big"), some would go on for ever.
            Err(Error::Raised(_) | Error::Stopped) | Ok(_) => {}
            Err(other) => panic!("{text}: {other}"),
        }
        again(&mut interpreter, make);
        assert_eq!(interpreter.differs_from_snapshot(), None, "{text}");
        assert_eq!(request(&mut interpreter, "$list.last"), Ok("\"item 100\"".to_owned()), "after {text}: {result:?}");
        again(&mut interpreter, make);
    }
    assert!(refused >= 60, "only {refused} of {} ran out of memory", all.len());
}

#[test]
fn without_a_snapshot_an_interpreter_goes_on_after_it_ran_out_of_memory() {
    let mut interpreter = with_natives(6 << 20);
    for text in greedy().iter().step_by(3) {
        let result = stopped_late(&mut interpreter, text);
        if !interpreter.usable() {
            interpreter = with_natives(6 << 20);
            continue;
        }
        let cleared = request(&mut interpreter, "$all = nil; GC.start; 1 + 1");
        assert!(
            matches!(cleared.as_deref(), Ok("2") | Err(Error::OutOfMemory)),
            "after {text}: {result:?}: {cleared:?}"
        );
        if cleared.is_err() {
            interpreter = with_natives(6 << 20);
        }
    }
}

#[test]
fn a_fiber_that_ran_out_of_memory_on_its_way_is_collected() {
    let mut interpreter = interpreter(1 << 20);
    let defined = "$block = proc { 1 }; def fiber = Fiber.new(&$block); $kept = []; def fill = ($kept << fiber while true); \
                   def clear; size = $kept.size; $kept.clear; $spare = nil; size; end";
    request(&mut interpreter, defined).expect("it fits");
    for spare in (0..40).map(|step| step * 50) {
        // Each time it ends at another point.
        let filled =
            request(&mut interpreter, &format!("$spare = 'x' * {spare}; $kept << fiber while $kept.size < 100; fill"));
        assert!(matches!(filled, Err(Error::OutOfMemory)), "{filled:?}");
        let left = interpreter.enter(|ruby| Ok(ruby.send(ruby.top_self(), "clear", &[])?.as_int()));
        assert!(left.as_ref().is_ok_and(|left| *left > Some(100)), "{left:?}");
        interpreter.full_gc();
    }
}

/// As `stopped`, but with enough time for memory to run out.
fn stopped_late(interpreter: &mut Interpreter, text: &str) -> Result<String, Error> {
    let stopper = interpreter.stopper();
    let (done, ended) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        if ended.recv_timeout(Duration::from_millis(400)).is_err() {
            stopper.stop();
        }
    });
    let result = interpreter.enter(|ruby| ruby.run(text).map(|_| String::new()));
    let _ = done.send(());
    watchdog.join().expect("the watchdog");
    result
}

const BOTTOMLESS: &[&str] = &[
    "def f = f; f",
    "def f(n) = 1 + f(n + 1); f(0)",
    "def f = [1].each { f }; f",
    "def f = eval('f'); f",
    "def f = eval(\"eval('f')\"); f",
    "def f = instance_eval { f }; f",
    "def f = native { f }; f",
    "def f = Fiber.new { f }.resume; f",
    "def f = Fiber.new { native { f } }.resume; f",
    "def f = native { Fiber.new { f }.resume }; f",
    "h = Hash.new { |hash, key| hash[key + 1] }; h[0]",
    "class A; def to_s = \"#{self}\"; end; A.new.to_s",
    "class B; def inspect = [self].inspect; end; B.new.inspect",
    "class C; def ==(o) = [self] == [o]; end; C.new == C.new",
    "class D; def hash = [self].hash; end; D.new.hash",
    "class E; def method_missing(n, *a) = other(*a); end; E.new.go",
    "class F; def initialize = F.new; end; F.new",
    "class G; def respond_to_missing?(*) = G.new.respond_to?(:x); end; G.new.respond_to?(:y)",
    "a = []; a << a; a.inspect; b = nil; 100_000.times { b = [b] }; b.inspect",
    "b = nil; 100_000.times { b = [b] }; b.flatten; b == b.dup; b.hash",
    "f = ->(x) { f.(x) }; f.(1)",
    "def f(&b) = b.call(b); f { |b| f(&b) }",
    "define_method(:g) { g }; g",
    "def f = begin; f; ensure; f; end; f",
    "def f = begin; f; rescue SystemStackError; raise; end; f",
    "eval('(' * 5000 + '1' + ')' * 5000)",
    "eval('[' * 5000 + ']' * 5000)",
    "eval('-' * 50_000 + '1')",
    "eval('a = ' * 20_000 + '1')",
    "eval('1 ' + '+ 1' * 20_000)",
    "eval('if true; ' * 2000 + 'end; ' * 2000)",
    "eval('def f; ' * 2000 + 'end; ' * 2000)",
    "eval('->{' * 2000 + '}' * 2000)",
    "x = Enumerator.new { |y| y << x.next }; x.next",
    "def f = [3, 2].sort { f }; f",
    "def f = [3, 2].sort_by { f }; f",
    "class H; include Comparable; def <=>(o) = self < o ? 1 : 0; end; H.new < H.new",
    "def f = 'x'.send(:instance_exec) { f }; f; class Object; def f2 = send(:f2); end; f2",
    "class I; def coerce(o) = 1 + self; end; 1 + I.new",
    "class J; def to_str = '' + self; end; '' + J.new",
    "class K; def each(&b) = map(&b); include Enumerable; end; K.new.to_a",
    "class L; def self.const_missing(n) = const_get(n); end; L::Nothing",
    "class M; def self.inherited(c) = Class.new(c); end; Class.new(M)",
    "class N; def self.method_added(n) = define_method(:\"#{n}x\") { }; def a; end; end",
];

#[test]
fn recursion_without_end_is_an_exception_and_never_the_end_of_the_process() {
    let body = || {
        let make = || with_natives(64 << 20);
        let mut interpreter = make();
        keep(&mut interpreter);
        let mut deep = 0;
        for text in BOTTOMLESS {
            let result = stopped_late(&mut interpreter, text);
            match &result {
                Err(Error::Raised(exception)) if exception.class == "SystemStackError" => deep += 1,
                Err(Error::Raised(_) | Error::Stopped | Error::OutOfMemory) | Ok(_) => {}
                Err(other) => panic!("{text}: {other}"),
            }
            again(&mut interpreter, make);
            assert_eq!(
                request(&mut interpreter, "def f(n) = n == 0 ? 'well' : f(n - 1); f(500)"),
                Ok("\"well\"".to_owned()),
                "{text}"
            );
            again(&mut interpreter, make);
        }
        assert!(deep >= 20, "only {deep}");
    };
    for size in [16 << 20, 2 << 20] {
        thread::Builder::new().stack_size(size).spawn(body).unwrap().join().unwrap();
    }
}

#[test]
fn ruby_calls_ten_thousand_deep() {
    let mut interpreter = interpreter(64 << 20);
    assert_eq!(request(&mut interpreter, "def f(n) = n == 0 ? 0 : 1 + f(n - 1); f(9_000)"), Ok("9000".to_owned()));
}

#[test]
fn the_limit_can_be_lower_and_higher_than_at_the_start() {
    let mut interpreter = interpreter(64 << 20);
    interpreter.limit_memory(4 << 20);
    assert_eq!(request(&mut interpreter, "$x = 'x' * 8_000_000; 1"), Err(Error::OutOfMemory));
    interpreter.limit_memory(32 << 20);
    assert_eq!(request(&mut interpreter, "$x = 'x' * 8_000_000; 1"), Ok("1".to_owned()));
    interpreter.limit_memory(usize::MAX);
    assert_eq!(interpreter.memory().limit, 64 << 20);
}

#[test]
fn too_little_memory_for_an_interpreter_is_an_error() {
    for memory in (0..400_000).step_by(7919) {
        let made = Interpreter::new(Limits { memory });
        let as_expected = if memory < 60_000 { matches!(made, Err(Error::Create(_))) } else { true };
        assert!(as_expected, "{memory}: {made:?}");
    }
}

#[test]
fn memory_stays_flat_where_the_collector_works() {
    let mut interpreter = interpreter(32 << 20);
    let application = r#"
        $cache = {}
        def serve(i)
          page = "".dup
          (i % 40).times { |line| page << "line #{line} of page #{i}\n" }
          $cache[i % 50] = "page " * (i % 300)
          headers = { "content-length" => page.size.to_s, "x" => i.to_s * (i % 30) }
          [page, headers].map { |part| part.to_s }.join.size
        end"#;
    interpreter.enter(|ruby| ruby.run(application).map(drop)).unwrap();
    let mut after_warm_up = 0;
    for i in 0..40_000 {
        interpreter.enter(|ruby| ruby.send(ruby.top_self(), "serve", &[ruby.int(i)?]).map(drop)).unwrap();
        if i == 10_000 {
            after_warm_up = interpreter.memory().extent_peak;
        }
    }
    let end = interpreter.memory().extent_peak;
    assert!(end <= after_warm_up / 4 * 5, "{after_warm_up} became {end}");
}
