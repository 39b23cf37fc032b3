# Rack::Utils: escaping, query strings, cookies, dates, ranges and the names of status codes.

require "rack/constants"
require "rack/headers"
require "rack/utils/escape"
require "rack/utils/cookies"
require "rack/utils/http"
require "rack/query_parser"

module Rack
  module Utils
    ParameterTypeError = QueryParser::ParameterTypeError
    InvalidParameterError = QueryParser::InvalidParameterError
    ParamsTooDeepError = QueryParser::ParamsTooDeepError
    DEFAULT_SEP = "&"
    COMMON_SEP = QueryParser::COMMON_SEP
    KeySpaceConstrainedParams = Hash
    # Its name in Rack 2.
    HeaderHash = Headers

    @default_query_parser = QueryParser.make_default(32)
    @multipart_total_part_limit = 4096
    @multipart_file_limit = 128

    class << self
      attr_accessor :default_query_parser, :multipart_total_part_limit, :multipart_file_limit

      alias multipart_part_limit multipart_file_limit
      alias multipart_part_limit= multipart_file_limit=

      def param_depth_limit
        default_query_parser.param_depth_limit
      end

      def param_depth_limit=(limit)
        self.default_query_parser = default_query_parser.new_depth_limit(limit)
      end

      def parse_query(query, separator = nil, &unescaper)
        default_query_parser.parse_query(query, separator, &unescaper)
      end

      def parse_nested_query(query, separator = nil)
        default_query_parser.parse_nested_query(query, separator)
      end

      def build_query(params)
        params.map { |name, value|
          if value.is_a?(Array)
            build_query(value.map { |one| [name, one] })
          else
            value.nil? ? escape(name) : "#{escape(name)}=#{escape(value)}"
          end
        }.join("&")
      end

      def build_nested_query(value, prefix = nil)
        case value
        when Array
          value.map { |one| build_nested_query(one, "#{prefix}[]") }.join("&")
        when Hash
          value.map { |name, one| build_nested_query(one, prefix ? "#{prefix}[#{name}]" : name) }
               .reject { |one| one.empty? }.join("&")
        when nil
          escape(prefix)
        else
          raise ArgumentError, "value must be a Hash" if prefix.nil?
          "#{escape(prefix)}=#{escape(value)}"
        end
      end

      # Compares in a time that depends only on the length.
      def secure_compare(one, other)
        FoolsGold::Native.secure_compare(one, other)
      end
    end

    # Methods that `include Rack::Utils` provides as instance methods.
    NAMES = [:escape, :unescape, :escape_path, :unescape_path, :escape_html, :unescape_html, :parse_query,
             :parse_nested_query, :build_query, :build_nested_query, :parse_cookies, :parse_cookies_header,
             :set_cookie_header, :set_cookie_header!, :delete_set_cookie_header, :delete_set_cookie_header!,
             :delete_cookie_header!, :q_values, :best_q_match, :forwarded_values, :select_best_encoding,
             :byte_ranges, :get_byte_ranges, :secure_compare, :status_code, :clean_path_info, :valid_path?, :rfc2822,
             :clock_time].freeze

    NAMES.each do |name|
      define_method(name) { |*args, **options, &block|
        options.empty? ? Utils.__send__(name, *args, &block) : Utils.__send__(name, *args, **options, &block)
      }
    end
  end
end
