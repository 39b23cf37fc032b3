# StringScanner over anchored searches.

class StringScanner
  class Error < StandardError; end

  attr_reader :string, :pos
  alias pointer pos

  def initialize(string, *_rest)
    @string = string
    @pos = 0
    @match = nil
  end

  def string=(string)
    @string = string
    reset
  end

  def pos=(pos)
    pos += @string.bytesize if pos < 0
    raise RangeError, "index out of range" if pos < 0 || pos > @string.bytesize
    @pos = pos
  end
  alias pointer= pos=

  def scan(pattern) = __find(pattern, true, true) && matched
  def match?(pattern) = __find(pattern, true, false) && matched.bytesize
  def check(pattern) = __find(pattern, true, false) && matched
  def skip(pattern) = __find(pattern, true, true) && matched.bytesize

  def scan_until(pattern) = __until(pattern, true)
  def check_until(pattern) = __until(pattern, false)
  def skip_until(pattern) = __until(pattern, true)&.bytesize
  def exist?(pattern) = __until(pattern, false)&.bytesize

  def getch = scan(/./m)
  def peek(count) = @string.byteslice(@pos, count)
  def rest = @string.byteslice(@pos, @string.bytesize - @pos)
  def rest? = !eos?
  def rest_size = @string.bytesize - @pos
  def eos? = @pos >= @string.bytesize
  def beginning_of_line? = @pos == 0 || @string.byteslice(@pos - 1, 1) == "\n"
  alias bol? beginning_of_line?

  def matched = @match && @match[0]
  def matched? = !@match.nil?
  def matched_size = @match && matched.bytesize
  def [](group) = @match && @match[group]
  def captures = @match && @match.captures
  def values_at(*groups) = @match && @match.values_at(*groups)
  def pre_match = @match && @string.byteslice(0, @before + @match.byteoffset(0)[0])
  def post_match = @match && @match.post_match

  def reset
    @pos = 0
    @match = nil
    self
  end

  def terminate
    @pos = @string.bytesize
    @match = nil
    self
  end

  def unscan
    raise Error, "unscan error: previous match record not exist" unless @match
    @pos = @before
    @match = nil
    self
  end

  def <<(text)
    @string << text
    self
  end
  alias concat <<

  def inspect
    return "#<StringScanner fin>" if eos?
    "#<StringScanner #{@pos}/#{@string.bytesize} @ #{peek(5).inspect}>"
  end

  # The rest is matched as a separate text, as in CRuby: \A and ^ match at the scanner's position.
  def __find(pattern, anchored, advance)
    pattern = Regexp.new(Regexp.escape(pattern)) if pattern.is_a?(String)
    text = rest
    @match = anchored ? (text.start_with?(pattern) ? $~ : nil) : pattern.match(text)
    return nil unless @match
    @before = @pos
    @pos += @match.byteoffset(0)[1] if advance
    @match
  end

  def __until(pattern, advance)
    start = @pos
    return nil unless __find(pattern, false, advance)
    @string.byteslice(start, @match.byteoffset(0)[1])
  end
end
