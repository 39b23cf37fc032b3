# Rack::MockResponse: an application's answer, read to its end.

require "rack/response"

module Rack
  class MockResponse < Response
    # A cookie as a browser would read it from Set-Cookie.
    class Cookie
      attr_reader :name, :value, :path, :domain, :expires, :secure

      def initialize(name, value, attributes)
        @name = name
        @value = value
        @path = attributes["path"]
        @domain = attributes["domain"]
        @expires = attributes["expires"]
        @secure = attributes.key?("secure")
      end
    end

    attr_accessor :errors
    attr_reader :original_headers, :cookies

    def initialize(status, headers, body, errors = nil)
      @original_headers = headers
      @errors = errors.respond_to?(:string) ? errors.string : errors
      super(read(body), status, headers)
      @cookies = parse_cookies
    end

    def body
      return @text if @text
      @text = +""
      @body.each { |part| @text << part }
      @text
    end

    def =~(other)
      body =~ other
    end

    def match(other)
      body.match(other)
    end

    def cookie(name)
      @cookies[name]
    end

    def empty?
      [201, 204, 304].include?(status)
    end

    private

    # A streaming body writes into a buffer.
    def read(body)
      return body unless !body.respond_to?(:each) && body.respond_to?(:call)
      stream = Collector.new
      body.call(stream)
      [stream.text]
    end

    def parse_cookies
      found = {}
      fields = get_header("set-cookie")
      fields = fields.split("\n") if fields.is_a?(String)
      (fields || []).each do |field|
        pair, *attributes = field.split(";").map(&:strip)
        name, value = pair.split("=", 2)
        named = attributes.each_with_object({}) do |one, all|
          key, content = one.split("=", 2)
          all[key.downcase] = content
        end
        found[name] = Cookie.new(name, Utils.unescape(value.to_s).split("&"), named)
      end
      found
    end

    # The stream that a streaming body writes to.
    class Collector
      attr_reader :text

      def initialize
        @text = +""
        @closed = false
      end

      def write(*texts)
        raise IOError, "closed stream" if @closed
        texts.inject(0) { |sum, text| @text << text.to_s; sum + text.to_s.bytesize }
      end

      def <<(text)
        write(text)
        self
      end

      def read(*_args) = nil
      def flush = self
      def close_read = nil
      def closed? = @closed

      def close(*_error)
        @closed = true
        nil
      end

      def close_write
        close
      end
    end
  end
end
