# Rack::MethodOverride: a form's `_method`, or the header X-HTTP-Method-Override, replaces the method of a POST.

require "rack/request"

module Rack
  class MethodOverride
    HTTP_METHODS = %w[GET HEAD PUT POST DELETE OPTIONS PATCH LINK UNLINK].freeze
    METHOD_OVERRIDE_PARAM_KEY = "_method"
    HTTP_METHOD_OVERRIDE_HEADER = "HTTP_X_HTTP_METHOD_OVERRIDE"
    ALLOWED_METHODS = ["POST"].freeze

    def initialize(app)
      @app = app
    end

    def call(env)
      if ALLOWED_METHODS.include?(env["REQUEST_METHOD"])
        method = method_override(env)
        if HTTP_METHODS.include?(method)
          env["rack.methodoverride.original_method"] = env["REQUEST_METHOD"]
          env["REQUEST_METHOD"] = method
        end
      end
      @app.call(env)
    end

    def method_override(env)
      request = Request.new(env)
      named = form_method(request, env) || env[HTTP_METHOD_OVERRIDE_HEADER]
      named.to_s.upcase
    end

    private

    def form_method(request, env)
      return nil unless request.form_data? || request.parseable_data?
      request.POST[METHOD_OVERRIDE_PARAM_KEY]
    rescue Utils::InvalidParameterError, Utils::ParameterTypeError, QueryParser::ParamsTooDeepError
      env["rack.errors"].puts "Invalid or incomplete POST params"
      nil
    rescue EOFError
      env["rack.errors"].puts "Bad request content body"
      nil
    end
  end
end
