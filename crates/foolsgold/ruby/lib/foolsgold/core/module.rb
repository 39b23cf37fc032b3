# Declarations that CRuby enforces and mruby does not: they are accepted, so that sources load.

class Module
  [:private_constant, :public_constant, :private_class_method, :public_class_method, :deprecate_constant,
   :ruby2_keywords].each do |name|
    define_method(name) { |*_names| nil } unless method_defined?(name)
  end

  unless method_defined?(:module_function)
    # Without names it would have to change what is defined after it; that needs the interpreter.
    def module_function(*names)
      names.each { |name| define_singleton_method(name, instance_method(name).bind(self)) }
      nil
    end
  end

  unless method_defined?(:public_instance_method)
    def public_instance_method(name) = instance_method(name)
  end

  unless method_defined?(:public_method_defined?)
    def public_method_defined?(name, *_rest) = method_defined?(name)
    def private_method_defined?(*_rest) = false
    def protected_method_defined?(*_rest) = false
  end

  # The file is required when the constant is first missed.
  def autoload(name, path)
    @autoload ||= {}
    @autoload[name.to_sym] = path
    nil
  end

  def autoload?(name)
    @autoload && @autoload[name.to_sym]
  end

  alias const_missing_without_autoload const_missing

  def const_missing(name)
    owner = [self, Object].find { |one| one.autoload?(name) }
    return const_missing_without_autoload(name) unless owner
    # Taken out first: a file that does not define it must not be required for ever.
    path = owner.instance_variable_get(:@autoload).delete(name)
    require path
    owner.const_get(name)
  end
end
