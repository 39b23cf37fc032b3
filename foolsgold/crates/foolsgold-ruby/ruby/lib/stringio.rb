# StringIO: a String as a file. Positions are bytes, as in CRuby; the text may contain any bytes.

class StringIO
  include Enumerable
  include FoolsGold::Printing if Object.const_defined?(:FoolsGold) && FoolsGold.const_defined?(:Printing)

  attr_accessor :lineno, :sync
  attr_reader :string, :pos

  def self.open(*args)
    io = new(*args)
    block_given? ? yield(io) : io
  end

  def initialize(string = nil, mode = nil)
    @string = string.nil? ? +"" : string
    mode = mode.is_a?(String) ? mode : (@string.frozen? ? "r" : "r+")
    raise Errno::EACCES, "not opened for writing" if @string.frozen? && !(mode.start_with?("r") && !mode.include?("+"))
    @readable = mode.start_with?("r") || mode.include?("+")
    @writable = !mode.start_with?("r") || mode.include?("+")
    @append = mode.start_with?("a")
    @string.replace("") if mode.start_with?("w")
    @pos = 0
    @lineno = 0
    @sync = true
  end

  def string=(string)
    @string = string
    @pos = 0
    @lineno = 0
  end

  def reopen(string = +"", mode = nil)
    initialize(string, mode)
    self
  end

  # ---- reading

  def read(length = nil, buffer = nil)
    readable
    if length.nil?
      data = @string.byteslice(@pos, @string.bytesize) || ""
    else
      raise ArgumentError, "negative length #{length} given" if length < 0
      data = length == 0 ? "" : @string.byteslice(@pos, length)
      data = nil if length > 0 && (data.nil? || data.empty?)
    end
    @pos += data.bytesize if data
    return data unless buffer
    buffer.replace(data || "")
    data && buffer
  end

  def sysread(length = nil, buffer = nil)
    read(length, buffer) || raise(EOFError, "end of file reached")
  end

  def readpartial(length, buffer = nil) = sysread(length, buffer)
  def read_nonblock(length, buffer = nil, **_options) = sysread(length, buffer)

  def pread(length, offset)
    raise EOFError, "end of file reached" if offset >= @string.bytesize && length > 0
    @string.byteslice(offset, length) || ""
  end

  # `separator` nil reads all, "" reads paragraphs; `limit` is bytes.
  def gets(separator = "\n", limit = nil, chomp: false)
    readable
    separator, limit = "\n", separator if separator.is_a?(Integer)
    return "" if limit == 0
    line = next_line(separator, limit)
    return nil unless line
    @lineno += 1
    return line unless chomp && separator
    line.chomp(separator.empty? ? "\n" : separator)
  end

  def readline(*args, **options)
    gets(*args, **options) || raise(EOFError, "end of file reached")
  end

  def each(*args, **options)
    return to_enum(:each, *args) unless block_given?
    while (line = gets(*args, **options))
      yield line
    end
    self
  end

  alias each_line each

  def readlines(*args, **options)
    lines = []
    each(*args, **options) { |line| lines << line }
    lines
  end

  def getbyte
    readable
    byte = @string.getbyte(@pos) if @pos < @string.bytesize
    @pos += 1 if byte
    byte
  end

  def readbyte
    getbyte || raise(EOFError, "end of file reached")
  end

  def each_byte
    return to_enum(:each_byte) unless block_given?
    while (byte = getbyte)
      yield byte
    end
    self
  end

  def getc
    readable
    # A character has at most four bytes.
    rest = @string.byteslice(@pos, 4)
    return nil if rest.nil? || rest.empty?
    char = rest[0]
    @pos += char.bytesize
    char
  end

  def readchar
    getc || raise(EOFError, "end of file reached")
  end

  def each_char
    return to_enum(:each_char) unless block_given?
    while (char = getc)
      yield char
    end
    self
  end

  def ungetbyte(byte)
    unread(byte.is_a?(Integer) ? (byte & 255).chr : byte) if byte
  end

  def ungetc(char)
    unread(char.is_a?(Integer) ? char.chr : char) if char
  end

  # ---- writing

  def write(*texts)
    raise IOError, "not opened for writing" unless @writable
    texts.inject(0) { |sum, text| sum + put(text.to_s) }
  end

  alias syswrite write
  alias write_nonblock write

  def <<(object)
    write(object)
    self
  end

  def truncate(size)
    raise IOError, "not opened for writing" unless @writable
    now = @string.bytesize
    size < now ? @string.replace(@string.byteslice(0, size)) : @string << "\0" * (size - now)
    0
  end

  # ---- the position

  def pos=(pos)
    raise Errno::EINVAL if pos < 0
    @pos = pos
  end

  alias tell pos

  def rewind
    @pos = 0
    @lineno = 0
    0
  end

  # Whence: 0 or :SET from the start, 1 or :CUR from here, 2 or :END from the end.
  def seek(offset, whence = 0)
    raise IOError, "closed stream" if closed?
    base = case whence
    when 0, :SET then 0
    when 1, :CUR then @pos
    when 2, :END then @string.bytesize
    else raise Errno::EINVAL, "invalid whence"
    end
    raise Errno::EINVAL if base + offset < 0
    @pos = base + offset
    0
  end

  def eof?
    readable
    @pos >= @string.bytesize
  end

  alias eof eof?

  def size = @string.bytesize
  alias length size

  # ---- methods of a file

  def close
    @readable = @writable = false
    nil
  end

  def close_read
    raise IOError, "closing non-duplex IO for reading" unless @readable
    @readable = false
    nil
  end

  def close_write
    raise IOError, "closing non-duplex IO for writing" unless @writable
    @writable = false
    nil
  end

  def closed? = !@readable && !@writable
  def closed_read? = !@readable
  def closed_write? = !@writable
  def flush = self
  def fsync = 0
  def fileno = nil
  def pid = nil
  def tty? = false
  def isatty = false
  def binmode = self
  def fcntl(*_args) = raise(NotImplementedError, "fcntl() function is unimplemented on this machine")
  def set_encoding(*_args) = self
  def set_encoding_by_bom = nil
  # Also serves as a Tempfile, which other servers use for uploads.
  def unlink = nil
  def close! = close
  def path = nil

  private

  def readable
    raise IOError, "not opened for reading" unless @readable
  end

  def next_line(separator, limit)
    if separator == ""
      @pos += 1 while @string.getbyte(@pos) == 10 && @pos < @string.bytesize
      return slice_to("\n\n", limit) { @pos += 1 while @string.getbyte(@pos) == 10 && @pos < @string.bytesize }
    end
    slice_to(separator, limit)
  end

  def slice_to(separator, limit)
    total = @string.bytesize
    return nil if @pos >= total
    found = separator && @string.byteindex(separator, @pos)
    stop = found ? found + separator.bytesize : total
    stop = whole_char(@pos + limit, stop) if limit && limit > 0 && @pos + limit < stop
    line = @string.byteslice(@pos, stop - @pos)
    @pos = stop
    yield if block_given?
    line
  end

  # A limit does not split a UTF-8 character.
  def whole_char(stop, last)
    stop += 1 while stop < last && (@string.getbyte(stop) & 0xC0) == 0x80
    stop
  end

  def put(text)
    size = text.bytesize
    return 0 if size == 0
    total = @string.bytesize
    @pos = total if @append
    if @pos == total
      @string << text
    else
      @string << "\0" * (@pos - total) if @pos > total
      tail = @string.byteslice(@pos + size, total) || ""
      @string.replace(@string.byteslice(0, @pos) + text + tail)
    end
    @pos += size
    size
  end

  def unread(text)
    size = text.bytesize
    if @pos >= size
      @string.replace(@string.byteslice(0, @pos - size) + text + (@string.byteslice(@pos, @string.bytesize) || ""))
      @pos -= size
    else
      @string.replace(text + (@string.byteslice(@pos, @string.bytesize) || ""))
      @pos = 0
    end
    nil
  end
end
