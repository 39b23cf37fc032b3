# Cookies: parses the client's header field, and builds Set-Cookie.

module Rack
  module Utils
    COOKIE_NAME_MARKS = "!#$%&'*+-.^_`|~"

    class << self
      def parse_cookies(env)
        parse_cookies_header(env["HTTP_COOKIE"])
      end

      # Of several cookies with one name the first counts; an improperly encoded value is kept unchanged.
      def parse_cookies_header(field)
        cookies = {}
        return cookies unless field
        field.split(";").each do |pair|
          pair = pair.lstrip if pair.start_with?(" ")
          next if pair.empty?
          name, value = pair.split("=", 2)
          next if name.nil? || cookies.key?(name)
          cookies[name] = value && begin
            unescape(value)
          rescue ArgumentError
            value
          end
        end
        cookies
      end

      def set_cookie_header(name, value)
        check_cookie_name(name)
        return "#{name}=#{cookie_value(value)}" unless value.is_a?(Hash)
        cookie = +"#{name}=#{cookie_value(value[:value])}"
        cookie << "; domain=#{value[:domain]}" if value[:domain]
        cookie << "; path=#{value[:path]}" if value[:path]
        cookie << "; max-age=#{value[:max_age]}" if value[:max_age]
        cookie << "; expires=#{httpdate(value[:expires])}" if value[:expires]
        cookie << "; secure" if value[:secure]
        cookie << "; httponly" if value.key?(:httponly) ? value[:httponly] : value[:http_only]
        cookie << same_site(value[:same_site])
        cookie << "; partitioned" if value[:partitioned]
        cookie
      end

      def set_cookie_header!(headers, name, value)
        add_cookie(headers, set_cookie_header(name, value))
      end

      def delete_set_cookie_header(name, value = {})
        set_cookie_header(name, deleted(value))
      end

      def delete_set_cookie_header!(headers, name, value = {})
        add_cookie(headers, delete_set_cookie_header(name, value))
        nil
      end

      # Its name in Rack 2.
      def delete_cookie_header!(headers, name, value = {})
        delete_set_cookie_header!(headers, name, value)
      end

      private

      def deleted(value)
        value.merge(value: "", max_age: "0", expires: Time.at(0))
      end

      def add_cookie(headers, cookie)
        present = headers["set-cookie"]
        headers["set-cookie"] = case present
        when nil, "" then cookie
        when Array then present + [cookie]
        else [present, cookie]
        end
      end

      def cookie_value(value)
        value.is_a?(Array) ? value.map { |one| escape(one) }.join("&") : escape(value)
      end

      def same_site(value)
        case value
        when nil, false then ""
        when :none, "None", :None, "none" then "; samesite=none"
        when :lax, "Lax", :Lax, "lax" then "; samesite=lax"
        when true, :strict, "Strict", :Strict, "strict" then "; samesite=strict"
        else raise ArgumentError, "invalid SameSite value: #{value.inspect}"
        end
      end

      def check_cookie_name(name)
        text = name.to_s
        good = !text.empty?
        text.each_byte do |byte|
          next if (48..57).include?(byte) || (65..90).include?(byte) || (97..122).include?(byte)
          good = false unless byte < 128 && COOKIE_NAME_MARKS.include?(byte.chr)
        end
        raise ArgumentError, "invalid cookie key: #{name.inspect}" unless good
      end
    end
  end
end
