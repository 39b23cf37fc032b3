//! What the binding lets Rust do with Ruby.

use mruby::{Error, Field, Interpreter, Kind, Limits, Outcome, Raise, Value};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::OnceLock;

fn interpreter() -> Interpreter {
    Interpreter::new(Limits::default()).expect("an interpreter")
}

/// The result of a text, as shown by `inspect`.
fn inspect(text: &str) -> String {
    interpreter().enter(|ruby| ruby.inspect(ruby.run(text)?)).expect("no exception")
}

fn raised(text: &str) -> mruby::Exception {
    match interpreter().enter(|ruby| ruby.run(text).map(drop)) {
        Err(Error::Raised(exception)) => exception,
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_runs_and_gives_its_last_value() {
    assert_eq!(inspect("1 + 1"), "2");
    assert_eq!(inspect("[1, :two, 'drei', 4.5, nil, {a: 1}]"), r#"[1, :two, "drei", 4.5, nil, {:a=>1}]"#);
    assert_eq!(inspect("'é'.size"), "1");
    assert_eq!(inspect("4611686018427387904 * 1 + 1"), "4611686018427387905");
}

#[test]
fn values_have_their_kinds_and_their_contents() {
    let mut interpreter = interpreter();
    let kinds = interpreter.enter(|ruby| {
        assert_eq!(ruby.run("-7")?.as_int(), Some(-7));
        assert_eq!(ruby.int(i64::MIN)?.as_int(), Some(i64::MIN));
        assert_eq!(ruby.inspect(ruby.int(i64::MAX)?)?, i64::MAX.to_string());
        assert_eq!(ruby.float(1.5)?.as_float(), Some(1.5));
        assert!(!Value::FALSE.truthy() && !Value::NIL.truthy() && ruby.run("0")?.truthy());
        let all = ruby.run(
            "[nil, false, true, 1, 1.0, :a, 'a', [], {}, ->{}, String, Kernel, RuntimeError.new, 1..2, Object.new]",
        )?;
        ruby.array_values(all).map(|values| values.into_iter().map(Value::kind).collect::<Vec<_>>())
    });
    use Kind::*;
    let expected =
        [Nil, False, True, Integer, Float, Symbol, String, Array, Hash, Proc, Class, Module, Exception, Range, Object];
    assert_eq!(kinds.unwrap(), expected);
}

#[test]
fn strings_are_bytes_and_locked_while_rust_looks() {
    let mut interpreter = interpreter();
    let result = interpreter.enter(|ruby| {
        let string = ruby.str([0, 255, 10])?;
        let bytes = ruby.bytes(string)?;
        let again = ruby.bytes(string)?;
        assert_eq!(&*bytes, [0, 255, 10]);
        drop(again);
        let refused = ruby.send(string, "<<", &[ruby.str("x")?]).unwrap_err();
        assert_eq!(ruby.class_name(refused.exception(ruby).unwrap()), "FrozenError");
        drop(bytes);
        ruby.send(string, "<<", &[ruby.str("x")?])?;
        assert!(ruby.bytes(Value::NIL).is_err());
        ruby.to_vec(string)
    });
    assert_eq!(result.unwrap(), [0, 255, 10, b'x']);
}

#[test]
fn arrays_and_hashes_are_made_and_read() {
    let mut interpreter = interpreter();
    let text = interpreter.enter(|ruby| {
        let array = ruby.array(&[ruby.int(1)?, ruby.str("two")?])?;
        ruby.array_push(array, Value::TRUE)?;
        ruby.array_set(array, 4, Value::FALSE)?;
        assert_eq!(ruby.array_len(array), 5);
        assert!(ruby.array_get(array, 3)?.is_nil() && ruby.array_get(array, 9)?.is_nil());
        let hash = ruby.hash()?;
        ruby.hash_set(hash, ruby.str("a")?, array)?;
        ruby.hash_set(hash, ruby.symbol("b")?, Value::NIL)?;
        assert_eq!(ruby.hash_len(hash), 2);
        assert!(ruby.hash_fetch(hash, ruby.symbol("c")?)?.is_none());
        assert!(ruby.hash_fetch(hash, ruby.symbol("b")?)?.is_some_and(Value::is_nil));
        let mut keys = Vec::new();
        ruby.hash_each(hash, |key, _| {
            keys.push(ruby.inspect(key)?);
            Ok(())
        })?;
        assert_eq!(keys, [r#""a""#, ":b"]);
        assert_eq!(ruby.hash_get(hash, ruby.str("a")?)?, array);
        ruby.hash_delete(hash, ruby.symbol("b")?)?;
        ruby.inspect(hash)
    });
    assert_eq!(text.unwrap(), r#"{"a"=>[1, "two", true, nil, false]}"#);
}

#[test]
fn an_environment_is_filled_in_one_call() {
    let mut interpreter = interpreter();
    let text = interpreter.enter(|ruby| {
        let template = ruby.run("{'a' => 'old', 'rack.x' => true}.freeze")?;
        let (a, b) = (ruby.freeze(ruby.str("a")?), ruby.freeze(ruby.str("b")?));
        let fields = [Field::bytes(a, b"new"), Field::value(b, Value::TRUE), Field::bytes(ruby.str("c")?, b"")];
        let filled = ruby.hash_dup_with(template, &fields)?;
        assert!(ruby.hash_dup_with(a, &fields).is_err());
        Ok(format!("{} {}", ruby.inspect(filled)?, ruby.inspect(template)?))
    });
    assert_eq!(text.unwrap(), r#"{"a"=>"new", "rack.x"=>true, "b"=>true, "c"=>""} {"a"=>"old", "rack.x"=>true}"#);
}

#[test]
fn an_answer_is_read_in_one_call() {
    let mut interpreter = interpreter();
    let read = interpreter.enter(|ruby| {
        let mut seen = Vec::new();
        let headers = ruby.run("{'content-type' => 'text/plain', 'set-cookie' => ['a=1', 'b=2']}")?;
        let all = ruby.hash_strings(headers, |key, value| seen.push((key.to_vec(), value.to_vec())))?;
        assert!(all);
        assert!(!ruby.hash_strings(ruby.run("{'x' => 1}")?, |_, _| {})?);
        assert!(!ruby.hash_strings(ruby.run("{x: '1'}")?, |_, _| {})?);
        let mut body = Vec::new();
        assert!(ruby.array_strings(ruby.run("['a', '', 'bc']")?, |chunk| body.extend_from_slice(chunk))?);
        assert!(!ruby.array_strings(ruby.run("['a', nil]")?, |_| {})?);
        assert_eq!(body, b"abc");
        Ok(seen.len())
    });
    assert_eq!(read.unwrap(), 3);
}

#[test]
fn natives_have_their_arguments() {
    let mut interpreter = interpreter();
    let text = interpreter.enter(|ruby| {
        let class = ruby.define_class("Probe", Value::NIL)?;
        ruby.define_method(class, "all", |ruby, args| {
            let keywords = args.keywords().map_or(Ok("-".to_owned()), |keywords| ruby.inspect(keywords))?;
            let block = match args.block() {
                Some(block) => ruby.inspect(ruby.yield_block(block, &[ruby.int(5)?])?)?,
                None => "-".to_owned(),
            };
            let values = ruby.inspect(ruby.array(args.all())?)?;
            ruby.str(format!("{} {values} {keywords} {block}", ruby.class_name(args.self_value())))
        })?;
        ruby.define_singleton_method(class, "two", |ruby, args| {
            args.expect(1..=2)?;
            ruby.str(format!("{}{}", args.string(0)?, args.get(1).is_nil()))
        })?;
        ruby.run(
            "o = Probe.new
             many = (1..20).to_a
             alias_of = Class.new(Probe) { alias other all; def all(*) = super }
             [o.all, o.all(1, 'b'), o.all(1, k: 2), o.all { |x| x + 1 }, o.all(*many, k: 3) { |x| x }.size,
              o.send(:all, 1), o.method(:all).call(2), alias_of.new.other(3), alias_of.new.all(4), [1, 2].map(&o.method(:all)).size,
              Probe.two('x')]",
        )
        .and_then(|all| ruby.inspect(all))
    });
    let expected = r#"["Probe [] - -", "Probe [1, \"b\"] - -", "Probe [1] {:k=>2} -", "Probe [] - 6", 87, "Probe [1] - -", "Probe [2] - -", "X [3] - -", "X [4] - -", 2, "xtrue"]"#;
    let text = text.unwrap();
    let (from, to) = (text.find("\"#<Class:").unwrap(), text.find(" [3]").unwrap());
    let anonymous = text[from + 1..to].to_owned();
    assert_eq!(text.replace(&anonymous, "X"), expected);
}

#[test]
fn exceptions_pass_through_natives_both_ways() {
    let mut interpreter = interpreter();
    let text = interpreter.enter(|ruby| {
        let kernel = ruby.class("Kernel")?;
        ruby.define_method(kernel, "twice", |ruby, args| {
            let block = args.required_block()?;
            ruby.yield_block(block, &[])?;
            ruby.yield_block(block, &[])
        })?;
        ruby.define_method(kernel, "refuse", |_, args| Err(Raise::new("ArgumentError", args.string(0)?)))?;
        ruby.define_method(kernel, "safely", |ruby, args| match ruby.yield_block(args.required_block()?, &[]) {
            Err(raise) => match raise.exception(ruby) {
                Some(exception) => ruby.str(format!("saved {}", ruby.describe(exception).message)),
                None => Err(raise),
            },
            ok => ok,
        })?;
        ruby.run(
            r#"seen = []
               seen << (begin; twice { raise "inside" }; rescue => e; [e.class, e.message]; end)
               seen << (begin; refuse "no"; rescue ArgumentError => e; e.message; end)
               seen << (begin; twice; rescue => e; e.message; end)
               seen << twice { break 7 }
               seen << safely { twice { refuse "deep" } }
               seen << safely { twice { break 8 } }
               seen"#,
        )
        .and_then(|all| ruby.inspect(all))
    });
    let expected = r#"[[RuntimeError, "inside"], "no", "no block given", 7, "saved deep", 8]"#;
    assert_eq!(text.unwrap(), expected);
}

#[test]
fn a_block_that_a_native_calls_can_break_but_not_return_or_throw() {
    // mruby ends a block called from C at a `return`; methods that yield are better written in Ruby, around natives.
    let mut interpreter = interpreter();
    let text = interpreter.enter(|ruby| {
        ruby.define_method(ruby.class("Kernel")?, "native", |ruby, args| {
            ruby.yield_block(args.required_block()?, &[])?;
            ruby.str("went on")
        })?;
        ruby.run(
            "def in_ruby; yield; :went_on; end
             def a; native { return 1 }; end
             def b; in_ruby { return 1 }; end
             thrown = begin; catch(:out) { native { throw :out, 2 } }; rescue LocalJumpError => e; e.class; end
             [a, b, thrown, catch(:out) { in_ruby { throw :out, 2 } }]",
        )
        .and_then(|all| ruby.inspect(all))
    });
    assert_eq!(text.unwrap(), r#"["went on", 1, LocalJumpError, 2]"#);
}

#[test]
fn an_exception_tells_class_message_file_and_line() {
    let mut interpreter = interpreter();
    let result = interpreter.enter(|ruby| {
        { ruby.eval("def deep\n  raise ArgumentError, 'so'\nend\ndef outer = deep\n\nouter", "app/config.ru", 1) }
            .map(drop)
    });
    let Err(Error::Raised(exception)) = result else { panic!("{result:?}") };
    assert_eq!((exception.class.as_str(), exception.message.as_str()), ("ArgumentError", "so"));
    assert_eq!(exception.place(), Some(("app/config.ru", 2)));
    assert_eq!(exception.backtrace, ["app/config.ru:2:in deep", "app/config.ru:4:in outer", "app/config.ru:6"]);
    assert_eq!(exception.to_string(), "app/config.ru:2: so (ArgumentError)");
    let own = raised("class Odd < StandardError; def message = raise('no'); end; raise Odd");
    assert_eq!((own.class.as_str(), own.message.as_str()), ("Odd", "Odd"));
}

#[test]
fn a_syntax_error_tells_file_and_line() {
    let mut interpreter = interpreter();
    let result = interpreter.enter(|ruby| ruby.eval("x = 1\ny = )\n", "config.ru", 10).map(drop));
    let Err(Error::Raised(exception)) = result else { panic!("{result:?}") };
    assert_eq!(exception.class, "SyntaxError");
    assert!(exception.message.starts_with("config.ru:11: syntax error"), "{exception}");
    assert_eq!(exception.place(), Some(("config.ru", 11)));
    assert_eq!(interpreter.enter(|ruby| Ok(ruby.run("1")?.as_int())).unwrap(), Some(1));
}

#[test]
fn bytecode_runs_as_its_text_with_its_lines() {
    let mut interpreter = interpreter();
    let code = interpreter
        .enter(|ruby| ruby.compile("def f(x)\n  raise 'low' if x < 0\n  x * 2\nend\nf(21)", "lib/f.rb"))
        .unwrap();
    let mut other = self::interpreter();
    assert_eq!(other.enter(|ruby| Ok(ruby.load(&code)?.as_int())).unwrap(), Some(42));
    let result = other.enter(|ruby| ruby.run("f(-1)").map(drop));
    let Err(Error::Raised(exception)) = result else { panic!("{result:?}") };
    assert_eq!(exception.place(), Some(("lib/f.rb", 2)));
    let broken = other.enter(|ruby| ruby.load(b"not bytecode").map(drop));
    assert!(matches!(broken, Err(Error::Raised(ref exception)) if exception.class == "ScriptError"), "{broken:?}");
}

#[test]
fn bytecode_in_place_is_shared_and_never_changed() {
    let text = "def f(x)\n  raise 'low' if x < 0\n  text = 'a text long enough to be no part of its object'\n  text << ' indeed'\n  \
                text.upcase!\n  { long_name_of_a_key: text }\nend\n[f(1), f(1)].inspect";
    static PLACE: OnceLock<Vec<u8>> = OnceLock::new();
    let code = interpreter().enter(|ruby| ruby.compile(text, "lib/f.rb")).unwrap();
    let place: &'static [u8] = PLACE.get_or_init(|| code.clone());
    let expected = interpreter().enter(|ruby| ruby.string(ruby.load(&code)?)).unwrap();
    assert!(expected.contains("TO BE NO PART OF ITS OBJECT INDEED"), "{expected}");
    let mut both = [interpreter(), interpreter()];
    for turn in 0..4 {
        let other = &mut both[turn % 2];
        assert_eq!(other.enter(|ruby| ruby.string(ruby.load_in_place(place)?)).unwrap(), expected);
        other.full_gc();
        let result = other.enter(|ruby| ruby.run("f(-1)").map(drop));
        let Err(Error::Raised(exception)) = result else { panic!("{result:?}") };
        assert_eq!(exception.place(), Some(("lib/f.rb", 2)));
    }
    assert_eq!(place, code);
    let broken = both[0].enter(|ruby| ruby.load_in_place(b"not bytecode").map(drop));
    assert!(matches!(broken, Err(Error::Raised(ref exception)) if exception.class == "ScriptError"), "{broken:?}");
}

#[test]
fn local_variables_of_one_text_stay_with_its_closures() {
    let mut interpreter = interpreter();
    let text = interpreter.enter(|ruby| {
        ruby.run("x = 'first'; $one = -> { x }")?;
        ruby.run("x = 'second'; y = 1; $two = -> { x }; 5.times { |i| y += i }")?;
        ruby.inspect(ruby.run("[$one.call, $two.call]")?)
    });
    assert_eq!(text.unwrap(), r#"["first", "second"]"#);
}

#[test]
fn classes_constants_and_variables_are_reached() {
    let mut interpreter = interpreter();
    let text = interpreter.enter(|ruby| {
        let module = ruby.define_module("FoolsGold")?;
        let class = ruby.define_class_under(module, "Context", Value::NIL)?;
        ruby.const_set(module, "CONTEXT", ruby.str("foolsgold.context")?)?;
        ruby.gvar_set("$level", ruby.int(3)?)?;
        let object = ruby.send(class, "new", &[])?;
        ruby.ivar_set(object, "@a", ruby.int(4)?)?;
        assert_eq!(ruby.ivar_get(object, "@a")?.as_int(), Some(4));
        assert_eq!(ruby.gvar_get("$level")?.as_int(), Some(3));
        assert!(ruby.is_a(object, class)? && !ruby.is_a(object, module)?);
        assert!(ruby.respond_to(object, "object_id")? && !ruby.respond_to(object, "fly")?);
        assert_eq!(ruby.class("FoolsGold::Context")?, class);
        assert_eq!(ruby.class_of(object), class);
        assert!(ruby.const_defined(module, "CONTEXT")? && !ruby.const_defined(module, "NONE")?);
        assert!(ruby.class("Nothing::Here").is_err());
        ruby.inspect(ruby.run("[FoolsGold::CONTEXT, $level]")?)
    });
    assert_eq!(text.unwrap(), r#"["foolsgold.context", 3]"#);
}

#[test]
fn objects_hold_what_rust_gives_them() {
    struct Noted(Rc<Cell<u32>>, &'static str);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let ended = Rc::new(Cell::new(0));
    let mut interpreter = interpreter();
    let counter = Rc::clone(&ended);
    let result: Result<(), Error> = interpreter.enter(|ruby| {
        let class = ruby.define_class("Holder", Value::NIL)?;
        let object = ruby.resource(class, Noted(Rc::clone(&counter), "held"))?;
        assert_eq!(object.kind(), Kind::Resource);
        assert_eq!(ruby.get_resource::<Noted>(object)?.1, "held");
        assert!(ruby.get_resource::<String>(object).is_err());
        assert!(ruby.get_resource::<Noted>(ruby.run("Holder.new")?).is_err());
        assert!(ruby.get_resource::<Noted>(ruby.run("Object.new")?).is_err());
        let own = ruby.run("class Holder; def initialize; take; end; end; Holder")?;
        let counter = Rc::clone(&counter);
        ruby.define_method(own, "take", move |ruby, args| {
            ruby.attach(args.self_value(), Noted(Rc::clone(&counter), "taken"))
        })?;
        assert_eq!(ruby.get_resource::<Noted>(ruby.run("$kept = Holder.new")?)?.1, "taken");
        assert!(ruby.run("$kept.take").is_err());
        Ok(())
    });
    result.unwrap();
    assert_eq!(ended.get(), 1, "what was refused is dropped");
    interpreter.full_gc();
    assert_eq!(ended.get(), 2, "what is garbage is dropped");
    drop(interpreter);
    assert_eq!(ended.get(), 3, "what was reachable ends with the interpreter");
}

#[test]
fn values_are_kept_over_entries() {
    let mut interpreter = interpreter();
    let kept = interpreter.enter(|ruby| ruby.keep(ruby.str("kept")?)).unwrap();
    interpreter.full_gc();
    assert_eq!(interpreter.enter(|ruby| ruby.string(ruby.kept(kept))).unwrap(), "kept");
}

#[test]
fn what_natives_need_is_found_by_its_type() {
    let mut interpreter = interpreter();
    interpreter.insert_data(vec![1_u8, 2, 3]);
    let sum = interpreter.enter(|ruby| Ok(ruby.data::<Vec<u8>>().map(|bytes| bytes.len()))).unwrap();
    assert_eq!(sum, Some(3));
}

#[test]
fn a_panic_in_a_native_is_an_exception_and_the_end_of_the_interpreter() {
    let mut interpreter = interpreter();
    let text = interpreter.enter(|ruby| {
        ruby.define_method(ruby.class("Kernel")?, "slip", |_, _| -> Outcome<'_> { panic!("a slip") })?;
        ruby.string(ruby.run("begin; slip; rescue => e; e.message; end")?)
    });
    assert_eq!(text.unwrap(), "internal error: a slip");
    assert!(!interpreter.usable());
    assert_eq!(interpreter.panic().as_deref(), Some("a slip"));
    assert_eq!(interpreter.enter(|_| Ok(())), Err(Error::Unusable));
}

#[test]
fn scopes_let_go_of_what_was_made() {
    let mut interpreter = Interpreter::new(Limits { memory: 8 << 20 }).unwrap();
    let last = interpreter.enter(|ruby| {
        for _ in 0..200_000 {
            ruby.scope(|ruby| {
                ruby.str("a string that does not fit into its object itself")?;
                Ok(Value::NIL)
            })?;
        }
        let last = ruby.scope(|ruby| ruby.str(ruby.to_vec(ruby.str("x")?)?))?;
        ruby.string(last)
    });
    assert_eq!(last.unwrap(), "x");
}

#[test]
fn names_are_numbers() {
    let mut interpreter = interpreter();
    let call = interpreter.enter(|ruby| ruby.intern("call")).unwrap();
    let answer = interpreter.enter(|ruby| {
        assert_eq!(ruby.sym_name(call), "call");
        assert_eq!(ruby.intern("call")?, call);
        let own = ruby.intern("a name that no one had before")?;
        assert_eq!(ruby.sym_name(own), "a name that no one had before");
        assert!(ruby.intern(&"x".repeat(70_000)).is_err());
        Ok(ruby.send(ruby.run("->(x) { x + 1 }")?, call, &[ruby.int(1)?])?.as_int())
    });
    assert_eq!(answer.unwrap(), Some(2));
}
