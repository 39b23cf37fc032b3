# rack.input over a body that is complete, or one that is still arriving.
#
# Positions are bytes. `FoolsGold::Input.new(text)` has the whole body and can be rewound; `StreamInput` reads from the
# server on demand and forgets what was read; `KeptInput` reads the same way but keeps it, for `rewind`.

module FoolsGold
  class Input
    def initialize(text)
      @buffer = text
      @at = 0
    end

    # IO#read: at the end, nil if a length is given and "" otherwise.
    def read(length = nil, buffer = nil)
      if length.nil?
        fill(nil)
        data = @at == 0 ? @buffer.dup : @buffer.byteslice(@at, @buffer.bytesize)
        data ||= ""
      else
        raise ArgumentError, "negative length #{length} given" if length < 0
        fill(@at + length)
        data = length == 0 ? "" : @buffer.byteslice(@at, length)
        data = nil if length > 0 && (data.nil? || data.empty?)
      end
      @at += data.bytesize if data
      taken
      buffer ? into(buffer, data) : data
    end

    # The next line including its end, or nil.
    def gets
      stop = @buffer.byteindex("\n", @at)
      while stop.nil? && more
        stop = @buffer.byteindex("\n", @at)
      end
      stop = stop ? stop + 1 : @buffer.bytesize
      return nil if stop == @at
      line = @buffer.byteslice(@at, stop - @at)
      @at = stop
      taken
      line
    end

    def each
      return to_enum(:each) unless block_given?
      while (line = gets)
        yield line
      end
      self
    end

    alias each_line each

    def eof?
      fill(@at + 1)
      @at >= @buffer.bytesize
    end

    def rewind
      @at = 0
      0
    end

    def size
      @buffer.bytesize
    end

    # The rest is discarded.
    def close
      @buffer = ""
      @at = 0
      nil
    end

    def binmode = self
    def binmode? = true

    private

    # Reads until the buffer has this many bytes (all for nil), or the body ends.
    def fill(_bytes); end

    def more = false
    def taken; end

    def into(buffer, data)
      buffer.replace(data || "")
      data && buffer
    end
  end

  # A body that is still arriving: `Native.input_read(most)` returns a String, or nil at its end.
  class KeptInput < Input
    CHUNK = 65_536

    def initialize
      super(+"")
      @ended = false
    end

    def size
      fill(nil)
      @buffer.bytesize
    end

    def close
      @ended = true
      super
    end

    private

    def fill(bytes)
      while (bytes.nil? || @buffer.bytesize < bytes) && more
      end
    end

    def more
      return false if @ended
      chunk = Native.input_read(CHUNK)
      if chunk.nil?
        @ended = true
        return false
      end
      @buffer << chunk
      true
    end
  end

  # The same without rewind, so that a large body is never in memory as a whole.
  class StreamInput < KeptInput
    undef_method :rewind
    undef_method :size

    def respond_to?(name, include_all = false)
      name == :rewind || name == :size ? false : super
    end

    private

    def taken
      return if @at == 0
      @buffer = @at >= @buffer.bytesize ? +"" : @buffer.byteslice(@at, @buffer.bytesize)
      @at = 0
    end
  end

  # For requests without a body. It has no position, so all can share it.
  NO_INPUT = Input.new("".freeze)
end
