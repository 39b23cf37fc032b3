//! mruby in an arena of its own.
//!
//! An [`Interpreter`] lives wholly inside one memory region: its heap, its symbols, its stacks. So its memory has a limit,
//! dropping it is one `munmap`, and its state can be kept and restored byte for byte (a snapshot), which is what makes
//! an isolated interpreter for each request as cheap as a shared one. A run can be stopped from another thread, whatever
//! the Ruby code rescues.
//!
//! Invariants: no Rust frame is ever crossed by a longjmp (each call into C is protected there, each call from C comes back
//! with a status and C raises); no panic unwinds into C; an interpreter stays on the thread that made it. This is
//! isolation of state, no sandbox against memory errors in mruby itself: never load bytecode from strangers.
//!
//! # The interface that is being built
//!
//! ```text
//! // ------------------------------------------------------------------ interpreter.rs
//! pub struct Limits { pub memory: usize /* bytes, also the most a later limit may be */, ... }   // Default
//! impl Interpreter {                                       // !Send, !Sync
//!     fn new(limits: Limits) -> Result<Interpreter, Error>;
//!     /// Everything with Ruby values happens in here; what it leaves unrescued comes back as Error.
//!     fn enter<T>(&mut self, body: impl for<'r> FnOnce(Ruby<'r>) -> Result<T, Raise<'r>>) -> Result<T, Error>;
//!     fn limit_memory(&mut self, bytes: usize);           // from now on; a snapshot keeps the limit it was taken with
//!     fn memory(&self) -> Memory;                         // { used, peak, limit } in bytes
//!     fn enable_gc(&mut self, bool); fn full_gc(&mut self);
//!     fn snapshot(&mut self, method: Option<Method>) -> Result<(), Error>;   // collects, then GC off (on again where a
//!                                                                            // request needs very much memory)
//!     fn restore(&mut self) -> Result<Restored, Error>;   // Restored { method, pages, bytes, time }
//!     fn usable(&self) -> bool;                           // false after a stop or a panic, until restored
//!     fn stopper(&mut self) -> Stopper;                   // for the run that comes now; older ones do nothing any more
//!     fn insert_data<T: 'static>(&self, data: T);         // seen by natives as ruby.data::<T>()
//! }
//! pub struct Stopper;  // Send + Sync + Clone              stopper.stop()
//!
//! // ------------------------------------------------------------------ values
//! Ruby<'r>: Copy;  Value<'r>: Copy (one word);  Sym: Copy + 'static (an interned name; keep hot ones)
//! Kept: Copy + 'static                                    // a value kept alive over enter(): let k = ruby.keep(v)?; ruby.kept(k)
//! trait Name                                              // &str or Sym wherever a name is wanted
//! Value::NIL, TRUE, FALSE, Value::from_bool(b), Value::from_int(i) // i62; ruby.int(i)? for all of i64
//! value.kind() -> Kind { Nil, False, True, Integer, Float, Symbol, String, Array, Hash, Proc, Class, Module, Exception,
//!                        Range, Resource, Object, ... };   value.truthy(), value.is_nil(), value.as_int() -> Option<i64>, as_float()
//! type Outcome<'r, T = Value<'r>> = Result<T, Raise<'r>>;  // what nearly everything gives
//! impl Ruby<'r> {
//!     fn str(self, bytes: impl AsRef<[u8]>) -> Outcome;   fn float, int, symbol(name), array(&[Value]), array_with_capacity,
//!     fn hash(), class(name: &str) ("A::B"), top_self(), object_class()
//!     fn bytes(self, v) -> Outcome<Bytes<'r>>;            // Deref<[u8]>; the string is locked against change meanwhile
//!     fn to_vec(self, v) -> Outcome<Vec<u8>>; to_string(self, v) -> Outcome<String> (lossy UTF-8)   // TypeError unless String
//!     fn len(self, array or hash or string) -> usize; array_get(a, i) -> Value; array_push(a, v); array_set(a, i, v)
//!     fn hash_get(h, key) -> Outcome (nil where absent); hash_fetch(h, key) -> Outcome<Option<Value>>; hash_set; hash_delete;
//!        hash_dup; hash_each(h, |key, value| -> Outcome<()>)
//!     fn send(recv, name, &[args]) ; send_with_block(recv, name, &[args], block) ; yield_block(proc, &[args])
//!     fn define_class(name, superclass), define_class_under(outer, name, superclass), define_module, define_module_under
//!     fn define_method(class, "name", native), define_singleton_method(object, "name", native), proc(native)
//!     fn const_get, const_set, ivar_get, ivar_set, gvar_get, gvar_set, is_a, respond_to, class_of, class_name, inspect, to_s,
//!        freeze, is_frozen, intern(name) -> Sym, sym_name(sym)
//!     fn eval(source, file, line), compile(source, file) -> Outcome<Vec<u8>>, load(bytecode)
//!     fn resource(class, T: 'static) -> Outcome;  fn get_resource::<T>(v) -> Outcome<Rc<T>> (TypeError otherwise)
//!     fn data::<T>() -> Option<Rc<T>>
//!     fn scope(|ruby| -> Outcome) -> Outcome               // frees what was made meanwhile, except the result: for long loops
//!     fn exception(class_name, message) -> Raise;  fn describe(exception) -> Exception { class, message, backtrace }
//!     // one call for a whole request or answer:
//!     fn hash_dup_with(template, &[(Value key, Field)]) -> Outcome;      // Field::Bytes(&[u8]) | Field::Value(v)
//!     fn hash_strings(h, |key: &[u8], value: &[u8]|) -> Outcome<bool>;   // values String or Array of String; false: something else
//!     fn array_strings(a, |chunk: &[u8]|) -> Outcome<bool>;              // (then walk it with hash_each / array_get)
//! }
//! // natives: any Fn, e.g. a fn item or a closure that moved an Rc or Arc in
//! for<'r> Fn(Ruby<'r>, Args<'r>) -> Outcome<'r> + 'static
//! impl Args<'r> { self_value(), len(), get(i) -> Value (nil), required(i) -> Outcome, all() -> &[Value], keywords() -> Option<Value>,
//!                 block() -> Option<Value>, expect(range) -> Outcome<()> (ArgumentError), bytes(i), int(i), ... }
//! // Raise<'r>: an exception on its way (also `break` out of a block, a stop, a panic: pass it on with `?`).
//! //   Raise::new("ArgumentError", "message"), raise.exception(ruby) -> Option<Value>
//!
//! // ------------------------------------------------------------------ error.rs
//! pub enum Error { Raised(Exception), OutOfMemory, Stopped, Unusable, Panicked(String), ... }
//! pub struct Exception { pub class: String, pub message: String, pub backtrace: Vec<String> /* "file:line[:in method]" */ }
//! ```
