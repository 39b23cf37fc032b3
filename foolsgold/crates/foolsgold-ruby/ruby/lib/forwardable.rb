# Forwardable: methods delegated to another object, which is named by an accessor or an instance variable.

module Forwardable
  def instance_delegate(hash)
    hash.each do |methods, accessor|
      methods = [methods] unless methods.respond_to?(:each)
      methods.each { |method| def_instance_delegator(accessor, method) }
    end
  end

  def def_instance_delegators(accessor, *methods)
    methods.each do |method|
      def_instance_delegator(accessor, method) unless [:__send__, :__id__].include?(method.to_sym)
    end
  end

  def def_instance_delegator(accessor, method, name = method)
    accessor = accessor.to_sym
    method = method.to_sym
    variable = accessor.to_s.start_with?("@")
    # In a class this defines instance methods; in an extended object, singleton methods.
    define = is_a?(Module) ? :define_method : :define_singleton_method
    __send__(define, name.to_sym) { |*args, **options, &block|
      target = variable ? instance_variable_get(accessor) : __send__(accessor)
      options.empty? ? target.__send__(method, *args, &block) : target.__send__(method, *args, **options, &block)
    }
    name.to_sym
  end

  alias delegate instance_delegate
  alias def_delegators def_instance_delegators
  alias def_delegator def_instance_delegator
end

# The same for methods of the module itself.
module SingleForwardable
  def single_delegate(hash)
    hash.each do |methods, accessor|
      methods = [methods] unless methods.respond_to?(:each)
      methods.each { |method| def_single_delegator(accessor, method) }
    end
  end

  def def_single_delegators(accessor, *methods)
    methods.each { |method| def_single_delegator(accessor, method) }
  end

  def def_single_delegator(accessor, method, name = method)
    text = accessor.to_s
    define_singleton_method(name.to_sym) { |*args, &block|
      target = text.start_with?("@") ? instance_variable_get(text.to_sym) : __send__(text.to_sym)
      target.__send__(method.to_sym, *args, &block)
    }
    name.to_sym
  end
end
