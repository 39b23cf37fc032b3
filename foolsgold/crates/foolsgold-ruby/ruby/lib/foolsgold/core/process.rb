# Clocks and the process id.

module Process
  CLOCK_REALTIME = 0
  CLOCK_MONOTONIC = 1
  CLOCK_PROCESS_CPUTIME_ID = 2

  class << self
    def clock_gettime(clock, unit = :float_second)
      seconds = clock == CLOCK_REALTIME ? Time.now.to_f : FoolsGold::Native.monotonic
      case unit
      when :float_second then seconds
      when :float_millisecond then seconds * 1_000
      when :float_microsecond then seconds * 1_000_000
      when :second then seconds.to_i
      when :millisecond then (seconds * 1_000).to_i
      when :microsecond then (seconds * 1_000_000).to_i
      when :nanosecond then (seconds * 1_000_000_000).to_i
      else raise ArgumentError, "unexpected unit: #{unit}"
      end
    end

    def pid
      FoolsGold::Native.pid
    end
  end
end

# No file of an application is the main program: `if __FILE__ == $0` is false.
$0 = $PROGRAM_NAME = "foolsgold"
ARGV = [].freeze unless Object.const_defined?(:ARGV)
