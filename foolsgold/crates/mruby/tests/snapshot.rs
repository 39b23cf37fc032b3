//! Restoring a snapshot: the same bytes, whatever Ruby did, and nothing repeated that must not be.

use mruby::{Error, Interpreter, Limits, Method, Value};
use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

const APPLICATION: &str = r##"
    class Counter
      LIST = []
      def initialize = @count = 0
      def call(env)
        @count += 1
        LIST << env["PATH_INFO"]
        body = "<p>#{env["PATH_INFO"]} #{@count} #{LIST.size}</p>" * 20
        [200, { "content-type" => "text/html" }, [body]]
      end
    end
    module Quiet; def self.ask = "quiet"; end
    $app = Counter.new
    $fiber = Fiber.new { |x| loop { x = Fiber.yield(x * 2) } }
    $fiber.resume(1)
    BALLAST = (1..BALLAST_SIZE).map { |i| "ballast #{i} " * 8 }
"##;

/// What a client might do to later requests. None of it may be visible after a restore.
const HOSTILE: &[&str] = &[
    "$app = nil; $leak = 'secret'; @leak = 1; LEAK = 'secret'",
    "class String; def size = 42; def leak = 1; end; class Object; def method_missing(*) = 'mine'; end",
    "class Counter; remove_method :call; end; Object.send(:remove_const, :Quiet)",
    "Counter::LIST.concat((1..5000).to_a); BALLAST.clear; GC.start",
    "module Kernel; def puts(*) = 1; def raise(*) = nil; def rand(*) = 4; end; class Integer; def +(o) = 0; end",
    "Counter.class_eval { define_method(:call) { |env| [500, {}, []] } }; Quiet.define_singleton_method(:ask) { 'loud' }",
    "100.times { |i| $fiber.resume(i) }; $other = Fiber.new { Fiber.yield; 1 }; $other.resume",
    "500.times { |i| \"symbol_#{i}\".to_sym; Object.const_set(\"Const#{i}\", i); eval(\"$global#{i} = #{i}\") }",
    "class Counter; prepend(Module.new { def call(env) = super.reverse }); include Comparable; end",
    "def $app.call(*) = 'own'; $app.freeze; BALLAST.freeze; Counter.freeze; String.freeze",
    "GC.enable; GC.generational_mode = false; GC.start; GC.interval_ratio = 1000; 10_000.times { Object.new }; GC.start",
    "class Hash; alias get []; def [](k) = k == 'PATH_INFO' ? '/evil' : get(k); end; srand(1); Random.srand(1)",
    "a = []; begin; loop { a << 'x' * 10_000 }; rescue NoMemoryError; end; $kept = a",
    "def deep(n) = deep(n + 1); begin; deep(0); rescue SystemStackError; end",
    "raise 'an exception that nobody rescues'",
    "Object.class_eval { def self.inherited(x) = $seen = x }; Class.new; ObjectSpace.each_object(Class) { |c| c.freeze }",
    "nil.freeze; class NilClass; def to_s = 'boo'; end; class TrueClass; def ! = true; end; class Symbol; def to_proc = nil; end",
    "x = Struct.new(:a, :b); y = x.new(1, 2); $s = Set.new([y]); 3.times { |i| y.a = i }; Time.now; [1, 2].pack('C*')",
];

fn application(method: Option<Method>, ballast: usize) -> Interpreter {
    let mut interpreter = Interpreter::new(Limits { memory: 48 << 20 }).expect("an interpreter");
    interpreter
        .enter(|ruby| {
            ruby.const_set(ruby.object_class(), "BALLAST_SIZE", ruby.int(ballast as i64)?)?;
            ruby.eval(APPLICATION, "app.rb", 1).map(drop)
        })
        .expect("the application");
    interpreter.snapshot(method).expect("a snapshot");
    interpreter
}

fn request(interpreter: &mut Interpreter, text: &str) -> Result<String, Error> {
    interpreter.enter(|ruby| ruby.inspect(ruby.run(text)?))
}

/// What a request sees of everything that the hostile ones try to change.
const LOOK: &str = r#"[
    $app.call({ "PATH_INFO" => "/" })[2][0][0, 12], Counter::LIST.size, BALLAST.size, Quiet.ask, $leak, @leak, $seen, "abc".size,
    Object.const_defined?(:LEAK), "x".respond_to?(:leak), $fiber.resume(21), 1 + 1, nil.to_s, $kept, $global7, $s, String.frozen?,
    Counter.ancestors.size, [1].map(&:to_s), (nowhere rescue $!.class), GC.interval_ratio, ({a: 1}[:a])]"#;

const METHODS: [Method; 3] = [Method::Copy, Method::Scan, Method::Remap];

