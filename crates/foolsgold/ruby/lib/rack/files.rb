# Rack::Files: the files below a folder, for GET and HEAD, with If-Modified-Since and ranges. The server can send them
# itself by `to_path`.

require "rack/utils"
require "rack/mime"

module Rack
  class Files
    ALLOWED_VERBS = %w[GET HEAD OPTIONS].freeze
    ALLOW_HEADER = ALLOWED_VERBS.join(", ").freeze

    attr_reader :root

    def initialize(root, headers = {}, default_mime = "text/plain")
      @root = root && ::File.expand_path(root)
      @headers = headers
      @default_mime = default_mime
    end

    def call(env)
      method = env["REQUEST_METHOD"]
      return failure(405, "Method Not Allowed", "allow" => ALLOW_HEADER) unless ALLOWED_VERBS.include?(method)
      path = Utils.unescape_path(env["PATH_INFO"])
      return failure(400, "Bad Request") unless Utils.valid_path?(path)
      full = ::File.join(@root, Utils.clean_path_info(path))
      return failure(404, "File not found: #{path}") unless ::File.file?(full)
      method == "OPTIONS" ? [200, { "allow" => ALLOW_HEADER, "content-length" => "0" }, []] : serving(env, full)
    end

    def serving(env, full)
      modified = Utils.httpdate(::File.mtime(full))
      return [304, {}, []] if env["HTTP_IF_MODIFIED_SINCE"] == modified
      headers = { "last-modified" => modified }
      type = Mime.mime_type(::File.extname(full), @default_mime)
      headers["content-type"] = type if type
      headers.update(@headers) if @headers
      size = ::File.size(full)
      ranges = Utils.get_byte_ranges(env["HTTP_RANGE"], size)
      return answer(env, 200, headers, Whole.new(full), size) if ranges.nil? || ranges.size > 1
      return failure(416, "Byte range unsatisfiable", "content-range" => "bytes */#{size}") if ranges.empty?
      range = ranges[0]
      headers["content-range"] = "bytes #{range.begin}-#{range.end}/#{size}"
      answer(env, 206, headers, Part.new(full, range), range.size)
    end

    # All of a file.
    class Whole
      attr_reader :path

      def initialize(path)
        @path = path
      end

      def to_path = @path

      def each
        yield ::File.binread(@path)
      end

      def close; end
    end

    # One range of a file.
    class Part
      def initialize(path, range)
        @path = path
        @range = range
      end

      def each
        yield ::File.binread(@path).byteslice(@range.begin, @range.size)
      end

      def close; end
    end

    private

    def answer(env, status, headers, body, size)
      headers["content-length"] = size.to_s
      [status, headers, env["REQUEST_METHOD"] == "HEAD" ? [] : body]
    end

    def failure(status, text, headers = {})
      text = "#{text}\n"
      [status, { "content-type" => "text/plain", "content-length" => text.bytesize.to_s, "x-cascade" => "pass" }.merge(headers), [text]]
    end
  end

  # Rack 2's name.
  File = Files unless const_defined?(:File, false)
end
