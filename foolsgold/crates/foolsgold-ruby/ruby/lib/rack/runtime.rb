# Rack::Runtime: x-runtime, the seconds that the application took until it answered.

require "rack/utils"

module Rack
  class Runtime
    def initialize(app, name = nil)
      @app = app
      @name = name ? "x-runtime-#{name.to_s.downcase}" : "x-runtime"
    end

    def call(env)
      start = Utils.clock_time
      answer = @app.call(env)
      headers = answer[1]
      headers[@name] = sprintf("%0.6f", Utils.clock_time - start) unless headers.key?(@name)
      answer
    end
  end
end
