# HTTP values: status codes, dates, quality values, ranges and paths.

module Rack
  module Utils
    HTTP_STATUS_CODES = {
      100 => "Continue", 101 => "Switching Protocols", 102 => "Processing", 103 => "Early Hints",
      200 => "OK", 201 => "Created", 202 => "Accepted", 203 => "Non-Authoritative Information", 204 => "No Content",
      205 => "Reset Content", 206 => "Partial Content", 207 => "Multi-Status", 208 => "Already Reported",
      226 => "IM Used", 300 => "Multiple Choices", 301 => "Moved Permanently", 302 => "Found", 303 => "See Other",
      304 => "Not Modified", 305 => "Use Proxy", 307 => "Temporary Redirect", 308 => "Permanent Redirect",
      400 => "Bad Request", 401 => "Unauthorized", 402 => "Payment Required", 403 => "Forbidden", 404 => "Not Found",
      405 => "Method Not Allowed", 406 => "Not Acceptable", 407 => "Proxy Authentication Required",
      408 => "Request Timeout", 409 => "Conflict", 410 => "Gone", 411 => "Length Required",
      412 => "Precondition Failed", 413 => "Content Too Large", 414 => "URI Too Long", 415 => "Unsupported Media Type",
      416 => "Range Not Satisfiable", 417 => "Expectation Failed", 421 => "Misdirected Request",
      422 => "Unprocessable Content", 423 => "Locked", 424 => "Failed Dependency", 425 => "Too Early",
      426 => "Upgrade Required", 428 => "Precondition Required", 429 => "Too Many Requests",
      431 => "Request Header Fields Too Large", 451 => "Unavailable For Legal Reasons",
      500 => "Internal Server Error", 501 => "Not Implemented", 502 => "Bad Gateway", 503 => "Service Unavailable",
      504 => "Gateway Timeout", 505 => "HTTP Version Not Supported", 506 => "Variant Also Negotiates",
      507 => "Insufficient Storage", 508 => "Loop Detected", 511 => "Network Authentication Required"
    }.freeze
    STATUS_WITH_NO_ENTITY_BODY = ((100..199).to_a + [204, 304]).each_with_object({}) { |code, set| set[code] = true }.freeze
    SYMBOL_TO_STATUS_CODE = HTTP_STATUS_CODES.each_with_object({}) { |(code, text), names|
      names[text.downcase.tr(" -", "__").to_sym] = code
    }.merge(payload_too_large: 413, unprocessable_entity: 422).freeze
    DAYS = %w[Sun Mon Tue Wed Thu Fri Sat].freeze
    MONTHS = %w[Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec].freeze
    NULL_BYTE = "\0"
    FORWARDED_NAMES = { "by" => :by, "for" => :for, "host" => :host, "proto" => :proto }.freeze
    # The most pairs, codings and ranges in a header field; more indicate an attack.
    FORWARDED_LIMIT = 1024
    ENCODING_LIMIT = 16
    RANGE_LIMIT = 100

    class << self
      def status_code(status)
        return status.to_i unless status.is_a?(Symbol)
        SYMBOL_TO_STATUS_CODE.fetch(status) { raise ArgumentError, "Unrecognized status code #{status.inspect}" }
      end

      # "Thu, 01 Jan 1970 00:00:00 GMT" for a Time (or for seconds since 1970).
      def httpdate(time)
        time = Time.at(time) if time.is_a?(Integer)
        at = time.dup.utc
        sprintf("%s, %02d %s %04d %02d:%02d:%02d GMT",
                DAYS[at.wday], at.day, MONTHS[at.month - 1], at.year, at.hour, at.min, at.sec)
      end

      # The same in the format of mail.
      def rfc2822(time)
        text = httpdate(time)
        "#{text[0, text.size - 3]}-0000"
      end

      # Seconds since 1970 for such a date, or nil. Only the form that HTTP recommends sending.
      def parse_httpdate(text)
        _day, date, month, year, clock, zone = text.split(" ")
        month = MONTHS.index(month)
        return nil unless month && zone == "GMT" && clock && clock.count(":") == 2
        hour, minute, second = clock.split(":").map(&:to_i)
        Time.utc(year.to_i, month + 1, date.to_i, hour, minute, second).to_i
      rescue ArgumentError
        nil
      end

      def clock_time
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      # [[value, quality], ...] for a field such as Accept.
      def q_values(field)
        field.to_s.split(",").map { |part|
          value, *parameters = part.split(";").map(&:strip)
          quality = 1.0
          parameters.each { |one| quality = one[2, one.size].to_f if one.start_with?("q=") }
          [value, quality]
        }
      end

      def best_q_match(field, available)
        matches = q_values(field).map { |wanted, quality|
          match = available.find { |one| media_match?(one, wanted) }
          match && [match, quality, wanted.count("*")]
        }.compact
        # The best quality; of equal ones, the most specific.
        best = matches.sort_by { |_, quality, stars| [-quality, stars] }.first
        best && best[0]
      end

      # Parses `Forwarded` (RFC 7239): separators inside quotes do not separate, otherwise a client whose address is
      # quoted could name host and scheme (CVE-2026-32762). Nil if anything in it violates the grammar.
      def forwarded_values(field)
        return nil unless field
        values = {}
        text = field.to_s.tr("\n", ";")
        at = 0
        FORWARDED_LIMIT.times do
          at = after_separators(text, at)
          return values if at >= text.bytesize
          equals = text.byteindex("=", at)
          name = equals && FORWARDED_NAMES[text.byteslice(at, equals - at).strip.downcase]
          return nil unless name
          value, at = forwarded_value(text, equals + 1)
          return nil unless value
          (values[name] ||= []) << value
        end
        nil
      end

      # The text of the quoted string that begins at that byte, and the position after it. A backslash stands for the
      # character after it; with `escapes`, only before one of those.
      def quoted_string(text, at, escapes = nil)
        value = +""
        at += 1
        stop = text.byteindex('"', at) || text.bytesize
        while (slash = text.byteindex("\\", at)) && slash < stop
          escaped = text.byteslice(slash + 1, 1).to_s
          value << text.byteslice(at, slash - at)
          value << "\\" if escapes && !escapes.include?(escaped)
          value << escaped
          at = slash + 2
          # Searched again only after it was passed: a field full of backslashes costs linear rather than
          # quadratic time.
          stop = text.byteindex('"', at) || text.bytesize if stop < at
        end
        [value << text.byteslice(at, stop - at).to_s, stop + 1]
      end

      def select_best_encoding(available, accepted)
        accepted = accepted.first(ENCODING_LIMIT)
        wanted = accepted.flat_map { |name, quality|
          name == "*" ? (available - accepted.map(&:first)).map { |one| [one, quality] } : [[name, quality]]
        }
        candidates = wanted.sort_by.with_index { |(_, quality), index| [-quality, index] }.map(&:first)
        candidates << "identity" unless candidates.include?("identity")
        wanted.each { |name, quality| candidates.delete(name) if quality == 0.0 }
        candidates.find { |name| available.include?(name) }
      end

      def byte_ranges(env, size, max_ranges: RANGE_LIMIT)
        get_byte_ranges(env["HTTP_RANGE"], size, max_ranges: max_ranges)
      end

      # Byte ranges; [] if none can be satisfied (416), nil if the field is to be ignored.
      def get_byte_ranges(field, size, max_ranges: RANGE_LIMIT)
        return nil if size == 0 || field.nil? || !field.start_with?("bytes=")
        specs = field.byteslice(6, field.bytesize).split(",", -1)
        return nil if specs.size > max_ranges
        ranges = []
        specs.each do |spec|
          spec = spec.strip
          return nil unless spec.include?("-")
          first, last = spec.split("-", 2)
          return nil unless (first + last).delete("0-9").empty? && !(first + last).empty?
          range = byte_range(first, last, size)
          return nil if range == :bad
          ranges << range if range
        end
        # Ranges that add up to more than the file indicate an attack.
        return [] if ranges.inject(0) { |sum, range| sum + range.size } > size
        ranges
      end

      def valid_path?(path)
        !path.include?(NULL_BYTE)
      end

      # Removes empty segments and "."; ".." goes up, at most to the root.
      def clean_path_info(path)
        clean = []
        path.split("/").each do |part|
          next if part.empty? || part == "."
          part == ".." ? clean.pop : clean << part
        end
        joined = clean.join("/")
        path.start_with?("/") || path.empty? ? "/#{joined}" : joined
      end

      private

      def after_separators(text, at)
        at += 1 while " \t;,".include?(text.byteslice(at, 1) || "x") && at < text.bytesize
        at
      end

      # A value of `Forwarded` and the position after it; nil if anything is between it and the next separator.
      def forwarded_value(text, at)
        stop = [text.byteindex(";", at), text.byteindex(",", at), text.bytesize].compact.min
        at += 1 while text.byteslice(at, 1) == " "
        return [text.byteslice(at, stop - at).strip, stop] unless text.byteslice(at, 1) == '"'
        value, after = quoted_string(text, at)
        at = after_separators(text, after)
        at > after || at >= text.bytesize ? [value, at] : nil
      end

      def byte_range(first, last, size)
        if first.empty?
          start = size - last.to_i
          start = 0 if start < 0
          finish = size - 1
        else
          start = first.to_i
          finish = last.empty? ? size - 1 : last.to_i
          return :bad if !last.empty? && finish < start
          finish = size - 1 if finish >= size
        end
        start <= finish ? (start..finish) : nil
      end

      def media_match?(one, wanted)
        return true if wanted == "*/*" || one == wanted
        type, subtype = wanted.split("/", 2)
        subtype == "*" && one.start_with?("#{type}/")
      end
    end
  end
end
