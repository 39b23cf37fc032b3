# The stream that a streaming body (`call(stream)`) writes to: straight to the client, no faster than the client reads.
#
# `Native.output_write(text)` waits while the client is slow and raises Errno::EPIPE once the client is gone.

module FoolsGold
  class Stream
    include Printing

    # `input` is the rest of the request's body.
    def initialize(input = nil)
      @input = input
      @read_closed = false
      @write_closed = false
    end

    def read(length = nil, buffer = nil)
      raise IOError, "not opened for reading" if @read_closed
      return @input.read(length, buffer) if @input && buffer
      return @input.read(length) if @input
      buffer&.clear
      length.nil? || length == 0 ? "" : nil
    end

    def write(*texts)
      raise IOError, "not opened for writing" if @write_closed
      texts.inject(0) do |sum, text|
        text = text.to_s
        Native.output_write(text) unless text.empty?
        sum + text.bytesize
      end
    end

    def <<(text)
      write(text)
      self
    end

    # Each write is sent at once.
    def flush = self

    def close(_error = nil)
      close_read
      close_write
      nil
    end

    def close_read
      @read_closed = true
      nil
    end

    def close_write
      return nil if @write_closed
      @write_closed = true
      Native.output_close
      nil
    end

    def closed?
      @read_closed && @write_closed
    end
  end
end
