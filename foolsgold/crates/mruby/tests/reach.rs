//! Everything that a run does can be stopped, even if it spends long in C, and nothing recurses too deep or walks a
//! list again and again.

use mruby::{Error, Interpreter, Limits};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longer than anything takes unless it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

fn interpreter() -> Interpreter {
    Interpreter::new(Limits { memory: 96 << 20 }).expect("an interpreter")
}

/// Runs something on a thread with the stack of an interpreter thread; the test fails if it does not return.
fn bounded<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    let builder = thread::Builder::new().stack_size(16 << 20);
    builder.spawn(move || drop(done.send(work()))).expect("a thread");
    result.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("does not come back: {what}"))
}

fn run(interpreter: &mut Interpreter, text: &str) -> Result<String, Error> {
    interpreter.enter(|ruby| ruby.inspect(ruby.run(text)?))
}

/// The result of a text, or the class of the exception it raises.
fn outcome(text: &str) -> String {
    let text = format!("begin; {text}; rescue Exception => e; e.class; end");
    let what = text.clone();
    bounded(&what, move || run(&mut interpreter(), &text)).expect("no other end")
}

/// Each spends minutes in C and does not check for a stop meanwhile. None of it executes Ruby instructions.
const LONG_IN_C: &[&str] = &[
    "a = 'a' * 12_000_000; a.index('a' * 6_000_000 + 'b')",
    "a = 'a' * 12_000_000; a.rindex('a' * 6_000_000 + 'b')",
    "('a' * 12_000_000).tr('bc' * 30_000, 'd')",
    "a = Array.new(300_000) { |i| i + 0.5 }; while true; a.index('x'); a.reverse; a + a; end",
    "a = 'é' * 2_000_000; while true; a.reverse; a.size; a.upcase; end",
    "a = []; while true; a = [a] * 200_000; a.flatten rescue 1; a = []; end",
    "while true; Array.new(100_000) { 'x' }.sort; end",
    "text = 'a0=1;' * 100_000; while true; eval(text); end",
    "text = (0...30_000).map { |i| \"a#{i} = 1\\n\" }.join; while true; eval(text); end",
    "text = '[' + (0...60_000).map { |i| \"'#{i}'\" }.join(',') + ']'; while true; eval(text); end",
    "while true; Time.now.to_s; Time.local(2026, 1, 2).strftime('%F') rescue Time.gm(2000); end",
    "a = (0...200_000).map { |i| i.to_s }; while true; GC.start; end",
    "while true; [1].pack('C') * 100_000; ('ab' * 500).unpack('C*'); end",
];

#[test]
fn what_is_in_c_for_long_is_stopped_at_once() {
    for text in LONG_IN_C {
        let result = bounded(text, move || {
            let mut interpreter = interpreter();
            if !cfg!(mruby_sanitize) {
                interpreter.snapshot(None).expect("a snapshot");
            }
            for after in [3, 60, 200] {
                let stopper = interpreter.stopper();
                let watchdog = thread::spawn(move || {
                    thread::sleep(Duration::from_millis(after));
                    stopper.stop();
                });
                let result = run(&mut interpreter, text);
                watchdog.join().expect("the watchdog");
                if result != Err(Error::Stopped) {
                    return result;
                }
                if cfg!(mruby_sanitize) {
                    interpreter = self::interpreter();
                } else {
                    interpreter.restore().expect("a restore");
                    assert_eq!(interpreter.differs_from_snapshot(), None, "{text}");
                }
                assert_eq!(run(&mut interpreter, "[2, 1].sort.map { |x| x * 2 }"), Ok("[2, 4]".to_owned()), "{text}");
                if !cfg!(mruby_sanitize) {
                    interpreter.restore().expect("a restore");
                }
            }
            Err(Error::Stopped)
        });
        assert_eq!(result, Err(Error::Stopped), "{text}");
    }
}

#[test]
fn stops_at_any_moment_of_parsing_and_collecting_leave_a_snapshot_whole() {
    const TEXT: &str = "x = 40.times.map { |i| \"n#{i} = [#{i}, 'a' 'b', %w(c d)]\" }.join(\"\\n\"); \
                        20.times { eval(x); GC.start; Time.now.to_s; x.tr('a-z', 'b').index('zz') }; 7";
    let rounds: u64 = if cfg!(mruby_sanitize) { 100 } else { 1500 };
    let ended = bounded("stops", move || {
        let mut interpreter = interpreter();
        let mut ended = [0, 0];
        if !cfg!(mruby_sanitize) {
            interpreter.snapshot(None).expect("a snapshot");
        }
        for round in 0..rounds {
            let stopper = interpreter.stopper();
            let watchdog = thread::spawn(move || {
                thread::sleep(Duration::from_micros(round * 7919 % 9000));
                stopper.stop();
            });
            match run(&mut interpreter, TEXT) {
                Ok(text) => {
                    assert_eq!(text, "7");
                    ended[0] += 1;
                }
                Err(error) => {
                    assert_eq!(error, Error::Stopped);
                    ended[1] += 1;
                }
            }
            watchdog.join().expect("the watchdog");
            if cfg!(mruby_sanitize) {
                interpreter = self::interpreter();
            } else {
                interpreter.restore().expect("a restore");
                assert_eq!(interpreter.differs_from_snapshot(), None, "round {round}");
            }
        }
        ended
    });
    assert!(ended[1] > 0, "no run was stopped: {ended:?}");
}

