# Rack::Headers: header fields with case-insensitive names, which are kept in lower case.

module Rack
  class Headers < Hash
    def self.[](*items)
      headers = new
      if items.size == 1
        return items[0] if items[0].is_a?(Headers)
        headers.update(items[0]) if items[0]
      else
        raise ArgumentError, "odd number of arguments for Hash" if items.size.odd?
        items.each_slice(2) { |name, value| headers[name] = value }
      end
      headers
    end

    def [](name)
      super(lower(name))
    end

    def []=(name, value)
      super(lower(name), value)
    end

    def store(name, value)
      self[name] = value
    end

    def key?(name)
      super(lower(name))
    end

    def has_key?(name)
      key?(name)
    end

    def include?(name)
      key?(name)
    end

    def member?(name)
      key?(name)
    end

    def delete(name, &block)
      super(lower(name), &block)
    end

    def fetch(name, *default, &block)
      return self[name] if key?(name)
      return block.call(name) if block
      return default[0] unless default.empty?
      raise KeyError, "key not found: #{name.inspect}"
    end

    def dig(name, *rest)
      value = self[name]
      value.nil? || rest.empty? ? value : value.dig(*rest)
    end

    def values_at(*names)
      names.map { |name| self[name] }
    end

    def fetch_values(*names, &block)
      names.map { |name| fetch(name, &block) }
    end

    def slice(*names)
      names.each_with_object(Headers.new) { |name, kept| kept[name] = self[name] if key?(name) }
    end

    def except(*names)
      dropped = names.map { |name| lower(name) }
      each_with_object(Headers.new) { |(name, value), kept| kept[name] = value unless dropped.include?(name) }
    end

    def update(*others)
      others.each do |other|
        other.each do |name, value|
          value = yield(lower(name), self[name], value) if block_given? && key?(name)
          self[name] = value
        end
      end
      self
    end

    alias merge! update

    def merge(*others, &block)
      copy = Headers.new
      each { |name, value| copy[name] = value }
      copy.update(*others, &block)
    end

    def replace(other)
      clear
      update(other)
    end

    private

    def lower(name)
      name.is_a?(String) ? name.downcase : name
    end
  end
end
