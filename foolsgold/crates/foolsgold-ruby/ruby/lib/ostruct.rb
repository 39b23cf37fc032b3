# OpenStruct: an object whose attributes are created by assigning to them.

class OpenStruct
  def initialize(hash = nil)
    @table = {}
    hash&.each { |name, value| @table[name.to_sym] = value }
  end

  def initialize_copy(other)
    @table = other.to_h
  end

  def [](name)
    @table[name.to_sym]
  end

  def []=(name, value)
    raise FrozenError, "can't modify frozen #{self.class}" if frozen?
    @table[name.to_sym] = value
  end

  def to_h(&block)
    block ? @table.to_h(&block) : @table.dup
  end

  def each_pair(&block)
    return @table.each_pair unless block
    @table.each_pair(&block)
    self
  end

  def dig(name, *rest)
    value = self[name]
    rest.empty? || value.nil? ? value : value.dig(*rest)
  end

  def delete_field(name, &block)
    name = name.to_sym
    return @table.delete(name) if @table.key?(name)
    return block.call if block
    raise NameError, "no field `#{name}' in #{inspect}"
  end

  def respond_to_missing?(name, _include_all = false)
    text = name.to_s
    @table.key?((text.end_with?("=") ? text[0, text.size - 1] : text).to_sym)
  end

  def method_missing(name, *args)
    text = name.to_s
    if text.end_with?("=")
      self[text[0, text.size - 1]] = args[0]
    elsif args.empty?
      @table[name]
    else
      super
    end
  end

  def ==(other)
    other.is_a?(OpenStruct) && to_h == other.to_h
  end

  def eql?(other) = self == other
  def hash = @table.hash

  def inspect
    fields = @table.map { |name, value| " #{name}=#{value.inspect}" }
    "#<#{self.class}#{fields.join(",")}>"
  end

  alias to_s inspect
end
