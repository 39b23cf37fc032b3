# SimpleDelegator and DelegateClass: an object that delegates the methods it does not define.

class Delegator
  def initialize(object)
    __setobj__(object)
  end

  def method_missing(name, *args, **options, &block)
    target = __getobj__
    return super unless target.respond_to?(name)
    options.empty? ? target.__send__(name, *args, &block) : target.__send__(name, *args, **options, &block)
  end

  def respond_to_missing?(name, include_all = false)
    __getobj__.respond_to?(name, include_all)
  end

  # Methods that every object has would never be missing.
  [:to_s, :inspect, :hash, :=~, :===].each do |name|
    define_method(name) { |*args| __getobj__.__send__(name, *args) }
  end

  def ==(other)
    other.equal?(self) || __getobj__ == (other.is_a?(Delegator) ? other.__getobj__ : other)
  end

  def !=(other)
    !(self == other)
  end

  def eql?(other)
    other.equal?(self) || __getobj__.eql?(other)
  end

  def !
    !__getobj__
  end
end

class SimpleDelegator < Delegator
  def __getobj__
    @delegate_sd_obj
  end

  def __setobj__(object)
    @delegate_sd_obj = object
  end
end

def DelegateClass(_superclass)
  Class.new(SimpleDelegator)
end
