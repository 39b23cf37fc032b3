# Rack::Files: the files below a folder, for GET and HEAD, with validators and ranges. The server can send them itself
# through `to_path`.
#
# A file's validator is its date, as in Rack; for a packed file it is an ETag of its bytes, since a pack has no dates. A
# file outside the folder that is reached through a link is not served.

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
      found = ::File.file?(full) && FoolsGold::Native.file_below?(full, @root)
      return failure(404, "File not found: #{path}") unless found
      method == "OPTIONS" ? [200, { "allow" => ALLOW_HEADER, "content-length" => "0" }, []] : serving(env, full)
    end

    def serving(env, full)
      validator = validator_of(full)
      return [304, validator.key?("etag") ? validator : {}, []] if unchanged?(env, validator)
      headers = validator.dup
      type = Mime.mime_type(::File.extname(full), @default_mime)
      headers["content-type"] = type if type
      headers.update(@headers) if @headers
      size = ::File.size(full)
      ranges = range_counts?(env, validator) ? Utils.get_byte_ranges(env["HTTP_RANGE"], size) : nil
      return answer(env, 200, headers, Whole.new(full), size) if ranges.nil? || ranges.size > 1
      return failure(416, "Byte range unsatisfiable", "content-range" => "bytes */#{size}") if ranges.empty?
      range = ranges[0]
      headers["content-range"] = "bytes #{range.begin}-#{range.end}/#{size}"
      answer(env, 206, headers, Part.new(full, range), range.size)
    end

    # A whole file.
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

    def validator_of(full)
      tag = FoolsGold::Native.file_tag(full)
      tag ? { "etag" => tag } : { "last-modified" => Utils.httpdate(::File.mtime(full)) }
    end

    # RFC 9110, section 13.1: a tag is compared with tags, a date with dates.
    def unchanged?(env, validator)
      tag = validator["etag"]
      return env["HTTP_IF_MODIFIED_SINCE"] == validator["last-modified"] unless tag
      known = env["HTTP_IF_NONE_MATCH"].to_s
      known.strip == "*" || known.split(",").any? { |one| [tag, "W/#{tag}"].include?(one.strip) }
    end

    # A part of another version is useless (RFC 9110, section 13.1.5).
    def range_counts?(env, validator)
      known = env["HTTP_IF_RANGE"]
      known.nil? || validator.value?(known)
    end

    def answer(env, status, headers, body, size)
      headers["content-length"] = size.to_s
      [status, headers, env["REQUEST_METHOD"] == "HEAD" ? [] : body]
    end

    def failure(status, text, headers = {})
      text = "#{text}\n"
      [status, { "content-type" => "text/plain", "content-length" => text.bytesize.to_s, "x-cascade" => "pass" }.merge(headers), [text]]
    end
  end

  # Its name in Rack 2.
  File = Files unless const_defined?(:File, false)
end
