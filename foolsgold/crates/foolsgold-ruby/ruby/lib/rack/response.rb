# Rack::Response: an answer built step by step. `finish` returns Rack's three values.

require "rack/constants"
require "rack/utils"
require "rack/media_type"

module Rack
  class Response
    # Methods that need only `status` and the header fields; also for classes that keep them in their own way.
    module Helpers
      def has_header?(name)
        headers.key?(name)
      end

      def get_header(name)
        headers[name]
      end

      def set_header(name, value)
        headers[name] = value
      end

      def delete_header(name)
        headers.delete(name)
      end

      def invalid? = status < 100 || status >= 600
      def informational? = status >= 100 && status < 200
      def successful? = status >= 200 && status < 300
      def redirection? = status >= 300 && status < 400
      def client_error? = status >= 400 && status < 500
      def server_error? = status >= 500 && status < 600
      def ok? = status == 200
      def created? = status == 201
      def accepted? = status == 202
      def no_content? = status == 204
      def moved_permanently? = status == 301
      def bad_request? = status == 400
      def unauthorized? = status == 401
      def forbidden? = status == 403
      def not_found? = status == 404
      def method_not_allowed? = status == 405
      def not_acceptable? = status == 406
      def request_timeout? = status == 408
      def precondition_failed? = status == 412
      def unprocessable? = status == 422
      def redirect? = [301, 302, 303, 307, 308].include?(status)
      def include?(name) = has_header?(name)
      def content_type = get_header("content-type")
      def media_type = MediaType.type(content_type)
      def media_type_params = MediaType.params(content_type)
      def location = get_header("location")
      def etag = get_header("etag")
      def cache_control = get_header("cache-control")
      def set_cookie_header = get_header("set-cookie")

      def content_length
        length = get_header("content-length")
        length && length.to_i
      end

      def content_type=(type)
        set_header("content-type", type)
      end

      def location=(place)
        set_header("location", place)
      end

      def etag=(value)
        set_header("etag", value)
      end

      def cache_control=(value)
        set_header("cache-control", value)
      end

      def set_cookie_header=(value)
        set_header("set-cookie", value)
      end

      # Adds a value to a header field that may occur several times.
      def add_header(name, value)
        return get_header(name) if value.nil?
        present = get_header(name)
        set_header(name, case present
                         when nil then value.to_s
                         when Array then present + [value.to_s]
                         else [present, value.to_s]
                         end)
      end

      def set_cookie(name, value)
        Utils.set_cookie_header!(headers, name, value)
      end

      def delete_cookie(name, value = {})
        Utils.delete_set_cookie_header!(headers, name, value)
      end

      def do_not_cache!
        set_header("cache-control", "no-cache, must-revalidate")
        set_header("expires", Utils.httpdate(Time.now))
      end

      def cache!(duration = 3600, directive: "public")
        return if (get_header("cache-control") || "").include?("no-cache")
        set_header("cache-control", "#{directive}, max-age=#{duration}")
        set_header("expires", Utils.httpdate(Time.now + duration))
      end
    end

    include Helpers

    attr_accessor :length, :status, :body
    attr_reader :headers

    def self.[](status, headers, body)
      new(body, status, headers)
    end

    # `body` is a String, or any Rack body. With a block the answer is finished after it.
    def initialize(body = nil, status = 200, headers = {})
      raise ArgumentError, "headers must be a Hash" unless headers.respond_to?(:each)
      @status = status.to_i
      @headers = Headers.new
      headers.each { |name, value| @headers[name] = value }
      @writer = self.method(:append)
      @block = nil
      @length = nil
      if body.nil?
        start([], 0)
      elsif body.respond_to?(:to_str)
        start([body], body.bytesize)
      else
        @body = body
        @buffered = nil
      end
      yield self if block_given?
    end

    def redirect(target, status = 302)
      self.status = status
      self.location = target
    end

    def chunked?
      get_header("transfer-encoding") == "chunked"
    end

    def no_entity_body?
      Utils::STATUS_WITH_NO_ENTITY_BODY.key?(@status)
    end

    # [status, headers, body]. A block is called with the response once the body is needed.
    def finish(&block)
      if no_entity_body?
        delete_header("content-type")
        delete_header("content-length")
        close
        return [@status, @headers, []]
      end
      set_header("content-length", @length.to_s) if @length && @buffered && !block && !chunked?
      return [@status, @headers, @body] unless block
      @block = block
      [@status, @headers, self]
    end

    alias to_a finish

    def each(&callback)
      @body.each(&callback)
      return unless @block
      @writer = callback
      @block.call(self)
    end

    # Adds to the body, or sends at once if a block of `finish` is running.
    def write(chunk)
      buffered! if @block.nil?
      @writer.call(chunk.to_s)
      chunk
    end

    alias << write

    def close
      @body.close if @body.respond_to?(:close)
    end

    def empty?
      @block.nil? && @body.respond_to?(:empty?) && @body.empty?
    end

    def buffered?
      buffered!
      @buffered
    end

    alias [] get_header
    alias []= set_header
    alias header headers

    private

    def start(parts, length)
      @body = parts
      @length = length
      @buffered = true
    end

    # Turns a body object into an Array, so that something can be added.
    def buffered!
      return unless @buffered.nil?
      given = @body
      if given.is_a?(Array)
        start(given.dup, given.inject(0) { |sum, part| sum + part.bytesize })
      elsif given.respond_to?(:each)
        parts = []
        size = 0
        given.each { |part| parts << part; size += part.bytesize }
        given.close if given.respond_to?(:close)
        start(parts, size)
      else
        @buffered = false
      end
    end

    def append(chunk)
      chunk = chunk.dup if chunk.frozen?
      @body << chunk
      @length = (@length || 0) + chunk.bytesize if @buffered
      chunk
    end

    # Status and header fields of another answer, without its body.
    class Raw
      include Helpers

      attr_reader :status
      attr_accessor :headers

      def initialize(status, headers)
        @status = status
        @headers = headers
      end
    end
  end
end
