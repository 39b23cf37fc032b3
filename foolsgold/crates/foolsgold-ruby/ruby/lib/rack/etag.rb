# Rack::ETag: a weak etag of the body's bytes for 200 and 201, and cache-control if there is none.

require "rack/constants"
require "digest"

module Rack
  class ETag
    DEFAULT_CACHE_CONTROL = "max-age=0, private, must-revalidate"

    def initialize(app, no_cache_control = nil, cache_control = DEFAULT_CACHE_CONTROL)
      @app = app
      @no_cache_control = no_cache_control
      @cache_control = cache_control
    end

    def call(env)
      status, headers, body = @app.call(env)
      digest = nil
      if (status == 200 || status == 201) && body.respond_to?(:to_ary) && !named?(headers, "etag", "ETag") &&
         !named?(headers, "last-modified", "Last-Modified")
        body = body.to_ary
        text = body.join
        unless text.empty?
          digest = Digest::SHA256.hexdigest(text)[0, 32]
          headers["etag"] = "W/\"#{digest}\""
        end
      end
      unless named?(headers, "cache-control", "Cache-Control")
        value = digest ? @cache_control : @no_cache_control
        headers["cache-control"] = value if value
      end
      [status, headers, body]
    end

    private

    def named?(headers, name, older)
      headers.key?(name) || headers.key?(older)
    end
  end
end
