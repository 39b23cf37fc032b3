# Methods of CRuby's core classes that mruby 3.2 does not have.

class Symbol
  def start_with?(*prefixes) = to_s.start_with?(*prefixes)
  def end_with?(*suffixes) = to_s.end_with?(*suffixes)
  def [](*args) = to_s[*args]
  def succ = to_s.succ.to_sym
end

class Integer
  def even? = self % 2 == 0
  def odd? = self % 2 == 1
  def pred = self - 1
  def ord = self
  def fdiv(other) = to_f / other

  def gcd(other)
    one = abs
    other = other.abs
    one, other = other, one % other until other == 0
    one
  end

  def lcm(other)
    self == 0 || other == 0 ? 0 : (self / gcd(other) * other).abs
  end

  def bit_length
    rest = self < 0 ? ~self : self
    bits = 0
    while rest > 0
      rest >>= 1
      bits += 1
    end
    bits
  end
end

module Enumerable
  # Groups neighbouring elements: a new group starts where the block returns true.
  def slice_when
    parts = []
    each do |item|
      if parts.empty? || yield(parts.last.last, item)
        parts << [item]
      else
        parts.last << item
      end
    end
    parts.each
  end

  def chunk_while
    slice_when { |before, after| !yield(before, after) }
  end

  def each_entry(&block)
    return to_enum(:each_entry) unless block
    each(&block)
    self
  end
end

class Hash
  unless method_defined?(:assoc)
    def assoc(key)
      key?(key) ? [key, self[key]] : nil
    end
  end

  unless method_defined?(:rassoc)
    def rassoc(value)
      each { |key, one| return [key, one] if one == value }
      nil
    end
  end
end

class Range
  unless method_defined?(:step)
    def step(by = 1)
      return to_enum(:step, by) unless block_given?
      raise ArgumentError, "step can't be 0" if by == 0
      value = self.begin
      last = self.end
      while last.nil? || (exclude_end? ? value < last : value <= last)
        yield value
        value += by
      end
      self
    end

    def %(by) = step(by)
  end
end

class Array
  # Rack calls this on a body.
  def to_ary = self unless method_defined?(:to_ary)
end
