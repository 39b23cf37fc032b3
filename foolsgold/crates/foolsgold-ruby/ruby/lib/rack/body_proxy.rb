# Rack::BodyProxy: a body that calls a block once when it is closed. Everything else is delegated to the wrapped body.

module Rack
  class BodyProxy
    def initialize(body, &block)
      @body = body
      @block = block
      @closed = false
    end

    def each(&block)
      @body.each(&block)
    end

    def close
      return if @closed
      @closed = true
      begin
        @body.close if @body.respond_to?(:close)
      ensure
        @block.call
      end
    end

    def closed?
      @closed
    end

    def respond_to?(name, include_all = false)
      case name
      when :each, :call, :to_str
        # `each` is defined here for speed; a streaming body has only `call`.
        @body.respond_to?(name, include_all)
      when :close, :closed?
        true
      else
        super || @body.respond_to?(name, include_all)
      end
    end

    def respond_to_missing?(name, include_all = false)
      name != :to_str && @body.respond_to?(name, include_all)
    end

    # An Array from `to_ary` is the whole body, so the proxy is closed with it.
    def to_ary
      parts = @body.to_ary
      close
      parts
    end

    def method_missing(name, *args, &block)
      return super if name == :to_str || !@body.respond_to?(name)
      @body.__send__(name, *args, &block)
    end
  end
end
