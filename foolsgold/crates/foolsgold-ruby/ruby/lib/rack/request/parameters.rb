# Parameters that a client sends: the query, a form, or both.

module Rack
  class Request
    module Parameters
      FORM_DATA_MEDIA_TYPES = %w[application/x-www-form-urlencoded multipart/form-data].freeze
      PARSEABLE_DATA_MEDIA_TYPES = %w[multipart/related multipart/mixed].freeze

      def GET
        query = query_string
        return get_header("rack.request.query_hash") if get_header("rack.request.query_string") == query
        params = parse_query(query, "&")
        set_header("rack.request.query_string", query)
        set_header("rack.request.query_hash", params)
      end

      # The form, parsed once; an error in it is raised again each time.
      def POST
        if (error = get_header("rack.request.form_error"))
          raise error
        end
        input = get_header("rack.input")
        form = get_header("rack.request.form_hash")
        return form if form && get_header("rack.request.form_input").equal?(input)
        begin
          form = input.nil? ? {} : read_form(input)
          set_header("rack.request.form_input", input)
          set_header("rack.request.form_hash", form)
        rescue => error
          set_header("rack.request.form_error", error)
          # mruby has no `raise` without an exception.
          raise error
        end
      end

      # The form's values take precedence over those of the query.
      def params
        self.GET.merge(self.POST)
      end

      def [](name)
        params[name.to_s]
      end

      def []=(name, value)
        update_param(name.to_s, value)
      end

      def update_param(name, value)
        found = false
        [self.GET, self.POST].each do |hash|
          next unless hash.key?(name)
          hash[name] = value
          found = true
        end
        self.GET[name] = value unless found
        nil
      end

      def delete_param(name)
        posted = self.POST.delete(name)
        got = self.GET.delete(name)
        posted || got
      end

      def values_at(*names)
        names.map { |name| params[name] }
      end

      # A POST without content-type counts as a form, as old browsers sent it.
      def form_data?
        type = media_type
        method = get_header("rack.methodoverride.original_method") || get_header("REQUEST_METHOD")
        (method == "POST" && type.nil?) || FORM_DATA_MEDIA_TYPES.include?(type)
      end

      def parseable_data?
        PARSEABLE_DATA_MEDIA_TYPES.include?(media_type)
      end

      def query_parser = Utils.default_query_parser

      def parse_query(query, separator = "&")
        query_parser.parse_nested_query(query, separator)
      end

      def parse_multipart
        require "rack/multipart"
        Multipart.extract_multipart(self, query_parser)
      end

      private

      def read_form(input)
        return {} unless form_data? || parseable_data?
        type = media_type
        return parse_multipart || {} if type && type.start_with?("multipart/")
        text = input.read.to_s
        # Old browsers end a form with a NUL.
        text = text.byteslice(0, text.bytesize - 1) if text.end_with?("\0")
        set_header("rack.request.form_vars", text)
        input.rewind if input.respond_to?(:rewind)
        parse_query(text, "&")
      end
    end
  end
end
