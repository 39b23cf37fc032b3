# Percent-encoding and HTML entities, without regular expressions.

module Rack
  module Utils
    HEX_DIGITS = "0123456789abcdefABCDEF"

    class << self
      def escape(text) = FoolsGold::Native.escape(text)
      def escape_path(text) = FoolsGold::Native.escape_path(text)
      def escape_html(text) = FoolsGold::Native.escape_html(text)

      # For forms: a plus is a blank. Raises ArgumentError if a percent sign is not followed by two digits.
      def unescape(text, _encoding = nil)
        return text.dup unless text.include?("%") || text.include?("+")
        decoded(text.tr("+", " "), true)
      end

      # For paths: a plus stays, and an invalid escape is left unchanged.
      def unescape_path(text)
        return text.dup unless text.include?("%")
        decoded(text, false)
      end

      def unescape_html(text)
        text = text.to_s
        return text unless text.include?("&")
        [["&lt;", "<"], ["&gt;", ">"], ["&quot;", '"'], ["&#39;", "'"], ["&#x27;", "'"], ["&amp;", "&"]]
          .inject(text) { |result, (entity, mark)| result.split(entity, -1).join(mark) }
      end

      private

      def decoded(text, strict)
        parts = text.split("%", -1)
        result = parts[0].dup
        index = 1
        while (part = parts[index])
          if hex?(part)
            result << [part.byteslice(0, 2)].pack("H2") << part.byteslice(2, part.bytesize)
          else
            raise ArgumentError, "invalid %-encoding (#{text})" if strict
            result << "%" << part
          end
          index += 1
        end
        result
      end

      def hex?(part)
        part.bytesize >= 2 && HEX_DIGITS.include?(part.byteslice(0, 1)) && HEX_DIGITS.include?(part.byteslice(1, 1))
      end
    end
  end
end