/// Whether this system supports the method. Older kernels and some sandboxes have no `Scan`.
fn available(method: Method) -> bool {
    let mut interpreter = Interpreter::new(Limits::default()).expect("an interpreter");
    let taken = interpreter.snapshot(Some(method));
    if let Err(error) = &taken {
        assert_eq!(method, Method::Scan, "{error}");
        underpin_test_support::skip(&format!("{method:?} is not to be had here: {error}"));
    }
    taken.is_ok()
}

#[test]
fn after_a_restore_every_byte_is_as_it_was_whatever_ruby_did() {
    for method in METHODS.into_iter().filter(|method| available(*method)) {
        for ballast in [0, 8000] {
            let mut interpreter = application(Some(method), ballast);
            assert_eq!(interpreter.snapshot_method(), Some(method));
            assert_eq!(interpreter.differs_from_snapshot(), None);
            for round in 0..2 {
                for text in HOSTILE {
                    let _ = request(&mut interpreter, text);
                    let restored = interpreter.restore().unwrap();
                    assert_eq!(restored.method, method);
                    assert_eq!(interpreter.differs_from_snapshot(), None, "{method:?}, round {round}, after {text}");
                }
            }
        }
    }
}

#[test]
fn a_request_sees_nothing_of_those_before_it() {
    for method in METHODS.into_iter().filter(|method| available(*method)) {
        let mut interpreter = application(Some(method), 100);
        let fresh = request(&mut interpreter, LOOK).unwrap();
        assert!(
            fresh.starts_with(
                r#"["<p>/ 1 1</p>", 1, 100, "quiet", nil, nil, nil, 3, false, false, 42, 2, "", nil, nil"#
            ),
            "{fresh}"
        );
        for (index, text) in HOSTILE.iter().cycle().take(200).enumerate() {
            interpreter.restore().unwrap();
            let _ = request(&mut interpreter, text);
            if index % 3 == 0 {
                let _ = request(&mut interpreter, HOSTILE[index * 7 % HOSTILE.len()]);
            }
            interpreter.restore().unwrap();
            assert_eq!(request(&mut interpreter, LOOK).unwrap(), fresh, "{method:?} after {text}");
        }
    }
}

#[test]
fn random_numbers_do_not_repeat() {
    let mut interpreter = application(None, 0);
    let mut seen = HashSet::new();
    for _ in 0..500 {
        let numbers = request(
            &mut interpreter,
            "[rand(1 << 60), Random.rand(1 << 60), Random.new.rand(1 << 60), [*1..50].shuffle]",
        )
        .unwrap();
        assert!(seen.insert(numbers.clone()), "{numbers}");
        interpreter.restore().unwrap();
    }
    let seeded = "[Random.new(7).rand(1000), Random.new(7).rand(1000)]";
    let first = request(&mut interpreter, seeded).unwrap();
    interpreter.restore().unwrap();
    assert_eq!(request(&mut interpreter, seeded).unwrap(), first, "a seed means what it says");
    let mut other = Interpreter::new(Limits::default()).unwrap();
    let mut another = Interpreter::new(Limits::default()).unwrap();
    assert_ne!(request(&mut other, "rand(1 << 60)"), request(&mut another, "rand(1 << 60)"));
}

#[test]
fn a_generator_that_is_seldom_asked_never_repeats_itself() {
    for method in METHODS.into_iter().filter(|method| available(*method)) {
        let mut interpreter = application(Some(method), 0);
        let mut seen = HashSet::new();
        // Twice beyond the number of restores after which all pages count as unwritten again.
        for round in 0..1300 {
            if round % 5 == 0 || (510..515).contains(&round) {
                let number = request(&mut interpreter, "rand(1 << 60)").unwrap();
                assert!(seen.insert(number.clone()), "{method:?}: {number} again in round {round}");
            } else {
                request(&mut interpreter, "$app.call({ 'PATH_INFO' => '/' })").unwrap();
            }
            interpreter.restore().unwrap();
            assert_eq!(interpreter.differs_from_snapshot(), None, "{method:?} in round {round}");
        }
    }
}

#[test]
fn numbers_of_objects_do_not_repeat() {
    let mut interpreter = application(None, 0);
    let old =
        request(&mut interpreter, "[$app.object_id, String.object_id, nil.object_id, 5.__id__, :a.object_id]").unwrap();
    let mut seen = HashSet::new();
    for _ in 0..300 {
        interpreter.restore().unwrap();
        let ids =
            request(&mut interpreter, "a = Array.new(5) { Object.new }; a.map(&:object_id) + a.map(&:__id__)").unwrap();
        let ids: Vec<&str> = ids.trim_matches(['[', ']']).split(", ").collect();
        assert_eq!(ids[..5], ids[5..], "the same object has the same number");
        for id in &ids[..5] {
            assert!(seen.insert((*id).to_owned()), "{id} came twice");
        }
    }
    let again =
        request(&mut interpreter, "[$app.object_id, String.object_id, nil.object_id, 5.__id__, :a.object_id]").unwrap();
    assert_eq!(old, again, "what the snapshot holds keeps its number");
}

