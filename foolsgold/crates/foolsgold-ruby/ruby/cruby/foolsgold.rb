# frozen_string_literal: true

# FoolsGold under CRuby: runs the same applications under Thin and Puma. What the server does natively is done here in
# Ruby; the rest is foolsgold's library itself.

require "rack"
require "securerandom"

module FoolsGold
  # One table of values for all threads.
  module Native
    @lock = Mutex.new
    @values = Hash.new(0)
    @observed = Hash.new { |all, name| all[name] = [0, 0.0] }

    class << self
      def counter_get(name) = @lock.synchronize { @values[name] }
      def counter_add(name, by) = @lock.synchronize { @values[name] += by }

      alias gauge_get counter_get
      alias gauge_add counter_add

      def gauge_set(name, value) = @lock.synchronize { @values[name] = value }

      def histogram_observe(name, value)
        @lock.synchronize do
          pair = @observed[name]
          pair[0] += 1
          pair[1] += value
        end
      end

      def uuid = SecureRandom.uuid
      def log(level, text) = $stderr.puts("#{level}: #{text}")
      def write_error(text) = $stderr.write(text)
      def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      def pid = Process.pid
    end
  end

  class << self
    def routes = @routes ||= []
  end
end

module Rack
  class Builder
    # Threads of one process serve all requests here, so the modes in a config.ru are only recorded.
    def mode(mode)
      FoolsGold.routes << mode
      nil
    end
  end
end

require_relative "../lib/foolsgold/metrics"
require_relative "../lib/foolsgold/context"
