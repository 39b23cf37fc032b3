# Rack::ConditionalGet: 304 for GET and HEAD if the client already has this answer (If-None-Match, else
# If-Modified-Since).

require "rack/utils"

module Rack
  class ConditionalGet
    def initialize(app)
      @app = app
    end

    def call(env)
      answer = @app.call(env)
      method = env["REQUEST_METHOD"]
      return answer unless method == "GET" || method == "HEAD"
      status, headers, body = answer
      return answer unless status == 200 && fresh?(env, Utils::HeaderHash[headers])
      kept = headers.reject { |name, _| name.casecmp("content-type") == 0 || name.casecmp("content-length") == 0 }
      body.close if body.respond_to?(:close)
      [304, kept, []]
    end

    private

    def fresh?(env, headers)
      if (none_match = env["HTTP_IF_NONE_MATCH"])
        return none_match == headers["etag"]
      end
      since = env["HTTP_IF_MODIFIED_SINCE"]
      return false unless since && since.bytesize >= 16
      modified = headers["last-modified"]
      return false unless modified
      asked = Utils.parse_httpdate(since)
      changed = Utils.parse_httpdate(modified)
      !asked.nil? && !changed.nil? && changed <= asked
    end
  end
end
