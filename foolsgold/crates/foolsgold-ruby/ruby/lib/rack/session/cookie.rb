# Rack::Session::Cookie: the whole session in a signed cookie, `data--digest`. Anyone can read it, but creating one
# needs the secret; a cookie that was forged or changed is not a session.

require "rack/session/abstract/id"
require "openssl"
require "json"

module Rack
  module Session
    class Cookie < Abstract::PersistedSecure
      # Base64 text, and the coders on top of it.
      class Base64
        def encode(text)
          FoolsGold::Native.base64(text)
        end

        def decode(text)
          FoolsGold::Native.base64_decode(text)
        end

        class JSON < Base64
          def encode(object)
            super(::JSON.dump(object))
          end

          def decode(text)
            text && ::JSON.parse(super(text))
          rescue StandardError
            nil
          end
        end

        class Marshal < Base64
          def initialize
            raise NotImplementedError, "there is no Marshal: use Rack::Session::Cookie::Base64::JSON, the default"
          end
        end

        class ZipJSON < Base64
          def initialize
            raise NotImplementedError, "there is no Zlib: use Rack::Session::Cookie::Base64::JSON, the default"
          end
        end
      end

      # With this coder the application has to store a text.
      class Identity
        def encode(text)
          text
        end

        def decode(text)
          text
        end
      end

      # The id of a session together with its data.
      class SessionId < Session::SessionId
        attr_reader :cookie_value

        def initialize(id, cookie_value)
          super(id.to_s)
          @cookie_value = cookie_value
        end
      end

      UNPACKED = "rack.session.unpacked_cookie_data"

      # Clients accept at least this many bytes of name and value.
      LIMIT = 4096

      attr_reader :coder

      def initialize(app, options = {})
        @secrets = [options[:secret], options[:old_secret], *options[:secrets]].compact
        raise ArgumentError, "Rack::Session::Cookie: the secret is empty" if @secrets.any? { |one| one.empty? }
        @hmac = options.fetch(:hmac) { OpenSSL::Digest::SHA1 }
        unless @secrets.any? || (options[:coder] && options[:let_coder_handle_secure_encoding])
          warn "Rack::Session::Cookie has no secret: every client can write sessions of its own. Give `secret:`."
        end
        @coder = options[:coder] || Base64::JSON.new
        super(app, { coder: @coder }.merge(options).merge(cookie_only: true))
      end

      private

      def find_session(request, _id)
        data = unpacked(request)
        data["session_id"] ||= generate_sid.public_id
        [Session::SessionId.new(data["session_id"]), data]
      end

      def extract_session_id(request)
        id = unpacked(request)["session_id"]
        id && Session::SessionId.new(id)
      end

      # The content of the cookie; empty for a cookie that is not ours.
      def unpacked(request)
        request.fetch_header(UNPACKED) do |name|
          text = request.cookies[@key]
          if text && @secrets.any?
            text, _, digest = text.rpartition("--")
            text = nil unless signed?(text, digest)
          end
          request.set_header(name, decoded(request, text))
        end
      end

      def decoded(request, text)
        data = coder.decode(text)
        data.is_a?(Hash) && (data["session_id"].nil? || data["session_id"].is_a?(String)) ? data : {}
      rescue StandardError => error
        request.get_header(RACK_ERRORS).puts("#{coder.class} does not read the session: #{error.message} (#{error.class})")
        {}
      end

      def write_session(request, id, session, _options)
        session = session.merge("session_id" => id.to_s)
        data = coder.encode(session)
        data = "#{data}--#{generate_hmac(data, @secrets[0])}" if @secrets.any?
        return SessionId.new(id, data) if data.bytesize <= LIMIT - @key.bytesize
        request.get_header(RACK_ERRORS).puts("Warning! Rack::Session::Cookie data size exceeds 4K.")
        nil
      end

      # There is nothing to delete here: the next cookie contains another id.
      def delete_session(_request, _id, options)
        generate_sid unless options[:drop]
      end

      def signed?(data, digest)
        @secrets.any? { |secret| FoolsGold::Native.secure_compare(digest, generate_hmac(data, secret)) }
      end

      def generate_hmac(data, secret)
        OpenSSL::HMAC.hexdigest(@hmac.new, secret, data)
      end
    end
  end
end
