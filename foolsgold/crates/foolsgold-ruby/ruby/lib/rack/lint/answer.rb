# The rules for the answer: what an application must give to a server.

module Rack
  class Lint
    module Answer
      NAME_FORBIDDEN = "\"(),/:;<=>?@[\\]{}"

      class << self
        def check(answer, env)
          Lint.refuse("response is not an Array, but #{answer.class}") unless answer.is_a?(Array)
          Lint.refuse("response is frozen") if answer.frozen?
          Lint.refuse("response array has #{answer.size} elements instead of 3") unless answer.size == 3
          status, headers, body = answer
          check_status(status)
          check_headers(headers)
          check_hijack(headers, env)
          check_protocol(headers, env)
          check_entity(status, headers)
          check_body(body, headers)
        end

        # rack.hijack gets a stream that is checked too.
        def server_headers(headers, env)
          callable = headers["rack.hijack"]
          return headers unless callable && env["rack.hijack?"]
          headers = headers.dup
          headers["rack.hijack"] = proc { |stream| callable.call(StreamWrapper.new(stream)) }
          headers
        end

        def wrap(body, env, status, headers)
          length = length_of(headers)
          kind = body.respond_to?(:each) ? Each : Call
          kind = EachArray if kind == Each && body.respond_to?(:to_ary)
          kind.new(body, env["REQUEST_METHOD"] == "HEAD", status, length)
        end

        private

        def check_status(status)
          return if status.is_a?(Integer) && status >= 100
          Lint.refuse("Status must be an Integer >=100, not #{status.inspect}")
        end

        def check_headers(headers)
          Lint.refuse("headers object should be a hash, but isn't (got #{headers.class} as headers)") unless headers.is_a?(Hash)
          Lint.refuse("headers object should not be frozen, but is") if headers.frozen?
          headers.each do |name, value|
            Lint.refuse("header key must be a string, was #{name.class}") unless name.is_a?(String)
            next if name.start_with?("rack.")
            check_name(name)
            check_value(name, value)
          end
        end

        def check_name(name)
          Lint.refuse("header must not contain status") if name == "status"
          Lint.refuse("invalid header name: #{name.inspect}") if name.empty?
          name.each_byte do |byte|
            bad = byte <= 32 || byte >= 127 || NAME_FORBIDDEN.include?(byte.chr)
            Lint.refuse("invalid header name: #{name}") if bad
            Lint.refuse("uppercase character in header name: #{name}") if byte >= 65 && byte <= 90
          end
        end

        def check_value(name, value)
          case value
          when String
            return unless value.include?("\0") || value.include?("\r") || value.include?("\n")
            Lint.refuse("invalid header value #{name}: #{value.inspect}")
          when Array
            value.each do |one|
              Lint.refuse("a header value must be a String, but the value of #{name} is a #{one.class}") unless one.is_a?(String)
              check_value(name, one)
            end
          else
            Lint.refuse("a header value must be a String or Array of Strings, but the value of #{name} is a #{value.class}")
          end
        end

        def check_hijack(headers, env)
          return unless headers.key?("rack.hijack")
          Lint.refuse("rack.hijack header must respond to #call") unless headers["rack.hijack"].respond_to?(:call)
          Lint.refuse("rack.hijack header must not be present if server does not support hijacking") unless env["rack.hijack?"]
        end

        def check_protocol(headers, env)
          protocol = headers["rack.protocol"]
          return if protocol.nil?
          offered = env["rack.protocol"]
          Lint.refuse("rack.protocol header is #{protocol.inspect}, but rack.protocol was not set in request!") if offered.nil?
          return if offered.include?(protocol)
          Lint.refuse("rack.protocol header is #{protocol.inspect}, but should be one of #{offered.inspect} from the request!")
        end

        def check_entity(status, headers)
          return unless status < 200 || status == 204 || status == 304
          %w[content-type content-length].each do |name|
            Lint.refuse("#{name} header found in #{status} response, not allowed") if headers.key?(name)
          end
        end

        def check_body(body, headers)
          hijacked = headers.key?("rack.hijack")
          return if hijacked || body.respond_to?(:each) || body.respond_to?(:call)
          Lint.refuse("Response body must respond to each or call, not #{body.class}")
        end

        def length_of(headers)
          headers["content-length"]
        end
      end

      # Common to both kinds of body: they are used once, and not after `close`.
      class Body
        def initialize(body, head, status, length)
          @body = body
          @head = head
          @status = status
          @length = length
          @size = 0
          @used = false
          @closed = false
        end

        def close
          @closed = true
          @body.close if @body.respond_to?(:close)
        end

        def respond_to?(name, include_all = false)
          return @body.respond_to?(name, include_all) if name == :to_path
          super
        end

        def to_path
          path = @body.to_path
          unless path.nil? || path.is_a?(String)
            Lint.refuse("The file identified by body.to_path must be nil or a String, not #{path.class}")
          end
          path
        end

        private

        def use(how)
          Lint.refuse("Response body must only be #{how} once") if @used
          Lint.refuse("Response body must not be used after it was closed") if @closed
          @used = true
        end

        def check_size
          return if @length.nil?
          if @head
            Lint.refuse("Response body was given for HEAD request, but should be empty") unless @size == 0
          elsif @size.to_s != @length
            Lint.refuse("content-length header was #{@length}, but should be #{@size}")
          end
        end
      end

      class Each < Body
        def each
          use("invoked (each)")
          @body.each do |chunk|
            Lint.refuse("Body yielded non-string value #{chunk.inspect}") unless chunk.is_a?(String)
            @size += chunk.bytesize
            yield chunk
          end
          check_size
        end
      end

      class EachArray < Each
        def to_ary
          use("converted (to_ary)")
          parts = @body.to_ary
          Lint.refuse("#to_ary not identical to contents produced by calling #each") unless parts.is_a?(Array)
          parts.each do |chunk|
            Lint.refuse("Body yielded non-string value #{chunk.inspect}") unless chunk.is_a?(String)
            @size += chunk.bytesize
          end
          check_size
          close
          parts
        end
      end

      class Call < Body
        def call(stream)
          use("invoked (call)")
          @body.call(StreamWrapper.new(stream))
        end
      end
    end
  end
end
