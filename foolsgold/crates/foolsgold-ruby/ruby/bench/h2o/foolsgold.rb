# What foolsgold's server does natively, for h2o's mruby: metrics, separate for each interpreter, and random numbers.

module FoolsGold
  module Native
    @values = {}

    class << self
      def counter_get(name)
        @values[name] || 0
      end

      def counter_add(name, by)
        @values[name] = (@values[name] || 0) + by
      end

      def uuid
        sprintf("%07x-%07x-%07x-%07x", rand(1 << 28), rand(1 << 28), rand(1 << 28), rand(1 << 28))
      end
    end
  end
end

require "foolsgold/metrics"
require "foolsgold/context"
