# Rack::Builder: the language of config.ru. Foolsgold adds `mode`, at the top level or inside `map`: how requests under
# that prefix share an interpreter.

require "rack/constants"

module Rack
  class Builder
    MODES = [:prefork, :shared_nothing, :fresh].freeze

    # The modes set here and in inner maps, as [path prefix, mode]; complete once the application is built.
    attr_reader :routes

    def self.app(default_app = nil, &block)
      new(default_app, &block).to_app
    end

    # Reads a config.ru (or a Ruby file that defines a constant named after it) and returns the application.
    def self.parse_file(path, **_options)
      return load_file(path) if path.end_with?(".ru")
      require path
      name = ::File.basename(path, ".rb").split("_").map { |word| word.capitalize }.join
      Object.const_get(name.to_sym)
    end

    def self.load_file(path, **_options)
      require "foolsgold/rackup"
      FoolsGold::Rackup.build(path).to_app
    end

    def self.new_from_string(text, path = "(rackup)", **_options)
      require "foolsgold/rackup"
      FoolsGold::Rackup.build_text(text, path).to_app
    end

    def initialize(default_app = nil, prefix: "", host: false, **_options, &block)
      @use = []
      @run = default_app
      @map = nil
      @warmup = nil
      @freeze_app = false
      @prefix = prefix
      @host = host
      @routes = []
      instance_eval(&block) if block
    end

    def use(middleware, *args, **options, &block)
      add_map
      # Calls without keywords must not pass on an empty Hash: not every `initialize` takes one.
      @use << if options.empty?
        proc { |app| middleware.new(app, *args, &block) }
      else
        proc { |app| middleware.new(app, *args, **options, &block) }
      end
      nil
    end

    def run(app = nil, &block)
      raise ArgumentError, "run takes an application or a block, not both" if app && block
      @run = app || block
      nil
    end

    def warmup(callable = nil, &block)
      @warmup = callable || block
      nil
    end

    def map(path, &block)
      @map ||= {}
      @map[path] = block || proc {}
      nil
    end

    def freeze_app
      @freeze_app = true
      nil
    end

    def mode(mode)
      mode = mode.to_s.tr("-", "_").to_sym
      unless MODES.include?(mode)
        raise ArgumentError, "mode #{mode.inspect} is unknown; it is one of #{MODES.map(&:inspect).join(", ")}"
      end
      # The mode is chosen before Ruby runs, only by path.
      raise ArgumentError, "mode cannot be set inside a map of one host" if @host
      @routes << [@prefix, mode]
      nil
    end

    def to_app
      app = @map ? generate_map(@run) : @run
      raise "missing run or map statement" unless app
      app = app.freeze if @freeze_app
      app = build(@use, app)
      @warmup.call(app) if @warmup
      app
    end

    # For a builder that is itself used as an application. It builds anew for each request, as Rack's does.
    def call(env)
      to_app.call(env)
    end

    # A map before `use` becomes the application that this middleware wraps.
    def add_map
      return unless @map
      mapping = @map
      @map = nil
      @use << proc { |app| generate_map(app, mapping) }
    end

    def generate_map(default_app, mapping = @map)
      require "rack/urlmap"
      apps = default_app ? { "/" => default_app } : {}
      mapping.each do |location, block|
        apps[location] = inner(location, default_app, block).to_app
      end
      URLMap.new(apps)
    end

    private

    def build(middlewares, app)
      index = middlewares.size - 1
      while index >= 0
        app = middlewares[index].call(app)
        app.freeze if @freeze_app
        index -= 1
      end
      app
    end

    def inner(location, default_app, block)
      host, path = URLMap.split(location)
      prefix = path == "/" ? @prefix : @prefix + path
      inner = self.class.new(default_app, prefix: prefix, host: @host || !host.nil?)
      inner.instance_eval(&block)
      inner.freeze_app if @freeze_app
      collect(inner)
      inner
    end

    # The inner builder knows its own routes only after it is built, so both share one list.
    def collect(inner)
      @routes.concat(inner.routes)
      inner.instance_variable_set(:@routes, @routes)
    end
  end
end