#[test]
fn a_long_list_is_parsed_in_no_more_steps_than_it_is_long() {
    // Walking to the end for each entry took minutes for this many.
    for (text, size) in [
        ("%w(a b c d e f g h i j k l m n o p q r s t) ".to_owned(), 20),
        (format!("[{}]", "1, ".repeat(300_000)), 300_000),
        (format!("%w({})", "a ".repeat(300_000)), 300_000),
        (format!("a = 0\n{}[a]", "a = 1;".repeat(60_000)), 1),
        (format!("[{}]", "'a' \"#{1}\" 'b',\n".repeat(60_000)), 60_000),
        (format!("[\"{}\"]", "#{1}a".repeat(10_000)), 1),
    ] {
        let asked = format!("({text}).size");
        let what = text.chars().take(40).collect::<String>();
        let found = bounded(&what, move || run(&mut interpreter(), &asked));
        assert_eq!(found, Ok(size.to_string()), "{what}");
    }
}

#[test]
fn lists_keep_every_entry_in_its_place_however_they_are_nested() {
    // The expected values, by the rule that built the text.
    let row = |i: i64| format!("[{i}, [{i} + 1, 'x' 'y' \"#{{{i}}}z\", {{ a: {i}, b: [{i}] }}], *[7, 8]]");
    let text = format!("[{}]", (0..3000).map(row).collect::<Vec<_>>().join(", "));
    let is = |i: i64| format!("[{i}, [{}, \"xy{i}z\", {{:a=>{i}, :b=>[{i}]}}], 7, 8]", i + 1);
    let expected = format!("[{}]", (0..3000).map(is).collect::<Vec<_>>().join(", "));
    let found = bounded("rows", move || run(&mut interpreter(), &text));
    assert_eq!(found, Ok(expected));
}

#[test]
fn what_is_nested_too_deeply_raises_and_ends_no_process() {
    // CRuby: SystemStackError, or the parser's own refusal, for each of them.
    let refused = ["SystemStackError", "SyntaxError", "ScriptError", "NoMemoryError", "ArgumentError"];
    for text in [
        "a = []; 200_000.times { a = [a] }; a.join",
        "a = []; 200_000.times { a = [a] }; a.flatten",
        "a = []; 200_000.times { a = [a] }; a.inspect",
        "a = []; b = []; 200_000.times { a = [a]; b = [b] }; a == b",
        "a = []; 200_000.times { a = [a] }; a.hash",
        "a = {}; 200_000.times { a = { a: a } }; a.to_s",
        "eval('[' * 200_000)",
        "eval('(' * 5_000 + '1' + ')' * 5_000)",
        "eval('[' * 5_000 + ']' * 5_000)",
        "eval('-' * 300_000 + '1')",
        "eval('!' * 300_000 + '1')",
        "eval('if 1' + '&&1' * 400_000 + \"\\n2\\nend\")",
        "eval('x = ' + '1&&' * 400_000 + '1')",
        "eval('x = ' + 'y = ' * 300_000 + '1')",
        "eval('1' + '+1' * 300_000)",
        "eval('a' + '.a' * 300_000)",
        "eval('a' + '[0]' * 300_000 + ' = 1')",
        "eval('\"' + '\\\\M-' * 500_000 + 'a\"')",
        "eval('?' + '\\\\M-\\\\C-' * 500_000 + 'a')",
        "eval('\"' + '#{\"' * 4_000 + 'a' + '\"}' * 4_000 + '\"')",
        "eval('(a, ' * 4_000 + 'b' + ')' * 4_000 + ' = 1')",
        "eval('def m(' + '(a,' * 4_000 + 'b' + ')' * 4_000 + '); end')",
        "eval('lambda { ' * 4_000 + '}' * 4_000)",
        "eval('begin; ' * 4_000 + 'end; ' * 4_000)",
        "eval('while 1; ' * 4_000 + 'end; ' * 4_000)",
        "eval('case 1; when ' * 4_000 + 'end; ' * 4_000)",
        "eval('{ a: ' * 4_000 + '1' + '}' * 4_000)",
        "eval('class A; ' * 4_000 + 'end; ' * 4_000)",
        "eval('1 if ' * 300_000 + '1')",
        "eval('1' + ' rescue 1' * 300_000)",
        "eval('1' + ' ? 1 : 1' * 300_000)",
        "eval('not ' * 300_000 + '1')",
        "eval('1' + ' and 1' * 400_000)",
        "eval('p ' * 300_000)",
        "eval('x' + '::X' * 300_000)",
        "eval('<<A' + \"\\n\" + '#{<<A}' * 9_000)",
        "c = Object; 3_000.times { c = Class.new(c) }; c.singleton_class; c.dup.new.inspect; :fine.to_proc",
        "e = 1.to_enum; 100_000.times { e = e.each_entry rescue e.to_enum }; e.next",
        "f = proc { 1 }; 200_000.times { g = f; f = f >> g rescue proc { g.call } }; f.call",
    ] {
        let found = outcome(text);
        // What mruby answers without deep recursion is fine as well.
        let whole = !found.contains("Error");
        assert!(
            whole || refused.contains(&found.as_str()) || found == "NameError" || found == "NoMethodError",
            "{text}: {found}"
        );
    }
    assert_eq!(outcome("a = []; 200_000.times { a = [a] }; a.join"), "SystemStackError");
}
