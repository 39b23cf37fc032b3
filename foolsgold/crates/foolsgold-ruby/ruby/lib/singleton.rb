# Singleton: a class with one instance. In shared-nothing mode each request finds it in the state after loading.

module Singleton
  def self.included(owner)
    owner.extend(ClassMethods)
  end

  module ClassMethods
    def instance
      @singleton__instance__ ||= allocate.tap { |one| one.__send__(:initialize) }
    end

    def new(*_args)
      raise NoMethodError, "private method `new' called for #{self}:Class"
    end

    def inherited(child)
      super
      child.instance_variable_set(:@singleton__instance__, nil)
    end
  end

  def clone
    raise TypeError, "can't clone instance of singleton #{self.class}"
  end

  def dup
    raise TypeError, "can't dup instance of singleton #{self.class}"
  end
end
