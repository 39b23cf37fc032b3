# The Rack adapter for in-memory state: it puts a RequestContext into each request's environment.

require "foolsgold"

module FoolsGold
  module Adapter
    class Memory
      def initialize(app)
        @app = app
      end

      def call(env)
        env[CONTEXT] = RequestContext.new
        @app.call(env)
      end
    end
  end
end
