# Where output goes: a web application has no terminal, so standard output becomes lines in the server's log, and
# standard error and rack.errors are written unchanged.

module FoolsGold
  # `puts`, `print` and the like, based on `write`.
  module Printing
    def <<(object)
      write(object.to_s)
      self
    end

    def print(*objects)
      objects.each { |object| write(object.to_s) }
      nil
    end

    def puts(*objects)
      return write("\n") && nil if objects.empty?
      objects.each do |object|
        if object.is_a?(Array)
          puts(*object) unless object.empty?
        else
          line = object.to_s
          write(line.end_with?("\n") ? line : "#{line}\n")
        end
      end
      nil
    end

    def printf(format, *values)
      write(sprintf(format, *values))
      nil
    end

    def putc(char)
      write(char.is_a?(Integer) ? (char & 255).chr : char[0])
      char
    end
  end

  # Common methods of the write-only streams.
  class Output
    include Printing

    attr_accessor :sync

    def flush = self
    def fsync = 0
    def tty? = false
    def isatty = false
    def closed? = false
    def binmode = self
    def set_encoding(*_args) = self
  end

  # rack.errors and $stderr.
  class Errors < Output
    def write(*texts)
      texts.inject(0) do |sum, text|
        text = text.to_s
        Native.write_error(text)
        sum + text.bytesize
      end
    end
  end

  # $stdout: whole lines, at level info.
  class LogLines < Output
    def initialize
      @rest = +""
    end

    def write(*texts)
      texts.inject(0) do |sum, text|
        text = text.to_s
        @rest << text
        lines if text.include?("\n")
        sum + text.bytesize
      end
    end

    # Writes an incomplete line, at the end of a request.
    def flush
      unless @rest.empty?
        Native.log("info", @rest)
        @rest = +""
      end
      self
    end

    private

    def lines
      *whole, rest = @rest.split("\n", -1)
      whole.each { |line| Native.log("info", line) }
      @rest = +(rest || "")
    end
  end

  ERRORS = Errors.new
end

$stderr = STDERR = FoolsGold::ERRORS
$stdout = STDOUT = FoolsGold::LogLines.new
