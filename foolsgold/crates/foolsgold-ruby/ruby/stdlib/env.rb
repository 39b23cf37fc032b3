# ENV: a copy of the process's environment. What an application writes stays inside its interpreter, and is lost with
# it.

module FoolsGold
  class Environment
    include Enumerable

    def initialize(variables) = @variables = variables

    def [](name) = @variables[__name(name)]

    def []=(name, value)
      return delete(name) && nil if value.nil?
      raise TypeError, "no implicit conversion of #{value.class} into String" unless value.is_a?(String)
      @variables[__name(name).dup.freeze] = value.dup.freeze
    end
    alias store []=

    def fetch(name, *default)
      value = self[name]
      return value unless value.nil?
      return yield(name) if block_given?
      return default[0] unless default.empty?
      raise KeyError, "key not found: #{name.inspect}"
    end

    def delete(name)
      value = @variables.delete(__name(name))
      value.nil? && block_given? ? yield(name) : value
    end

    def key?(name) = @variables.key?(__name(name))
    alias include? key?
    alias has_key? key?
    alias member? key?
    def value?(value) = @variables.value?(value)
    alias has_value? value?
    def key(value) = @variables.key(value)
    def keys = @variables.keys
    def values = @variables.values
    def size = @variables.size
    alias length size
    def empty? = @variables.empty?
    def values_at(*names) = names.map { |name| self[name] }
    def to_a = @variables.to_a
    def to_hash = @variables.dup
    def slice(*names) = names.select { |name| key?(name) }.map { |name| [name, self[name]] }.to_h

    def to_h(&block)
      block ? @variables.map(&block).to_h : @variables.dup
    end

    def each(&block)
      return to_enum(:each) unless block
      @variables.each(&block)
      self
    end
    alias each_pair each

    def update(other)
      other.each { |name, value| self[name] = value }
      self
    end
    alias merge! update

    def select(&block) = @variables.select(&block)
    alias filter select
    def reject(&block) = @variables.reject(&block)
    def to_s = "ENV"
    def inspect = @variables.inspect

    def __name(name)
      return name if name.is_a?(String)
      raise TypeError, "no implicit conversion of #{name.class} into String"
    end
  end
end

ENV = FoolsGold::Environment.new(FoolsGold::Native::ENVIRONMENT)
