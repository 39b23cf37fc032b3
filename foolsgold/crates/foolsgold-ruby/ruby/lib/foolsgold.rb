# FoolsGold for applications: the context of a request, metrics that all interpreters share, and the routes of
# config.ru.

require "foolsgold/core"
require "foolsgold/metrics"
require "foolsgold/context"

module FoolsGold
  # [path prefix, mode] as set with `mode` in config.ru; the server chooses the interpreter of a request by the longest
  # prefix, before any Ruby runs.
  def self.routes
    @routes ||= []
  end

  def self.routes=(routes)
    @routes = routes
  end
end
