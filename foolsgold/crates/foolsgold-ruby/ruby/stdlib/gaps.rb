# Small things that mruby's own classes lack or do differently.

class EncodingError < StandardError; end unless Object.const_defined?(:EncodingError)

module Kernel
  alias __core_Integer Integer
  alias __core_Float Float
  alias __core_rand rand

  def Integer(value, base = nil, exception: true)
    base ? __core_Integer(value, base) : __core_Integer(value)
  rescue ArgumentError, TypeError, RangeError => error
    return nil unless exception
    raise ArgumentError, "invalid value for Integer(): #{value.inspect}", cause: error.cause if error.is_a?(ArgumentError) && value.is_a?(String)
    raise TypeError, "can't convert #{value.nil? ? "nil" : value.class} into Integer", cause: error.cause if error.is_a?(TypeError)
    raise error
  end

  def Float(value, exception: true)
    value.is_a?(String) ? FoolsGold::Native.strict_float(value) : __core_Float(value)
  rescue ArgumentError, TypeError => error
    return nil unless exception
    raise TypeError, "can't convert #{value.nil? ? "nil" : value.class} into Float", cause: error.cause if error.is_a?(TypeError)
    raise error
  end

  def rand(limit = nil)
    return limit ? __core_rand(limit) : __core_rand unless limit.is_a?(Range)
    first = limit.first
    last = limit.last
    return first + __core_rand * (last - first) if first.is_a?(Float) || last.is_a?(Float)
    count = last - first + (limit.exclude_end? ? 0 : 1)
    count > 0 ? first + __core_rand(count) : nil
  end
end

class Random
  class << self
    def rand(limit = nil) = Kernel.instance_method(:rand).bind(self).call(limit)
    def urandom(count) = FoolsGold::Native.random_bytes(count)
    def new_seed = FoolsGold::Native.random_below(1 << 62)
  end
end

class Integer
  def self.sqrt(number)
    raise Math::DomainError, "Numerical argument is out of domain - \"isqrt\"" if number < 0
    root = Math.sqrt(number).to_i
    root -= 1 while root * root > number
    root += 1 while (root + 1) * (root + 1) <= number
    root
  end

  def integer? = true
  def magnitude = abs
end

class Float
  def integer? = false
  def magnitude = abs
  def fdiv(other) = self / other
end

class Range
  def sum(start = 0, &block)
    return super unless block.nil? && self.begin.is_a?(Integer) && self.end.is_a?(Integer)
    last = exclude_end? ? self.end - 1 : self.end
    last < self.begin ? start : start + (self.begin + last) * (last - self.begin + 1) / 2
  end
end

class Hash
  def to_hash = self
end

class Symbol
  def id2name = to_s
  def upcase(*options) = to_s.upcase(*options).to_sym
  def downcase(*options) = to_s.downcase(*options).to_sym
  def swapcase(*options) = to_s.swapcase(*options).to_sym
  def capitalize(*options) = to_s.capitalize(*options).to_sym
end

class String
  def each_line(separator = "\n", chomp: false, &block)
    return __lines(separator, chomp).each unless block
    __lines(separator, chomp).each(&block)
    self
  end

  def lines(separator = "\n", chomp: false, &block)
    block ? each_line(separator, chomp: chomp, &block) : __lines(separator, chomp)
  end

  def __lines(separator, chomp)
    return [dup] if separator.nil?
    # Without a separator, paragraphs: any number of empty lines ends one.
    return scan(/.+?(?:\n{2,}|\z)/m).map { |part| chomp ? part.sub(/\n+\z/, "") : part.sub(/\n{2,}\z/, "\n\n") } if separator.empty?
    parts = split(separator, -1)
    last = parts.pop
    parts.map! { |part| part + separator } unless chomp
    parts.map! { |part| part.end_with?("\r") ? part[0...-1] : part } if chomp && separator == "\n"
    parts << last unless last.nil? || last.empty?
    parts
  end

  def sum(bits = 16)
    total = 0
    each_byte { |byte| total += byte }
    total & ((1 << bits) - 1)
  end
end

module Comparable
  alias __core_clamp clamp

  # Ranges without a beginning or an end.
  def clamp(least, most = nil)
    return __core_clamp(least, most) unless most.nil? && least.is_a?(Range) && (least.begin.nil? || least.end.nil?)
    raise ArgumentError, "cannot clamp with an exclusive range" if least.end && least.exclude_end?
    return least.begin if least.begin && (self <=> least.begin) < 0
    least.end && (self <=> least.end) > 0 ? least.end : self
  end
end

# The n greatest and least elements.
[Enumerable, Range].each do |owner|
  owner.class_eval do
    alias_method :__core_max, :max
    alias_method :__core_min, :min

    def max(count = nil, &block)
      count.nil? ? __core_max(&block) : to_a.sort(&block).reverse.first(count)
    end

    def min(count = nil, &block)
      count.nil? ? __core_min(&block) : to_a.sort(&block).first(count)
    end
  end
end

module Enumerable
  alias __core_max_by max_by
  alias __core_min_by min_by

  def max_by(count = nil, &block)
    count.nil? || block.nil? ? __core_max_by(&block) : sort_by(&block).reverse.first(count)
  end

  def min_by(count = nil, &block)
    count.nil? || block.nil? ? __core_min_by(&block) : sort_by(&block).first(count)
  end

  def compact = reject(&:nil?)

  # Float sums are compensated, as in CRuby.
  def sum(start = 0, &block)
    FoolsGold::Native.sum(block ? map(&block) : to_a, start)
  end

  # Groups neighbours for which the block returns the same value.
  def chunk
    return to_enum(:chunk) unless block_given?
    parts = []
    each do |item|
      key = yield(item)
      next if key.nil? || key == :_separator
      parts.last && parts.last[0] == key && key != :_alone ? parts.last[1] << item : parts << [key, [item]]
    end
    parts.each
  end

  def slice_before(pattern = nil)
    parts = []
    each { |item| parts.empty? || (pattern.nil? ? yield(item) : pattern === item) ? parts << [item] : parts.last << item }
    parts.each
  end

  def slice_after(pattern = nil)
    parts = []
    done = true
    each do |item|
      done ? parts << [item] : parts.last << item
      done = pattern.nil? ? yield(item) : pattern === item
    end
    parts.each
  end
end

class Struct
  class << self
    alias __core_new new

    # `keyword_init: true` as in CRuby. The classes it creates define their own `new`.
    def new(*names, keyword_init: nil, &block)
      type = __core_new(*names)
      if keyword_init
        members = type.members
        type.alias_method(:__core_initialize, :initialize)
        type.define_method(:initialize) do |given = nil, **named|
          given = (given || named).to_h { |name, value| [name.to_sym, value] }
          unknown = given.keys - members
          raise ArgumentError, "unknown keywords: #{unknown.join(", ")}" unless unknown.empty?
          __core_initialize(*members.map { |name| given[name] })
        end
      end
      type.define_singleton_method(:keyword_init?) { keyword_init }
      type.class_eval(&block) if block
      type
    end
  end
end
