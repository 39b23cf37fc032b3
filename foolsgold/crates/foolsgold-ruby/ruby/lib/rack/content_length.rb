# Rack::ContentLength: sets content-length if the body's size is known without consuming it.

require "rack/constants"

module Rack
  class ContentLength
    def initialize(app)
      @app = app
    end

    def call(env)
      answer = @app.call(env)
      status = answer[0]
      headers = answer[1]
      body = answer[2]
      return answer if status < 200 || status == 204 || status == 304
      # Both spellings are checked: an application may write names as in Rack 2, and answers have few fields.
      return answer if headers.key?("content-length") || headers.key?("Content-Length")
      return answer if headers.key?("transfer-encoding") || headers.key?("Transfer-Encoding")
      return answer unless body.respond_to?(:to_ary)
      parts = body.to_ary
      size = 0
      parts.each { |part| size += part.bytesize }
      headers["content-length"] = size.to_s
      # `to_ary` has consumed and closed a body that is not itself an Array.
      return answer if parts.equal?(body)
      [status, headers, parts]
    end
  end
end
