# Rack::Multipart: file uploads in forms (RFC 7578). Files are kept in memory, in a StringIO, bounded by the
# interpreter's memory limit; the server has already limited the whole body.

require "rack/utils"
require "rack/media_type"
require "stringio"

module Rack
  module Multipart
    class Error < StandardError
      include BadRequest
    end

    MultipartPartLimitError = Class.new(Error)
    MultipartTotalPartLimitError = Class.new(Error)
    EmptyContentError = Class.new(EOFError) { include BadRequest }
    MissingInputError = Class.new(Error)
    BoundaryTooLongError = Class.new(Error)
    EOL = "\r\n"
    BOUNDARY_LIMIT = 70
    HEADER_LIMIT = 64 * 1024
    # Limits for content-disposition, as in Rack 3.2: no real form needs more, and parsing more would cost time.
    DISPOSITION_LIMIT = 1536
    DISPOSITION_PARAMETERS = 16

    # A file to send, for tests.
    class UploadedFile
      attr_reader :original_filename
      attr_accessor :content_type

      def initialize(io:, filename:, content_type: "text/plain")
        @io = io
        @original_filename = filename
        @content_type = content_type
      end

      def read
        @io.rewind if @io.respond_to?(:rewind)
        @io.read
      end
    end

    class << self
      def extract_multipart(request, params = Utils.default_query_parser)
        parse_multipart(request.env, params)
      end

      # Nested parameters of the body, or nil where it has no boundary.
      def parse_multipart(env, params = Utils.default_query_parser)
        boundary = boundary_of(env["CONTENT_TYPE"])
        return nil unless boundary
        input = env["rack.input"] || raise(MissingInputError, "Missing input stream!")
        text = input.read.to_s
        input.rewind if input.respond_to?(:rewind)
        raise EmptyContentError, "bad content body" if text.empty?
        result = params.make_params
        Parser.new(text, boundary, env["rack.multipart.tempfile_factory"]).each do |name, value, file|
          (env["rack.tempfiles"] ||= []) << value[:tempfile] if file
          params.normalize_params(result, name, value, 0)
        end
        result
      end

      def build_multipart(params, boundary = "AaB03x")
        parts = +""
        flatten(params).each do |name, value|
          parts << "--#{boundary}\r\ncontent-disposition: form-data; name=\"#{name}\""
          if value.is_a?(UploadedFile)
            parts << "; filename=\"#{value.original_filename}\"\r\ncontent-type: #{value.content_type}"
            value = value.read
          end
          parts << "\r\n\r\n#{value}\r\n"
        end
        parts << "--#{boundary}--\r\n"
      end

      private

      def boundary_of(content_type)
        type = MediaType.type(content_type)
        return nil unless type && type.start_with?("multipart/")
        # If there are two boundaries, a proxy may have used the other one (CVE-2026-26961).
        raise Error, "multiple boundary parameters in the content type" if MediaType.count(content_type, "boundary") > 1
        boundary = MediaType.params(content_type)["boundary"]
        return nil if boundary.nil? || boundary.empty?
        raise BoundaryTooLongError, "multipart boundary size too large (#{boundary.size} characters)" if boundary.size > BOUNDARY_LIMIT
        boundary
      end

      def flatten(value, prefix = nil)
        case value
        when Hash then value.flat_map { |name, one| flatten(one, prefix ? "#{prefix}[#{name}]" : name.to_s) }
        when Array then value.flat_map { |one| flatten(one, "#{prefix}[]") }
        else [[prefix, value]]
        end
      end
    end

    # Walks over the parts of a body.
    class Parser
      def initialize(text, boundary, factory)
        @text = text
        @mark = "--#{boundary}"
        @factory = factory
      end

      # Yields name, value (a String, or a Hash for a file) and whether it is a file.
      def each
        parts = 0
        files = 0
        each_part do |head, content|
          parts += 1
          if parts > Utils.multipart_total_part_limit
            raise MultipartTotalPartLimitError, "Maximum total multiparts in content reached"
          end
          part = Part.new(head, content)
          next if part.skip?
          if part.file?
            files += 1
            raise MultipartPartLimitError, "Maximum file multiparts in content reached" if files >= Utils.multipart_file_limit
          end
          yield part.name, part.value(@factory), part.file?
        end
      end

      private

      def each_part
        text = @text
        at = first_mark
        loop do
          at += @mark.bytesize
          return if text.byteslice(at, 2) == "--"
          at = text.byteindex(EOL, at)
          raise EmptyContentError, "bad content body" unless at
          at += 2
          stop = text.byteindex("#{EOL}#{EOL}", at)
          # In a part without header fields the empty line comes first.
          bare = text.byteslice(at, 2) == EOL
          raise EmptyContentError, "bad content body" unless stop || bare
          head = bare ? "" : text.byteslice(at, stop - at)
          raise Error, "multipart mime part header too large" if head.bytesize > HEADER_LIMIT
          start = bare ? at + 2 : stop + 4
          # The line end before a boundary belongs to the boundary.
          at = text.byteindex("#{EOL}#{@mark}", start - 2)
          raise EmptyContentError, "bad content body" unless at
          yield head, text.byteslice(start, [at - start, 0].max)
          at += 2
        end
      end

      def first_mark
        return 0 if @text.start_with?(@mark)
        at = @text.byteindex("#{EOL}#{@mark}")
        raise EmptyContentError, "bad content body" unless at
        at + 2
      end
    end

    # One part: its fields and its bytes.
    class Part
      attr_reader :name

      def initialize(head, content)
        @head = head
        @content = content
        fields = {}
        unfolded(head).each do |line|
          name, value = line.split(":", 2)
          fields[name.strip.downcase] ||= value.strip if value
        end
        disposition = parameters(fields["content-disposition"])
        @content_type = fields["content-type"]
        @filename = filename_of(disposition)
        @name = disposition["name"] || fields["content-id"] || default_name
      end

      # A file field that was left empty.
      def skip?
        @filename == "" || (@name.nil? && @filename.nil?)
      end

      def file?
        !@filename.nil? || (!@content_type.nil? && !text?)
      end

      def value(factory)
        return @content unless file?
        { filename: @filename, type: @content_type, name: @name, tempfile: tempfile(factory), head: "#{@head}\r\n" }
      end

      private

      def text?
        @content_type.start_with?("text/") || @content_type.start_with?("application/x-www-form-urlencoded")
      end

      def default_name
        @filename || (@content_type ? "#{@content_type}[]" : nil)
      end

      def tempfile(factory)
        # The part's bytes, not copied: a copy would need memory beside the body.
        return StringIO.new(@content) unless factory
        file = factory.call(@filename, @content_type)
        file << @content
        file.rewind if file.respond_to?(:rewind)
        file
      end

      # A line that starts with a blank continues the previous one.
      def unfolded(head)
        head.split(EOL).each_with_object([]) do |line, lines|
          if lines.last && (line.start_with?(" ") || line.start_with?("\t"))
            lines[-1] += " #{line.strip}"
          else
            lines << line
          end
        end
      end

      # "form-data; name=\"a\"; filename=\"b;c\"": quotes may hold semicolons and escaped quotes.
      def parameters(field)
        found = {}
        field = field.to_s
        return found if field.bytesize > DISPOSITION_LIMIT
        at = field.byteindex(";")
        while at && found.size < DISPOSITION_PARAMETERS && (equals = field.byteindex("=", at))
          name = field.byteslice(at + 1, equals - at - 1).strip.downcase
          value, at = value_at(field, equals + 1)
          found[name] = value unless found.key?(name)
          at = field.byteindex(";", at)
        end
        found
      end

      # A value and the position after it.
      def value_at(field, at)
        # Some browsers write a Windows path with single backslashes: only quotes and backslashes are escaped.
        return Utils.quoted_string(field, at, '"\\') if field.byteslice(at, 1) == '"'
        stop = field.byteindex(";", at) || field.bytesize
        [field.byteslice(at, stop - at).strip, stop]
      end

      def filename_of(disposition)
        if (encoded = disposition["filename*"])
          _charset, _language, text = encoded.split("'", 3)
          return Utils.unescape_path(text) if text
        end
        name = disposition["filename"]
        return nil if name.nil?
        name = Utils.unescape_path(name)
        # The last segment of a path, with either kind of slash.
        name.split("/").last.to_s.split("\\").last.to_s
      end
    end
  end
end
