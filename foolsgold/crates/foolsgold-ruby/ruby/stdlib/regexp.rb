# The parts of Regexp and MatchData that are plain Ruby.

class Regexp
  IGNORECASE = 1
  EXTENDED = 2
  MULTILINE = 4
  FIXEDENCODING = 16
  NOENCODING = 32

  attr_reader :source, :options

  def self.last_match(group = nil)
    group ? $~ && $~[group] : $~
  end

  def self.union(*patterns)
    patterns = patterns[0] if patterns.size == 1 && patterns[0].is_a?(Array)
    return new("(?!)") if patterns.empty?
    if patterns.size == 1
      pattern = patterns[0]
      return pattern.is_a?(Regexp) ? pattern : new(escape(pattern))
    end
    new(patterns.map { |pattern| pattern.is_a?(Regexp) ? pattern.to_s : escape(pattern) }.join("|"))
  end

  def self.try_convert(object)
    object.is_a?(Regexp) ? object : nil
  end

  def self.timeout = nil
  def self.linear_time?(*) = true

  def names = named_captures.keys
  def casefold? = @options & IGNORECASE != 0
  def fixed_encoding? = !@source.ascii_only?
  def encoding = @source.encoding
  def timeout = nil

  def ==(other)
    other.is_a?(Regexp) && @source == other.source && @options == other.options
  end
  alias eql? ==

  def hash = @source.hash ^ @options

  def ~
    self =~ $_
  end
end

class MatchData
  def [](index, length = nil)
    return to_a[index, length] if length
    index.is_a?(Range) ? to_a[index] : __group(index)
  end

  def begin(group) = __span(group)[0]
  def end(group) = __span(group)[1]
  def offset(group) = __span(group)
  def match(group) = __group(group)
  def match_length(group) = __group(group)&.length
  def names = regexp.names

  def named_captures(symbolize_names: false)
    captures = {}
    names.each { |name| captures[symbolize_names ? name.to_sym : name] = __group(name) }
    captures
  end

  def values_at(*groups)
    all = to_a
    groups.map { |group| group.is_a?(Integer) ? all[group] : __group(group) }
  end

  def deconstruct = captures

  def deconstruct_keys(keys)
    found = named_captures(symbolize_names: true)
    keys ? found.select { |name, _| keys.include?(name) } : found
  end

  def ==(other)
    other.is_a?(MatchData) && string == other.string && regexp == other.regexp && byteoffset(0) == other.byteoffset(0)
  end
  alias eql? ==

  def hash = string.hash ^ regexp.hash

  def inspect
    found = names
    found = (1...size).to_a if found.empty?
    groups = found.map { |name| " #{name}:#{__group(name).inspect}" }
    "#<MatchData #{to_s.inspect}#{groups.join}>"
  end
end

module Enumerable
  def grep_v(pattern, &block)
    rest = reject { |item| pattern === item }
    block ? rest.map(&block) : rest
  end
end

class Symbol
  def =~(pattern) = to_s =~ pattern
  def match(pattern, at = 0) = to_s.match(pattern, at)
  def match?(pattern, at = 0) = to_s.match?(pattern, at)
end

class NilClass
  def =~(_pattern) = nil
end
