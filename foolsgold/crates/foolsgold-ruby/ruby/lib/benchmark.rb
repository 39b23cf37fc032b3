# Benchmark: how long a block takes in wall-clock time. Processor times are not available.

module Benchmark
  class Tms
    attr_reader :real, :label

    def initialize(real, label = "")
      @real = real
      @label = label
    end

    def utime = 0.0
    def stime = 0.0
    def total = 0.0

    def format(_format = nil)
      Kernel.sprintf("(%10.6f)\n", @real)
    end

    alias to_s format
  end

  class << self
    def realtime
      start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      yield
      Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
    end

    def measure(label = "", &block)
      Tms.new(realtime(&block), label)
    end
  end
end
