# Percent-encoding and HTML's entities, byte by byte and without regular expressions.

module Rack
  module Utils
    # Each byte as it stands in a form, and as it stands in a path.
    FORM_BYTES = (0..255).map { |byte|
      case byte
      when 48..57, 65..90, 97..122, 42, 45, 46, 95 then byte.chr.freeze
      when 32 then "+"
      else sprintf("%%%02X", byte).freeze
      end
    }.freeze
    PATH_KEPT = "-_.!~*'();/?:@&=+$,[]"
    PATH_BYTES = (0..255).map { |byte|
      kept = (48..57).include?(byte) || (65..90).include?(byte) || (97..122).include?(byte) ||
             (byte < 128 && PATH_KEPT.include?(byte.chr))
      kept ? byte.chr.freeze : sprintf("%%%02X", byte).freeze
    }.freeze
    HEX_DIGITS = "0123456789abcdefABCDEF"

    class << self
      def escape(text)
        encoded(text.to_s, FORM_BYTES)
      end

      def escape_path(text)
        encoded(text.to_s, PATH_BYTES)
      end

      # Of a form: a plus is a blank. Raises ArgumentError where a percent sign is not followed by two digits.
      def unescape(text, _encoding = nil)
        return text.dup unless text.include?("%") || text.include?("+")
        decoded(text.tr("+", " "), true)
      end

      # Of a path: a plus stays, and what is no code stays as it is.
      def unescape_path(text)
        return text.dup unless text.include?("%")
        decoded(text, false)
      end

      def escape_html(text)
        text = text.to_s
        # Most text has none of these, and looking is cheaper than building.
        text = text.split("&", -1).join("&amp;") if text.include?("&")
        text = text.split("<", -1).join("&lt;") if text.include?("<")
        text = text.split(">", -1).join("&gt;") if text.include?(">")
        text = text.split('"', -1).join("&quot;") if text.include?('"')
        text = text.split("'", -1).join("&#39;") if text.include?("'")
        text
      end

      def unescape_html(text)
        text = text.to_s
        return text unless text.include?("&")
        [["&lt;", "<"], ["&gt;", ">"], ["&quot;", '"'], ["&#39;", "'"], ["&#x27;", "'"], ["&amp;", "&"]]
          .inject(text) { |result, (entity, mark)| result.split(entity, -1).join(mark) }
      end

      private

      def encoded(text, table)
        result = +""
        text.each_byte { |byte| result << table[byte] }
        result
      end

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
