# Rack::TempfileReaper: uploads are kept in memory here; what an application put in rack.tempfiles is closed.

require "rack/body_proxy"

module Rack
  class TempfileReaper
    def initialize(app)
      @app = app
    end

    def call(env)
      env["rack.tempfiles"] ||= []
      status, headers, body = @app.call(env)
      [status, headers, BodyProxy.new(body) { reap(env) }]
    rescue Exception => error
      reap(env)
      raise error
    end

    private

    def reap(env)
      (env["rack.tempfiles"] || []).each { |file| file.respond_to?(:close!) ? file.close! : file.close }
    end
  end
end
