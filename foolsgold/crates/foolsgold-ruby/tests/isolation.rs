//! Shared-nothing isolation: whatever a request did to its interpreter, the next request finds it as the first did; and
//! nothing occurs twice that must not.

mod support;

use foolsgold_core::work::Mode;
use std::collections::HashSet;
use support::{Stage, get, request};

/// An application that evaluates the code it is sent, and one that reports the state of its interpreter.
const RACKUP: &str = r##"
require "json"
$kept = ["as loaded"]
class Application
  LIMIT = 5
  @@seen = 0
  attr_accessor :notes
  def helper = "helper"
end
APPLICATION = Application.new

def methods_of(thing)
  [thing.instance_methods.map(&:to_s).sort, thing.singleton_methods.map(&:to_s).sort, thing.ancestors.map(&:to_s)]
end

def state
  classes = [Object, Kernel, Module, Class, String, Array, Hash, Integer, Float, NilClass, Symbol, Proc, Range, Exception,
             Regexp, Time, Random, Comparable, Enumerable, Rack::Utils, Rack::Builder, FoolsGold::RequestContext, Application]
  [
    global_variables.map(&:to_s).sort, Object.constants.map(&:to_s).sort, Rack.constants.map(&:to_s).sort,
    classes.map { |one| [one.to_s, methods_of(one), [Module, Class].include?(one) ? [] : one.constants.map(&:to_s).sort] },
    $kept, ENV.to_h.size, ENV["HOSTILE"], $LOADED_FEATURES, $LOAD_PATH, APPLICATION.notes, APPLICATION.helper,
    Application::LIMIT, self.instance_variables.map(&:to_s), 1 + 1, "ab".upcase, [3, 1].sort, { a: 1 }.size, nil.to_a,
    Time.at(0).utc.year, "x" =~ /x/, JSON.parse("[1]"), Comparable.instance_methods.size
  ].inspect
end

map "/state" do
  run lambda { |_| [200, {}, [state]] }
end
map "/random" do
  run lambda { |_| [200, {}, [[rand, Random.rand(1 << 60), Object.new.object_id, [1, 2, 3].shuffle.hash,
                               "text".object_id, FoolsGold::Native.uuid].join(" ")]] }
end
run lambda { |env| [200, {}, [eval(env["rack.input"].read).inspect]] }
"##;

/// Each leaves something behind, or tries to break what other requests use.
const HOSTILE: [&str; 40] = [
    "$kept << 'more'; $new_one = 1",
    "$kept = nil",
    "Object.const_set(:LEFT, 1)",
    "class String; def upcase = 'no'; end",
    "class String; def left_behind = 1; end",
    "class Integer; def +(other) = 42; end; 1 + 1",
    "class Array; undef_method :sort; end",
    "class Hash; remove_method :size; end",
    "class NilClass; def to_a = [1]; end",
    "module Kernel; def require(*) = raise('no'); end",
    "module Comparable; def more = 1; end",
    "module Enumerable; def map = []; end",
    "class Object; def inspect = 'x'; end; nil",
    "class Application; def helper = 'other'; end",
    "Application.class_eval { remove_const(:LIMIT) }",
    "Application.class_eval { @@seen = 99 }",
    "APPLICATION.notes = ['private']",
    "APPLICATION.instance_variable_set(:@x, 1)",
    "def APPLICATION.helper = 'singleton'",
    "self.instance_variable_set(:@left, 1)",
    "ENV['HOSTILE'] = '1'",
    "$LOAD_PATH.clear",
    "$LOADED_FEATURES.clear",
    "require 'stringio'; require 'logger'; require 'ostruct'",
    "Rack.const_set(:Left, 1)",
    "module Rack; class Builder; def run(*) = nil; end; end",
    "class FoolsGold::RequestContext; def metrics = nil; end",
    "JSON.singleton_class.define_method(:parse) { |*| 'no' }",
    "Time.singleton_class.define_method(:at) { |*| nil }",
    "class Regexp; def =~(other) = nil; def match(*) = nil; end",
    "Random.srand(1); srand(1); rand",
    "Fiber.new { Fiber.yield 1 }.resume",
    "$fiber = Fiber.new { loop { Fiber.yield } }; $fiber.resume",
    "10_000.times { |n| \"symbol#{n}\".to_sym }; 1",
    "$kept.freeze; Object.freeze; String.freeze; 1",
    "deep = []; 2000.times { deep = [deep] }; $deep = deep; 1",
    "def again = again; begin; again; rescue SystemStackError; $fell = 1; end",
    "raise Class.new(StandardError), 'of a class that nobody knows'",
    "list = []; begin; loop { list << 'x' * 100_000 }; rescue NoMemoryError; $full = 1; end",
    "ObjectSpace.each_object(Class) { |one| one.class_eval { @touched = 1 } }; 1",
];

fn state(stage: &mut Stage) -> String {
    let answer = stage.ask(get("/state"));
    assert_eq!(answer.status, 200, "{}", stage.log());
    answer.text()
}

#[test]
fn nothing_that_thousands_of_hostile_requests_did_is_seen_by_the_next() {
    let mut stage = Stage::with_mode(RACKUP, Mode::SharedNothing);
    let before = state(&mut stage);
    let mut answered = 0;
    for round in 0..50 {
        for hostile in HOSTILE {
            answered += u32::from(stage.ask(request("POST", "/", hostile.as_bytes())).status == 200);
            // The first round compares everything after each request; in later rounds any difference would show as
            // well.
            if round == 0 || round == 49 {
                assert_eq!(state(&mut stage), before, "after: {hostile}");
            }
        }
        assert_eq!(state(&mut stage), before, "after round {round}");
    }
    // Otherwise only exceptions would be tested: nearly all of them must have run.
    assert!(answered > 50 * 30, "only {answered} requests ran");
}

#[test]
fn the_same_requests_do_leave_something_where_an_interpreter_is_shared() {
    let mut stage = Stage::with_mode(RACKUP, Mode::Prefork);
    let before = state(&mut stage);
    stage.ask(request("POST", "/", HOSTILE[0].as_bytes()));
    assert_ne!(state(&mut stage), before);
}

#[test]
fn the_state_is_that_of_a_new_interpreter() {
    let mut restored = Stage::with_mode(RACKUP, Mode::SharedNothing);
    restored.ask(request("POST", "/", HOSTILE[4].as_bytes()));
    let mut fresh = Stage::with_mode(RACKUP, Mode::Fresh);
    assert_eq!(state(&mut restored), state(&mut fresh));
}

#[test]
fn random_numbers_and_the_numbers_of_new_objects_never_come_twice() {
    let mut stage = Stage::with_mode(RACKUP, Mode::SharedNothing);
    let mut seen: [HashSet<String>; 6] = Default::default();
    for _ in 0..500 {
        let answer = stage.ask(get("/random"));
        assert_eq!(answer.status, 200, "{}", stage.log());
        for (column, word) in answer.text().split(' ').enumerate() {
            // Three numbers have only six orders.
            assert!(seen[column].insert(word.to_owned()) || column == 3, "{column}: {word} came twice");
        }
    }
    assert!(seen[3].len() > 3, "{:?}", seen[3]);
}
