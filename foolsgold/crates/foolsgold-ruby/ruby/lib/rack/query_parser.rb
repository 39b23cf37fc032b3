# Rack::QueryParser: query strings and forms into Hashes, flat or nested ("a[b][]=1"), with limits on what a client can
# make the server build.

require "rack/constants"
require "rack/utils"

module Rack
  # Included in every error that is the client's fault.
  module BadRequest; end

  class QueryParser
    class ParameterTypeError < TypeError
      include BadRequest
    end

    class InvalidParameterError < ArgumentError
      include BadRequest
    end

    class QueryLimitError < StandardError
      include BadRequest
    end

    class ParamsTooDeepError < QueryLimitError; end

    COMMON_SEP = { ";" => ";", ";," => ";,", "&" => "&", "&;" => "&;" }.freeze
    BYTESIZE_LIMIT = 4 * 1024 * 1024
    PARAMS_LIMIT = 4096

    attr_reader :param_depth_limit

    def self.make_default(param_depth_limit, **options)
      new(Hash, param_depth_limit, **options)
    end

    def initialize(params_class, param_depth_limit, bytesize_limit: BYTESIZE_LIMIT, params_limit: PARAMS_LIMIT)
      @params_class = params_class
      @param_depth_limit = param_depth_limit
      @bytesize_limit = bytesize_limit
      @params_limit = params_limit
    end

    # Flat: a name that occurs several times gets an Array of its values.
    def parse_query(query, separator = nil, &unescaper)
      params = make_params
      each_pair(query, separator, unescaper) do |name, value|
        if params.key?(name)
          present = params[name]
          present.is_a?(Array) ? present << value : params[name] = [present, value]
        else
          params[name] = value
        end
      end
      params
    end

    def parse_query_pairs(query, separator = nil)
      pairs = []
      each_pair(query, separator, nil) { |name, value| pairs << [name, value] }
      pairs
    end

    # Nested: brackets in names make Arrays and Hashes.
    def parse_nested_query(query, separator = nil)
      params = make_params
      each_pair(query, separator, nil) { |name, value| normalize_params(params, name, value) }
      params
    end

    def normalize_params(params, name, value, _depth = nil)
      put(params, name, value, 0)
    end

    def make_params
      @params_class.new
    end

    def new_depth_limit(param_depth_limit)
      self.class.new(@params_class, param_depth_limit, bytesize_limit: @bytesize_limit, params_limit: @params_limit)
    end

    private

    def each_pair(query, separator, unescaper)
      return if query.nil? || query.empty?
      if query.bytesize > @bytesize_limit
        raise QueryLimitError, "total query size (#{query.bytesize}) exceeds limit (#{@bytesize_limit})"
      end
      separator ||= "&"
      # Counted before anything is parsed (CVE-2025-46727, CVE-2025-59830).
      count = separator.chars.uniq.sum { |mark| query.count(mark) }
      if count >= @params_limit
        raise QueryLimitError, "total number of query parameters (#{count + 1}) exceeds limit (#{@params_limit})"
      end
      parts(query, separator).each do |part|
        next if part.empty?
        at = part.index("=")
        name = at ? part[0, at] : part
        value = at ? part[at + 1, part.size] : nil
        yield decode(name, unescaper), value && decode(value, unescaper)
      end
    end

    # Each character of the separator separates; blanks after it are dropped, as clients write them in cookies.
    def parts(query, separator)
      parts = [query]
      separator.each_char { |mark| parts = parts.flat_map { |part| part.split(mark) } }
      parts.map { |part| part.start_with?(" ") ? part.lstrip : part }
    end

    def decode(text, unescaper)
      return unescaper.call(text) if unescaper
      Utils.unescape(text)
    rescue ArgumentError => error
      raise error if error.is_a?(InvalidParameterError)
      raise InvalidParameterError, error.message
    end

    def put(params, name, value, depth)
      raise ParamsTooDeepError, "exceeded maximum nesting depth (#{@param_depth_limit})" if depth >= @param_depth_limit
      key, rest = head_and_rest(name, depth)
      return if key.empty?
      if rest.empty?
        return [value] if key == "[]" && depth != 0
        params[key] = value
      elsif rest == "["
        params[name] = value
      elsif rest == "[]"
        array(params, key) << value
      elsif rest.start_with?("[]")
        put_in_array(array(params, key), rest, value, depth)
      else
        params[key] ||= make_params
        expect(params[key], @params_class, "Hash", key)
        params[key] = put(params[key], rest, value, depth + 1)
      end
      params
    end

    # Splits "a[b][c]" at the top level into ["a", "[b][c]"], and "[b][c]" further in into ["b", "[c]"].
    def head_and_rest(name, depth)
      return ["", ""] if name.nil?
      if depth == 0
        at = name.index("[", 1)
        return at ? [name[0, at], name[at, name.size]] : [name, ""]
      end
      return ["[]", name[2, name.size]] if name.start_with?("[]")
      at = name.start_with?("[") && name.index("]", 1)
      at ? [name[1, at - 1], name[at + 1, name.size]] : [name, ""]
    end

    # "x[][y]=1&x[][z]=2" is one element until one of its names comes again.
    def put_in_array(array, rest, value, depth)
      child = simple_child(rest) || rest[2, rest.size]
      last = array.last
      if last.is_a?(@params_class) && !has?(last, child)
        put(last, child, value, depth + 1)
      else
        array << put(make_params, child, value, depth + 1)
      end
    end

    # "y" for "[][y]", or nil if it is nested deeper.
    def simple_child(rest)
      return nil unless rest[2] == "[" && rest.end_with?("]")
      child = rest[3, rest.size - 4]
      child.empty? || child.include?("[") || child.include?("]") ? nil : child
    end

    def has?(hash, name)
      return false if name.include?("[]")
      name.tr("[]", " ").split(" ").each do |part|
        return false unless hash.is_a?(@params_class) && hash.key?(part)
        hash = hash[part]
      end
      true
    end

    def array(params, key)
      params[key] ||= []
      expect(params[key], Array, "Array", key)
      params[key]
    end

    def expect(value, klass, name, key)
      return if value.is_a?(klass)
      raise ParameterTypeError, "expected #{name} (got #{value.class.name}) for param `#{key}'"
    end
  end
end
