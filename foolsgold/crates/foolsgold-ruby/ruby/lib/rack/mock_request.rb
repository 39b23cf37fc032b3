# Rack::MockRequest: sends requests to an application without a server.

require "rack/constants"
require "rack/utils"
require "rack/mock_response"
require "rack/multipart"
require "stringio"

module Rack
  class MockRequest
    class FatalWarning < RuntimeError; end

    # rack.errors that raises.
    class FatalWarner
      def puts(warning)
        raise FatalWarning, warning
      end

      def write(warning)
        raise FatalWarning, warning
      end

      def flush; end

      def string
        ""
      end
    end

    def self.env_for(uri = "", opts = {})
      Target.new(uri, opts).env
    end

    # Kept for callers of Rack 2; a URI here is whatever Target accepts.
    def self.parse_uri_rfc2396(uri)
      Target.new(uri, {})
    end

    def initialize(app)
      @app = app
    end

    def get(uri, opts = {}) = request("GET", uri, opts)
    def post(uri, opts = {}) = request("POST", uri, opts)
    def put(uri, opts = {}) = request("PUT", uri, opts)
    def patch(uri, opts = {}) = request("PATCH", uri, opts)
    def delete(uri, opts = {}) = request("DELETE", uri, opts)
    def head(uri, opts = {}) = request("HEAD", uri, opts)
    def options(uri, opts = {}) = request("OPTIONS", uri, opts)

    def request(method = "GET", uri = "", opts = {})
      env = MockRequest.env_for(uri, opts.merge(method: method))
      app = @app
      if opts[:lint]
        require "rack/lint"
        app = Lint.new(@app)
      end
      errors = env["rack.errors"]
      status, headers, body = app.call(env)
      MockResponse.new(status, headers, body, errors)
    ensure
      body.close if body.respond_to?(:close)
    end

    # A URI and options, as an environment.
    class Target
      DEFAULTS = { "SERVER_PROTOCOL" => "HTTP/1.1", "SERVER_NAME" => "example.org" }.freeze

      def initialize(uri, opts)
        @opts = opts
        split(uri)
      end

      def env
        env = DEFAULTS.dup
        env["REQUEST_METHOD"] = (@opts[:method] ? @opts[:method].to_s : "GET").upcase
        env["SERVER_NAME"] = @host
        env["SERVER_PORT"] = @port.to_s
        env["SERVER_PROTOCOL"] = @opts[:http_version] || "HTTP/1.1"
        env["QUERY_STRING"] = @query
        env["PATH_INFO"] = @path
        env["SCRIPT_NAME"] = @opts[:script_name] || ""
        env["rack.url_scheme"] = @scheme
        env["HTTPS"] = @scheme == "https" ? "on" : "off"
        env["rack.errors"] = @opts[:fatal] ? FatalWarner.new : StringIO.new
        parameters(env)
        input(env)
        @opts.each { |name, value| env[name] = value if name.is_a?(String) }
        env
      end

      private

      def split(uri)
        uri = uri.split("#", 2).first.to_s
        bare, query = uri.split("?", 2)
        bare = bare.to_s
        @query = query.to_s
        @scheme = "http"
        @host = "example.org"
        port = nil
        @path = bare
        if (at = bare.index("://"))
          @scheme = bare[0, at]
          rest = bare[at + 3, bare.size]
          slash = rest.index("/") || rest.size
          @host, port = rest[0, slash].split(":", 2)
          @path = rest[slash, rest.size]
        end
        @port = port || (@scheme == "https" ? 443 : 80)
        @path = "/#{@path}" unless @path.start_with?("/")
      end

      def parameters(env)
        params = @opts[:params]
        return unless params
        if env["REQUEST_METHOD"] == "GET"
          params = Utils.parse_nested_query(params) if params.is_a?(String)
          params = Utils.parse_nested_query(@query).merge(params)
          env["QUERY_STRING"] = Utils.build_nested_query(params)
        elsif !@opts.key?(:input)
          form(env, params)
        end
      end

      def form(env, params)
        @input = params
        type = "application/x-www-form-urlencoded"
        if params.is_a?(Hash)
          if upload?(params)
            @input = Rack::Multipart.build_multipart(params)
            type = "multipart/form-data; boundary=AaB03x"
          else
            @input = Utils.build_nested_query(params)
          end
        end
        env["CONTENT_TYPE"] = type unless @opts["CONTENT_TYPE"]
      end

      def upload?(value)
        case value
        when Hash then value.values.any? { |one| upload?(one) }
        when Array then value.any? { |one| upload?(one) }
        else Rack::Multipart::UploadedFile === value
        end
      end

      def input(env)
        given = @opts[:input] || @input
        given = StringIO.new(given) if given.is_a?(String)
        return if given.nil?
        env["rack.input"] = given
        size = given.respond_to?(:size) ? given.size : nil
        env["CONTENT_LENGTH"] ||= size.to_s if size
      end
    end
  end
end
