# Rack::Lint: checks a server and an application against the rules of Rack 3. Violations raise LintError.

require "rack/constants"
require "rack/lint/environment"
require "rack/lint/answer"
require "rack/lint/streams"

module Rack
  class Lint
    class LintError < RuntimeError; end

    def self.refuse(sentence)
      raise LintError, sentence
    end

    def initialize(app)
      Lint.refuse("app must respond to call") unless app.respond_to?(:call)
      @app = app
    end

    def call(env = nil)
      Environment.check(env)
      env["rack.input"] = InputWrapper.new(env["rack.input"]) if env["rack.input"]
      env["rack.errors"] = ErrorWrapper.new(env["rack.errors"])
      hide_hijack(env)
      answer = @app.call(env)
      Answer.check(answer, env)
      status, headers, body = answer
      [status, Answer.server_headers(headers, env), Answer.wrap(body, env, status, headers)]
    end

    private

    def hide_hijack(env)
      return unless env["rack.hijack?"] && env["rack.hijack"]
      original = env["rack.hijack"]
      Lint.refuse("rack.hijack must respond to call") unless original.respond_to?(:call)
      env["rack.hijack"] = proc { HijackWrapper.new(original.call) }
    end
  end
end
