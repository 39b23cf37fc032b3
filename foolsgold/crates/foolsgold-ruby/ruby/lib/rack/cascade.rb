# Rack::Cascade: tries one application after the other until one answers with something other than 404 or 405.

require "rack/constants"

module Rack
  # Thrown by an application to forward to another one; `ForwardRequest` carries the new environment.
  class ForwardRequest < Exception
    attr_reader :url, :env

    def initialize(url, env = {})
      path, query = url.split("?", 2)
      @url = url
      @env = env
      @env["PATH_INFO"] = path.to_s
      @env["QUERY_STRING"] = query if query
      super("forwarding to #{url}")
    end
  end

  class Cascade
    attr_reader :apps

    def initialize(apps, cascade_for = [404, 405])
      @apps = []
      apps.each { |app| add(app) }
      @cascade_for = cascade_for
    end

    def call(env)
      return [404, { "content-type" => "text/plain" }, []] if @apps.empty?
      answer = nil
      last = nil
      @apps.each do |app|
        # A body that is not sent is still closed.
        last.close if last.respond_to?(:close)
        answer = app.call(env)
        return answer unless @cascade_for.include?(answer[0].to_i)
        last = answer[2]
      end
      answer
    end

    def add(app)
      @apps << app
    end

    def include?(app)
      @apps.include?(app)
    end

    alias << add
  end
end
