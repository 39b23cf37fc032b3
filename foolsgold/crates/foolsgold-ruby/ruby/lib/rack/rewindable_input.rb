# Rack::RewindableInput: an input that can be read again; its content is kept in memory.

require "stringio"

module Rack
  class RewindableInput
    # Makes rack.input rewindable for the wrapped application.
    class Middleware
      def initialize(app)
        @app = app
      end

      def call(env)
        input = env["rack.input"]
        env["rack.input"] = RewindableInput.new(input) if input && !input.respond_to?(:rewind)
        @app.call(env)
      end
    end

    def initialize(input)
      @input = input
      @kept = nil
    end

    def gets = kept.gets
    def each(&block) = kept.each(&block)
    def read(*args) = kept.read(*args)
    def rewind = kept.rewind
    def size = kept.size

    def close
      @kept&.close
      @input.close if @input.respond_to?(:close)
    end

    private

    def kept
      @kept ||= StringIO.new(@input.read.to_s)
    end
  end
end
