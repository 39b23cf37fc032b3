# Rack::Lock: one request at a time. An interpreter has one thread, so there is nothing to lock.

module Rack
  class Lock
    def initialize(app, _mutex = nil)
      @app = app
    end

    def call(env)
      @app.call(env)
    end
  end
end
