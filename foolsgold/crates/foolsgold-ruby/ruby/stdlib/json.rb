# JSON: options and the methods of core classes. Reading and writing is done in one native call.

module JSON
  NaN = Float::NAN
  Infinity = Float::INFINITY
  MinusInfinity = -Float::INFINITY
  VERSION = "2.6.1"
  UnparserError = GeneratorError

  # The layout of the JSON output, passed to `to_json` of an application's classes.
  class State
    attr_accessor :indent, :space, :space_before, :object_nl, :array_nl, :max_nesting, :depth, :script_safe

    def self.from_state(options)
      options.is_a?(State) ? options : new(options)
    end

    def initialize(options = nil)
      @indent = @space = @space_before = @object_nl = @array_nl = ""
      @max_nesting = 100
      @depth = 0
      @allow_nan = @script_safe = false
      configure(options) if options
    end

    def configure(options)
      options = options.to_h
      options.each do |name, value|
        case name.to_sym
        when :indent then @indent = value
        when :space then @space = value
        when :space_before then @space_before = value
        when :object_nl then @object_nl = value
        when :array_nl then @array_nl = value
        when :max_nesting then @max_nesting = value || 0
        when :depth then @depth = value
        when :allow_nan then @allow_nan = value
        when :script_safe, :escape_slash then @script_safe = value
        end
      end
      self
    end
    alias merge configure

    def allow_nan? = !!@allow_nan
    def script_safe? = !!@script_safe

    def to_h
      { indent: @indent, space: @space, space_before: @space_before, object_nl: @object_nl, array_nl: @array_nl,
        allow_nan: allow_nan?, max_nesting: @max_nesting, depth: @depth, script_safe: script_safe? }
    end

    def [](name) = instance_variable_get(:"@#{name}")

    def generate(object) = JSON.__generate(object, self)
  end

  module Ext
    module Generator
      State = JSON::State
    end
  end

  PRETTY = { indent: "  ", space: " ", object_nl: "\n", array_nl: "\n" }.freeze

  class << self
    def parse(source, given = nil, **options)
      options = given.to_h.merge(options) if given
      raise TypeError, "no implicit conversion of nil into String" if source.nil?
      source = source.to_str unless source.is_a?(String)
      return __parse(source, 100, false, false) if options.empty?
      nesting = options.fetch(:max_nesting, 100) || 0
      __parse(source, nesting, options[:allow_nan], options[:symbolize_names])
    end

    def parse!(source, given = nil, **options)
      parse(source, { max_nesting: false, allow_nan: true }.merge(given.to_h).merge(options))
    end

    # Options are a Hash as last argument, so that an object without braces is the object.
    def generate(object, options = nil)
      return __generate(object, options) if options.nil? || options.is_a?(State)
      __generate(object, State.new(options.to_h))
    end
    alias unparse generate
    alias fast_generate generate

    def pretty_generate(object, options = nil)
      return __generate(object, options) if options.is_a?(State)
      __generate(object, State.new(PRETTY.merge(options.to_h)))
    end
    alias pretty_unparse pretty_generate

    def dump(object, io = nil, _limit = nil, **options)
      text = generate(object, { max_nesting: false, allow_nan: true }.merge(options))
      return text unless io
      io.write(text)
      io
    end

    def load(source, _proc = nil, **options)
      return nil if source.nil?
      source = source.read if source.respond_to?(:read)
      return nil if source.empty?
      parse(source, { max_nesting: false, allow_nan: true }.merge(options))
    end

    def load_file(path, **options) = parse(File.read(path), **options)
    def state = State
    def generator = self

    def [](object, **options)
      object.respond_to?(:to_str) ? parse(object.to_str, **options) : generate(object, **options)
    end
  end

  # Common to the classes that have a JSON form of their own.
  module ToJSON
    def to_json(state = nil, *)
      state = State.new(state) if state.is_a?(Hash)
      JSON.__generate(self, state)
    end
  end
end

[NilClass, TrueClass, FalseClass, Integer, Float, String, Symbol, Array, Hash].each { |type| type.include(JSON::ToJSON) }

class Object
  def to_json(state = nil, *) = to_s.to_json(state)
end

module Kernel
  def JSON(object, **options) = JSON[object, **options]
  def j(*objects) = objects.each { |object| puts JSON.generate(object) } && nil
end
