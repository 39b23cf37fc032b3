# Rack::ContentType: sets content-type if the application did not and the status allows a body.

require "rack/constants"

module Rack
  class ContentType
    def initialize(app, content_type = "text/html")
      @app = app
      @content_type = content_type
    end

    def call(env)
      answer = @app.call(env)
      status = answer[0].to_i
      headers = answer[1]
      unless status < 200 || status == 204 || status == 304 || headers.key?("content-type") || headers.key?("Content-Type")
        headers["content-type"] = @content_type
      end
      answer
    end
  end
end
