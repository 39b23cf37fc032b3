# Loads a config.ru. It runs as an ordinary Ruby file, so its classes, methods and constants are where they would be in
# any other, and the commands of Rack::Builder are methods of the main object while it runs.

require "foolsgold"
require "rack"

module FoolsGold
  module Rackup
    WORDS = [:use, :run, :map, :mode, :warmup, :freeze_app].freeze

    class << self
      # Evaluates a text at the top level, outside any module.
      attr_accessor :evaluate

      # Returns the application of a config.ru, and sets `FoolsGold.routes`. In development its exceptions are shown to
      # the client.
      def load(path, development = false)
        builder = build(path)
        app = builder.to_app
        FoolsGold.routes = builder.routes
        return app unless development
        require "rack/show_exceptions"
        Rack::ShowExceptions.new(app)
      end

      # The builder that a file fills.
      def build(path)
        filling { Kernel.load(path) }
      end

      # The same for a text, which is compiled here.
      def build_text(text, path)
        filling { evaluate.call(text, path) }
      end

      # Calls the block; its commands go to a new builder. Files may load others.
      def filling
        outer = @builder
        builder = @builder = Rack::Builder.new
        yield
        builder
      ensure
        @builder = outer
      end

      def builder
        @builder || raise("use, map and run belong in a config.ru")
      end
    end
  end
end

# A block defined here has the main object as self and no enclosing module. The variable names are odd because mruby
# makes them visible to methods that the text defines.
FoolsGold::Rackup.evaluate = lambda { |rackup__text, rackup__path| eval(rackup__text, nil, rackup__path, 1) }
FoolsGold::Rackup::WORDS.each do |word|
  define_singleton_method(word) { |*args, **options, &block|
    builder = FoolsGold::Rackup.builder
    options.empty? ? builder.__send__(word, *args, &block) : builder.__send__(word, *args, **options, &block)
  }
end
