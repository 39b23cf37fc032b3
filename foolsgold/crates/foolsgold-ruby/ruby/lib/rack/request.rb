# Rack::Request: named access to a request's environment. It keeps nothing but the environment, so creating one is
# cheap.

require "rack/constants"
require "rack/utils"
require "rack/media_type"
require "rack/request/address"
require "rack/request/parameters"

module Rack
  class Request
    # Methods of every request object; also for classes that keep the environment in their own way.
    module Env
      attr_reader :env

      def initialize(env)
        super()
        @env = env
        @params = nil
      end

      def has_header?(name)
        @env.key?(name)
      end

      def get_header(name)
        @env[name]
      end

      def fetch_header(name, &block)
        @env.fetch(name, &block)
      end

      def each_header(&block)
        @env.each(&block)
      end

      def set_header(name, value)
        @env[name] = value
      end

      def add_header(name, value)
        present = @env[name]
        @env[name] = if value.nil?
          present
        else
          present.nil? ? value.to_s : "#{present},#{value}"
        end
      end

      def delete_header(name)
        @env.delete(name)
      end
    end

    module Helpers
      include Address
      include Parameters

      def body = get_header("rack.input")
      def script_name = get_header("SCRIPT_NAME").to_s
      def path_info = get_header("PATH_INFO").to_s
      def request_method = get_header("REQUEST_METHOD")
      def query_string = get_header("QUERY_STRING").to_s
      def content_length = get_header("CONTENT_LENGTH")
      def logger = get_header("rack.logger")
      def user_agent = get_header("HTTP_USER_AGENT")
      def referer = get_header("HTTP_REFERER")
      def referrer = referer
      def session_options = fetch_header("rack.session.options") { set_header("rack.session.options", {}) }
      def script_name=(path)
        set_header("SCRIPT_NAME", path.to_s)
      end

      def path_info=(path)
        set_header("PATH_INFO", path.to_s)
      end

      def session
        fetch_header("rack.session") { set_header("rack.session", {}) }
      end

      def delete? = request_method == "DELETE"
      def get? = request_method == "GET"
      def head? = request_method == "HEAD"
      def options? = request_method == "OPTIONS"
      def link? = request_method == "LINK"
      def patch? = request_method == "PATCH"
      def post? = request_method == "POST"
      def put? = request_method == "PUT"
      def trace? = request_method == "TRACE"
      def unlink? = request_method == "UNLINK"
      def xhr? = get_header("HTTP_X_REQUESTED_WITH") == "XMLHttpRequest"

      def content_type
        type = get_header("CONTENT_TYPE")
        type.nil? || type.empty? ? nil : type
      end

      def media_type = MediaType.type(content_type)
      def media_type_params = MediaType.params(content_type)
      def content_charset = media_type_params["charset"]

      # Parsed once for each value of the header field.
      def cookies
        field = get_header("HTTP_COOKIE")
        return get_header("rack.request.cookie_hash") if field && get_header("rack.request.cookie_string") == field
        cookies = Utils.parse_cookies_header(field)
        set_header("rack.request.cookie_string", field)
        set_header("rack.request.cookie_hash", cookies)
      end

      def accept_encoding = Utils.q_values(get_header("HTTP_ACCEPT_ENCODING"))
      def accept_language = Utils.q_values(get_header("HTTP_ACCEPT_LANGUAGE"))
    end

    include Env
    include Helpers

    class << self
      # A callable that returns whether an address is a proxy trusted to name its clients.
      attr_accessor :ip_filter
    end

    ALLOWED_SCHEMES = %w[https http wss ws].freeze

    # Loopback and private networks, as far as the text of the address shows.
    self.ip_filter = lambda { |ip|
      ip == "localhost" || ip == "unix" || ip.start_with?("unix:") || ip == "::1" ||
        ip.start_with?("127.") || ip.start_with?("10.") || ip.start_with?("192.168.") ||
        (ip.start_with?("172.") && (16..31).include?(ip.split(".")[1].to_i)) ||
        (ip.size > 4 && ip.include?(":") && %w[fc fd].include?(ip[0, 2].downcase))
    }
  end
end
