# The rules for the environment: what a server must give to an application.

module Rack
  class Lint
    module Environment
      REQUIRED = %w[REQUEST_METHOD SERVER_NAME QUERY_STRING SERVER_PROTOCOL rack.errors rack.url_scheme].freeze
      TOKEN_MARKS = "!#$%&'*+-.^_`|~"
      SCHEMES = %w[http https ws wss].freeze
      HOST_MARKS = "-._~!$&'()*+,;=%"

      class << self
        def check(env)
          Lint.refuse("no environment was given") if env.nil?
          Lint.refuse("env #{env.inspect} is not a Hash, but #{env.class}") unless env.is_a?(Hash)
          Lint.refuse("env must not be frozen, but is") if env.frozen?
          REQUIRED.each { |key| Lint.refuse("env is missing required key #{key}") unless env.key?(key) }
          check_values(env)
          check_method(env["REQUEST_METHOD"])
          check_target(env)
          check_server(env)
          check_length(env["CONTENT_LENGTH"])
          check_rack(env)
          InputWrapper.check(env["rack.input"]) if env["rack.input"]
          ErrorWrapper.check(env["rack.errors"])
        end

        def token?(text)
          return false if text.empty?
          text.each_byte do |byte|
            next if digit?(byte) || letter?(byte)
            return false unless byte < 128 && TOKEN_MARKS.include?(byte.chr)
          end
          true
        end

        def digits?(text)
          return false if text.empty?
          text.each_byte { |byte| return false unless digit?(byte) }
          true
        end

        private

        def digit?(byte) = byte >= 48 && byte <= 57
        def letter?(byte) = (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122)

        def check_values(env)
          %w[HTTP_CONTENT_TYPE HTTP_CONTENT_LENGTH].each do |key|
            Lint.refuse("env contains #{key}, must use #{key.byteslice(5, key.bytesize)}") if env.key?(key)
          end
          env.each do |key, value|
            Lint.refuse("env key #{key.inspect} is not a String") unless key.is_a?(String)
            # A name without a period is a CGI variable.
            next if key.include?(".")
            Lint.refuse("env variable #{key} has non-string value #{value.inspect}") unless value.is_a?(String)
          end
        end

        def check_method(method)
          Lint.refuse("REQUEST_METHOD unknown: #{method.inspect}") unless token?(method)
        end

        def check_target(env)
          script = env["SCRIPT_NAME"]
          path = env["PATH_INFO"]
          method = env["REQUEST_METHOD"]
          unless script.nil? || script.empty?
            Lint.refuse("SCRIPT_NAME must start with /") unless script.start_with?("/")
            Lint.refuse("SCRIPT_NAME cannot be '/', make it '' and PATH_INFO '/'") if script == "/"
          end
          Lint.refuse("One of SCRIPT_NAME or PATH_INFO must be set (make PATH_INFO '/' if SCRIPT_NAME is empty)") unless script || path
          return if path.nil? || path.empty?
          if path == "*"
            Lint.refuse("Only OPTIONS requests may have PATH_INFO set to '*' (asterisk-form)") unless method == "OPTIONS"
          elsif !path.start_with?("/")
            check_other_form(path, method)
          elsif path.include?("#")
            Lint.refuse("PATH_INFO must not include a fragment starting with '#' (origin-form)")
          end
        end

        # Neither a path nor "*": host and port for CONNECT, or a whole URI.
        def check_other_form(path, method)
          uri = path.include?("://")
          return if method == "CONNECT" && !uri && path.include?(":") && !path.include?("/")
          if uri
            return unless %w[CONNECT OPTIONS].include?(method)
            Lint.refuse("CONNECT and OPTIONS requests must not have PATH_INFO set to a URI (absolute-form)")
          end
          Lint.refuse("PATH_INFO must start with a '/' and must not include a fragment part starting with '#' (origin-form)")
        end

        def check_server(env)
          name = env["SERVER_NAME"]
          Lint.refuse("SERVER_NAME must be a String") unless name.is_a?(String)
          Lint.refuse("#{name} must be a valid authority") unless host?(name)
          port = env["SERVER_PORT"]
          Lint.refuse("SERVER_PORT is not an Integer, but #{port.inspect}") unless port.nil? || digits?(port)
          protocol = env["SERVER_PROTOCOL"]
          Lint.refuse("SERVER_PROTOCOL #{protocol} does not match HTTP/digit or HTTP/digit.digit") unless protocol?(protocol)
          host = env["HTTP_HOST"]
          Lint.refuse("HTTP_HOST must be a valid authority") unless host.nil? || host.empty? || authority?(host)
        end

        def host?(text)
          return text.end_with?("]") && text.delete("0-9a-fA-F:.[]").empty? if text.start_with?("[")
          return false if text.empty?
          text.each_byte do |byte|
            next if digit?(byte) || letter?(byte)
            return false unless byte < 128 && HOST_MARKS.include?(byte.chr)
          end
          true
        end

        def authority?(text)
          close = text.start_with?("[") ? text.index("]") : nil
          colon = text.index(":", close || 0)
          host = colon ? text[0, colon] : text
          port = colon ? text[colon + 1, text.size] : ""
          host?(host) && (port.empty? || digits?(port))
        end

        def protocol?(text)
          return false unless text.start_with?("HTTP/")
          major, minor = text[5, text.size].split(".", -1)
          return false unless text.count(".") <= 1 && major && major.size == 1 && digits?(major)
          minor.nil? || (minor.size == 1 && digits?(minor))
        end

        def check_length(length)
          Lint.refuse("Invalid CONTENT_LENGTH: #{length}") unless length.nil? || digits?(length)
        end

        def check_rack(env)
          scheme = env["rack.url_scheme"]
          Lint.refuse("rack.url_scheme unknown: #{scheme.inspect}") unless SCHEMES.include?(scheme)
          check_protocol(env["rack.protocol"])
          responds(env["rack.session"], "session", :store, :[]=, :fetch, :[], :delete, :clear)
          session = env["rack.session"]
          if session.respond_to?(:to_hash) && (!session.to_hash.is_a?(Hash) || session.to_hash.frozen?)
            Lint.refuse("session #{session.inspect} must respond to to_hash and return an unfrozen Hash")
          end
          responds(env["rack.logger"], "logger", :info, :debug, :warn, :error, :fatal)
          size = env["rack.multipart.buffer_size"]
          Lint.refuse("rack.multipart.buffer_size must be an Integer > 0") unless size.nil? || (size.is_a?(Integer) && size > 0)
          responds(env["rack.multipart.tempfile_factory"], "rack.multipart.tempfile_factory", :call)
          responds(env["rack.early_hints"], "rack.early_hints", :call)
          finished = env["rack.response_finished"]
          return if finished.nil?
          Lint.refuse("rack.response_finished must be an array of callable objects") unless finished.is_a?(Array)
          finished.each { |one| responds(one, "rack.response_finished values", :call) }
        end

        def check_protocol(protocols)
          return if protocols.nil?
          good = protocols.is_a?(Array) && protocols.all? { |one| one.is_a?(String) }
          Lint.refuse("rack.protocol must be an Array of Strings") unless good
        end

        def responds(object, name, *methods)
          return if object.nil?
          methods.each do |method|
            Lint.refuse("#{name} #{object.inspect} must respond to #{method}") unless object.respond_to?(method)
          end
        end
      end
    end
  end
end
