# Methods of String over patterns that are plain Ruby, and encodings: a string is UTF-8 if its bytes are valid, else
# binary.

class Encoding
  class CompatibilityError < StandardError; end
  class UndefinedConversionError < StandardError; end
  class InvalidByteSequenceError < StandardError; end
  class ConverterNotFoundError < StandardError; end

  attr_reader :name
  alias to_s name

  def initialize(name)
    @name = name.freeze
    freeze
  end

  def names = [@name]
  def ascii_compatible? = !@name.start_with?("UTF-16", "UTF-32")
  def dummy? = false
  def inspect = "#<Encoding:#{@name}>"

  UTF_8 = new("UTF-8")
  ASCII_8BIT = BINARY = new("ASCII-8BIT")
  US_ASCII = ASCII = new("US-ASCII")
  ISO_8859_1 = new("ISO-8859-1")
  UTF_16LE = new("UTF-16LE")
  UTF_16BE = new("UTF-16BE")
  UTF_32LE = new("UTF-32LE")
  UTF_32BE = new("UTF-32BE")
  LIST = [UTF_8, ASCII_8BIT, US_ASCII, ISO_8859_1, UTF_16LE, UTF_16BE, UTF_32LE, UTF_32BE].freeze

  class << self
    def list = LIST.dup
    def default_external = UTF_8
    def default_internal = nil
    def default_external=(_encoding); end
    def default_internal=(_encoding); end

    def find(encoding)
      return encoding if encoding.is_a?(Encoding)
      return UTF_8 if encoding == "external" || encoding == "locale" || encoding == "filesystem"
      name = FoolsGold::Native.encoding_name(encoding.to_s)
      LIST.find { |one| one.name == name } || raise(ArgumentError, "unknown encoding name - #{encoding}")
    end
  end
end

class String
  def encoding
    valid_encoding? ? Encoding::UTF_8 : Encoding::ASCII_8BIT
  end

  def ascii_only? = FoolsGold::Native.ascii(self)
  def unpack1(format, **_options) = unpack(format)[0]
  def valid_encoding? = FoolsGold::Native.valid_utf8(self)

  # Bytes have no tag here, so there is nothing to change.
  def force_encoding(encoding)
    Encoding.find(encoding)
    self
  end

  def b = dup
  def unicode_normalize(*) = dup
  def unicode_normalized?(*) = true

  # Options are a plain Hash, since `undef` cannot be the name of a parameter.
  def encode(to = Encoding::UTF_8, from = nil, **options)
    to = Encoding.find(to)
    from = from ? Encoding.find(from) : Encoding::UTF_8
    mark = options[:replace] || (to.name.start_with?("UTF") ? "\u{FFFD}" : "?")
    xml = options[:xml]
    text = FoolsGold::Native.encode(self, from.name, to.name, options[:invalid] == :replace ? mark : nil, options[:undef] == :replace ? mark : nil)
    text = text.gsub(/\r\n?/, "\n") if options[:universal_newline]
    text = text.gsub("\n", "\r\n") if options[:crlf_newline]
    text = FoolsGold::Native.escape_html(text).gsub("&#39;", "'") if xml
    text = text.gsub("&quot;", "\"") if xml == :text
    text = "\"#{text}\"" if xml == :attr
    text
  end

  def encode!(*args, **options) = replace(encode(*args, **options))

  def scrub(mark = nil)
    return dup if valid_encoding?
    return FoolsGold::Native.scrub(self, mark || "\u{FFFD}") unless block_given?
    out = +""
    rest = self
    until rest.valid_encoding?
      good = FoolsGold::Native.scrub(rest, "\0\0").index("\0\0")
      out << rest[0, good]
      out << yield(rest[good, 1])
      rest = rest[(good + 1)..-1]
    end
    out << rest
  end

  def scrub!(*args, &block) = replace(scrub(*args, &block))

  alias __core_partition partition
  alias __core_rpartition rpartition

  def partition(pattern)
    return __core_partition(pattern) unless pattern.is_a?(Regexp)
    found = pattern.match(self)
    found ? [found.pre_match, found[0], found.post_match] : [dup, "", ""]
  end

  def rpartition(pattern)
    return __core_rpartition(pattern) unless pattern.is_a?(Regexp)
    return ["", "", dup] unless rindex(pattern)
    [$~.pre_match, $~[0], $~.post_match]
  end

  alias __core_slice! slice!

  def slice!(pattern, *rest)
    return __core_slice!(pattern, *rest) unless pattern.is_a?(Regexp)
    part = self[pattern, *rest]
    self[pattern, *rest] = "" if part
    part
  end

  def casecmp?(other)
    raise TypeError, "no implicit conversion of #{other.nil? ? "nil" : other.class} into String" unless other.is_a?(String)
    downcase(:fold) == other.downcase(:fold)
  end

  def grapheme_clusters = scan(/\X/)
  def each_grapheme_cluster(&block) = grapheme_clusters.each(&block)
end
