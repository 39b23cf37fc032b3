# Rack::Head: answers HEAD like GET but without the body, which is closed.

require "rack/constants"

module Rack
  class Head
    # An empty body that closes the one it replaces.
    class Closing
      def initialize(body)
        @body = body
      end

      def each; end

      def close
        body = @body
        @body = nil
        body.close if body
      end
    end

    def initialize(app)
      @app = app
    end

    def call(env)
      answer = @app.call(env)
      return answer unless env["REQUEST_METHOD"] == "HEAD"
      status, headers, body = answer
      [status, headers, body.respond_to?(:close) ? Closing.new(body) : []]
    end
  end
end