#[test]
fn what_objects_hold_ends_with_their_request() {
    struct Noted(Rc<Cell<i32>>);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
    let alive = Rc::new(Cell::new(0));
    let mut interpreter = Interpreter::new(Limits::default()).unwrap();
    let counter = Rc::clone(&alive);
    interpreter
        .enter(|ruby| {
            let class = ruby.define_class("Held", Value::NIL)?;
            ruby.define_singleton_method(class, "make", move |ruby, args| {
                counter.set(counter.get() + 1);
                ruby.resource(args.self_value(), Noted(Rc::clone(&counter)))
            })?;
            ruby.define_method(class, "there?", |ruby, args| {
                Ok(Value::from_bool(ruby.get_resource::<Noted>(args.self_value()).is_ok()))
            })?;
            ruby.run("$old = Held.make; $older = Held.make").map(drop)
        })
        .unwrap();
    interpreter.snapshot(None).unwrap();
    for _ in 0..10 {
        request(&mut interpreter, "$new = Array.new(20) { Held.make }; $old = nil; GC.enable; GC.start; Held.make")
            .unwrap();
        interpreter.restore().unwrap();
        assert_eq!(alive.get(), 2);
        assert_eq!(request(&mut interpreter, "[$old.there?, $older.there?, $new]").unwrap(), "[true, true, nil]");
    }
    drop(interpreter);
    assert_eq!(alive.get(), 0);
}

#[test]
fn natives_of_a_request_end_with_it() {
    let mut interpreter = application(None, 0);
    for _ in 0..3 {
        interpreter
            .enter(|ruby| {
                ruby.define_method(ruby.class("Kernel")?, "late", |ruby, _| ruby.str("late"))?;
                assert_eq!(ruby.string(ruby.run("late")?)?, "late");
                Ok(())
            })
            .unwrap();
        interpreter.restore().unwrap();
        assert_eq!(request(&mut interpreter, "respond_to?(:late)").unwrap(), "false");
    }
}

#[test]
fn memory_stays_flat_over_requests() {
    let mut interpreter = application(None, 100);
    let before = interpreter.memory();
    for _ in 0..2000 {
        request(&mut interpreter, "$app.call({ 'PATH_INFO' => '/x' }); $garbage = 'y' * 100_000").unwrap();
        interpreter.restore().unwrap();
    }
    let after = interpreter.memory();
    assert_eq!((after.used, after.extent, after.limit), (before.used, before.extent, before.limit));
}

#[test]
fn a_long_request_is_collected_instead_of_refused() {
    let mut interpreter = application(None, 0);
    let size = request(&mut interpreter, "i = 0; while i < 40_000; 'garbage' * 1000; i += 1; end; i").unwrap();
    assert_eq!(size, "40000", "280 MB of garbage within 48 MB");
    interpreter.restore().unwrap();
    assert_eq!(interpreter.differs_from_snapshot(), None);
}

#[test]
fn a_later_snapshot_takes_the_place_of_an_earlier_one() {
    for (first, second) in [
        (Method::Remap, Method::Copy),
        (Method::Copy, Method::Scan),
        (Method::Scan, Method::Remap),
        (Method::Scan, Method::Scan),
        (Method::Remap, Method::Remap),
    ] {
        if !available(first) || !available(second) {
            continue;
        }
        let mut interpreter = application(Some(first), 50);
        request(&mut interpreter, "$later = 'kept'").unwrap();
        interpreter.snapshot(Some(second)).unwrap();
        request(&mut interpreter, "$later = 'changed'; $app = nil").unwrap();
        interpreter.restore().unwrap();
        assert_eq!(request(&mut interpreter, "[$later, $app.class]").unwrap(), r#"["kept", Counter]"#);
    }
}

#[test]
fn under_a_limit_of_file_sizes_there_is_still_a_way() {
    // The limit applies to a process, and writing beyond it ends that process. So another test runs in a process of its
    // own.
    let mut command = std::process::Command::new("sh");
    command.args(["-c", r#"ulimit -f 1 && exec "$0" --exact memory_stays_flat_over_requests"#]);
    let output = command.arg(std::env::current_exe().unwrap()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{:?} {text}", output.status);
}

#[test]
fn without_a_snapshot_there_is_nothing_to_go_back_to() {
    let mut interpreter = Interpreter::new(Limits::default()).unwrap();
    assert!(matches!(interpreter.restore(), Err(Error::Snapshot(_))));
    assert_eq!(request(&mut interpreter, "1").unwrap(), "1");
}
