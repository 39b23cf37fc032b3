# Rack::Session::Abstract: the session that an application sees, and the middleware that reads it on first use and
# writes it after the answer. Where it is stored is up to three methods of a subclass: find_session, write_session and
# delete_session.

require "rack/constants"
require "rack/session"
require "rack/request"
require "rack/response"
require "securerandom"
require "digest"

module Rack
  module Session
    # The id of a session. A store keeps `private_id`, so that reading the store is not enough to take over sessions.
    class SessionId
      ID_VERSION = 2

      attr_reader :public_id

      def initialize(public_id)
        @public_id = public_id
      end

      def private_id
        "#{ID_VERSION}::#{Digest::SHA256.hexdigest(public_id)}"
      end

      alias cookie_value public_id
      alias to_s public_id

      def empty?
        false
      end

      def inspect
        public_id.inspect
      end
    end

    module Abstract
      # A Hash with Strings as keys that is loaded when it is first used.
      class SessionHash
        include Enumerable

        # A value that no application can pass as a default.
        Unspecified = Object.new

        attr_writer :id

        def self.find(request)
          request.get_header(RACK_SESSION)
        end

        def self.set(request, session)
          request.set_header(RACK_SESSION, session)
        end

        def self.set_options(request, options)
          request.set_header(RACK_SESSION_OPTIONS, options.dup)
        end

        def initialize(store, request)
          @store = store
          @req = request
          @loaded = false
          @known = nil
          @data = nil
        end

        def id
          return @id if @loaded || instance_variable_defined?(:@id)
          @id = @store.__send__(:extract_session_id, @req)
        end

        def options = @req.session_options
        def loaded? = @loaded

        # Whether the client sent one. This does not load it.
        def exists?
          return @known unless @known.nil?
          @data = {}
          @known = @store.__send__(:session_exists?, @req) ? true : false
        end

        def [](key) = read[key.to_s]
        def dig(key, *keys) = read.dig(key.to_s, *keys)
        def key?(key) = read.key?(key.to_s)
        alias has_key? key?
        alias include? key?

        def fetch(key, default = Unspecified, &block)
          return read.fetch(key.to_s, &block) if Unspecified.equal?(default)
          read.fetch(key.to_s, default, &block)
        end

        def each(&block) = read.each(&block)
        def empty? = read.empty?
        def keys = read.keys
        def values = read.values
        def to_hash = read.dup

        def []=(key, value)
          write[key.to_s] = value
        end

        def store(key, value)
          self[key] = value
        end

        def delete(key) = write.delete(key.to_s)
        def clear = write.clear
        def update(other) = write.update(by_name(other))
        alias merge! update
        def replace(other) = write.replace(by_name(other))

        # Forgets everything; what is stored from now on belongs to a new session.
        def destroy
          clear
          @id = @store.__send__(:delete_session, @req, id, options)
        end

        def inspect
          loaded? ? @data.inspect : "#<#{self.class}:0x#{object_id.to_s(16)} not yet loaded>"
        end

        private

        # Loads the session for reading; if there is none, nothing has to be written afterwards.
        def read
          load! if !@loaded && exists?
          @data
        end

        def write
          load! unless @loaded
          @data
        end

        def load!
          @id, session = @store.__send__(:load_session, @req)
          @data = by_name(session)
          @loaded = true
        end

        def by_name(other)
          other.to_hash.each_with_object({}) { |(key, value), named| named[key.to_s] = value }
        end
      end

      # The middleware, for a store of any kind.
      class Persisted
        DEFAULT_OPTIONS = {
          key: RACK_SESSION, path: "/", domain: nil, expire_after: nil, secure: false, httponly: true, defer: false,
          renew: false, sidbits: 128, cookie_only: true, secure_random: ::SecureRandom
        }.freeze

        # Options that only the middleware uses. Secrets stay out of the environment, since pages that show it would
        # show them.
        OWN_OPTIONS = [:key, :cookie_only, :same_site, :secret, :old_secret, :secrets].freeze

        # Each of these has the session written even if the application did not use it.
        FORCING = [:max_age, :renew, :drop, :defer, :expire_after].freeze

        attr_reader :key, :default_options, :sid_secure

        def initialize(app, options = {})
          @app = app
          all = self.class::DEFAULT_OPTIONS.merge(options)
          @key = all[:key]
          @cookie_only = all[:cookie_only]
          @same_site = all[:same_site]
          @sid_secure = all[:secure_random]
          @sid_length = all[:sidbits] / 4
          @default_options = all.reject { |name, _| OWN_OPTIONS.include?(name) }
        end

        def call(env)
          context(env)
        end

        def context(env, app = @app)
          request = make_request(env)
          prepare_session(request)
          status, headers, body = app.call(request.env)
          response = Response::Raw.new(status, headers)
          commit_session(request, response)
          [status, response.headers, body]
        end

        # Writes the session and adds the cookie, if anything has changed.
        def commit_session(request, response)
          session = request.get_header(RACK_SESSION)
          options = session.options
          if options[:drop] || options[:renew]
            id = delete_session(request, session.id || generate_sid, options)
            return unless id
          end
          return unless commit_session?(request, session, options)
          session.__send__(:load!) unless loaded_session?(session)
          id ||= session.id
          kept = session.to_hash.reject { |_, value| value.nil? }
          written = write_session(request, id, kept, options)
          if !written
            errors = request.get_header(RACK_ERRORS)
            errors.puts("Warning! #{self.class.name} failed to save session. Content dropped.")
          elsif !options[:defer] || options[:renew]
            set_cookie(request, response, cookie(request, response, written, options))
          end
        end

        private

        def make_request(env) = Request.new(env)
        def session_class = SessionHash
        def cookie_value(written) = written

        def generate_sid(secure = @sid_secure)
          secure.hex(@sid_length)
        end

        def prepare_session(request)
          present = request.get_header(RACK_SESSION)
          session = session_class.new(self, request)
          request.set_header(RACK_SESSION, session)
          request.set_header(RACK_SESSION_OPTIONS, @default_options.dup)
          session.merge!(present) if present
        end

        def load_session(request)
          id, session = find_session(request, current_session_id(request))
          [id, session || {}]
        end

        def extract_session_id(request)
          id = request.cookies[@key]
          id ||= request.params[@key] unless @cookie_only
          id
        end

        def current_session_id(request) = request.get_header(RACK_SESSION).id

        def session_exists?(request)
          id = current_session_id(request)
          id && !id.empty?
        end

        def commit_session?(request, session, options)
          return false if options[:skip]
          return false unless loaded_session?(session) || forced_session_update?(session, options)
          security_matches?(request, options)
        end

        def loaded_session?(session) = !session.is_a?(session_class) || session.loaded?

        def forced_session_update?(session, options)
          force_options?(options) && session && !session.empty?
        end

        def force_options?(options) = FORCING.any? { |name| options[name] }
        def security_matches?(request, options) = !options[:secure] || request.ssl?

        def cookie(request, response, written, options)
          cookie = { value: cookie_value(written) }
          lasts = options[:max_age] || options[:expire_after]
          cookie[:expires] = Time.now + lasts if lasts
          cookie[:same_site] = @same_site.respond_to?(:call) ? @same_site.call(request, response) : @same_site
          cookie.merge!(options)
        end

        # A cookie that the client already has is only sent again if it would expire otherwise.
        def set_cookie(request, response, cookie)
          return unless cookie[:expires] || request.cookies[@key] != cookie[:value]
          # The header fields may be a constant of the application, shared by all its clients.
          response.headers = response.headers.dup
          response.set_cookie(@key, cookie)
        end

        def find_session(_request, _id) = raise(NotImplementedError, "#{self.class} does not define find_session")
        def write_session(_request, _id, _session, _options) = raise(NotImplementedError, "#{self.class} does not define write_session")
        def delete_session(_request, _id, _options) = raise(NotImplementedError, "#{self.class} does not define delete_session")
      end

      # The same, with ids that a store does not keep in the form the client sends.
      class PersistedSecure < Persisted
        class SecureSessionHash < SessionHash
          def [](key)
            return super unless key == "session_id"
            read
            id.respond_to?(:public_id) ? id.public_id : id
          end
        end

        def generate_sid(*)
          SessionId.new(super)
        end

        def extract_session_id(*)
          id = super
          id && SessionId.new(id)
        end

        private

        def session_class = SecureSessionHash
        def cookie_value(written) = written.cookie_value
      end
    end
  end
end
