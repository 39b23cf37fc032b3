# Loads a config.ru. It runs as an ordinary Ruby file, so its classes, methods and constants are where they would be in
# any other, and the words of Rack::Builder are methods of the main object while it runs.

require "foolsgold"
require "rack"

module FoolsGold
  module Rackup
    WORDS = [:use, :run, :map, :mode, :warmup, :freeze_app].freeze

    class << self
      # Evaluates a text as if it stood outside of everything.
      attr_accessor :evaluate

      # The application of a config.ru, and `FoolsGold.routes`. In development what it raises is shown to the client.
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

      # The same of a text, which is compiled here.
      def build_text(text, path)
        filling { evaluate.call(text, path) }
      end

      # Calls the block; what it says goes to a new builder. Files may load others.
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

# A block from here has the main object as self and no module around it. The names are odd because mruby shows them to
# the methods that the text defines.
FoolsGold::Rackup.evaluate = lambda { |rackup__text, rackup__path| eval(rackup__text, nil, rackup__path, 1) }
FoolsGold::Rackup::WORDS.each do |word|
  define_singleton_method(word) { |*args, **options, &block|
    builder = FoolsGold::Rackup.builder
    options.empty? ? builder.__send__(word, *args, &block) : builder.__send__(word, *args, **options, &block)
  }
end
