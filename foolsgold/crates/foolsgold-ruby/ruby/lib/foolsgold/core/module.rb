# Declarations that CRuby enforces and mruby does not: they are accepted so that sources load.

class Module
  [:private_constant, :public_constant, :private_class_method, :public_class_method, :deprecate_constant,
   :ruby2_keywords].each do |name|
    define_method(name) { |*_names| nil } unless method_defined?(name)
  end

  alias module_function_of module_function

  # Without names it applies to the methods that follow, until another visibility is set without names. CRuby also ends
  # it with the body of the module; here it still applies when the module is reopened.
  def module_function(*names)
    @module_functions_follow = true if names.empty?
    names.flatten!
    module_function_of(*names.map(&:to_sym)) unless names.empty?
    names.size > 1 ? names : names[0]
  end

  def method_added(name)
    module_function_of(name) if @module_functions_follow
  end

  [:public, :private, :protected].each do |visibility|
    define_method(visibility) do |*names|
      @module_functions_follow = false if names.empty? && @module_functions_follow
      names.size > 1 ? names : names[0]
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

  # The file is required when the constant is first missing.
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
    owner = autoload_owner(name)
    return const_missing_without_autoload(name) unless owner
    # Removed first: a file that does not define the constant must not be required again and again.
    path = owner.instance_variable_get(:@autoload).delete(name)
    require path
    owner.const_get(name)
  end

  # The owner of a constant's autoload: this class, its ancestors, the modules around it. The enclosing modules are
  # known only from the name: `A::B` is in `A`.
  def autoload_owner(name)
    owner = ancestors.find { |one| one.autoload?(name) }
    outer = to_s
    while owner.nil? && (colons = outer.rindex("::"))
      outer = outer[0, colons]
      around = outer.split("::").inject(Object) { |one, part| one.const_defined?(part) ? one.const_get(part) : Object }
      owner = around if around.autoload?(name)
    end
    owner || (Object.autoload?(name) ? Object : nil)
  end
end

# What every Ruby server has loaded.
Object.autoload(:StringIO, "stringio")
