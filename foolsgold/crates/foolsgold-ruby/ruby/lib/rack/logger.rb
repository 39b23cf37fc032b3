# Rack::Logger: rack.logger over rack.errors.

require "logger"

module Rack
  class Logger
    def initialize(app, level = ::Logger::INFO)
      @app = app
      @level = level
    end

    def call(env)
      logger = ::Logger.new(env["rack.errors"])
      logger.level = @level
      env["rack.logger"] = logger
      @app.call(env)
    end
  end
end
