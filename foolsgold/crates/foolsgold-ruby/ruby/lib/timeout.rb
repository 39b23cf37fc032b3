# Timeout: the block runs to its end. The server's own time limit stops a request that takes too long.

module Timeout
  class Error < RuntimeError; end
  class ExitException < Exception; end

  # Checked afterwards: one thread cannot interrupt itself.
  def self.timeout(seconds, error = nil, message = nil)
    return yield(seconds) if seconds.nil? || seconds == 0
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    result = yield(seconds)
    raise(error || Error, message || "execution expired") if Process.clock_gettime(Process::CLOCK_MONOTONIC) - start > seconds
    result
  end

  def timeout(*args, &block)
    Timeout.timeout(*args, &block)
  end
end

TimeoutError = Timeout::Error unless Object.const_defined?(:TimeoutError)
