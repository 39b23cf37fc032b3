# Where a request goes and where it comes from: scheme, host, port, path and address, also behind a proxy.

module Rack
  class Request
    module Address
      DEFAULT_PORTS = { "http" => 80, "https" => 443, "ws" => 80, "wss" => 443 }.freeze

      def scheme
        return "https" if get_header("HTTPS") == "on" || get_header("HTTP_X_FORWARDED_SSL") == "on"
        forwarded_scheme || get_header("rack.url_scheme")
      end

      def ssl?
        %w[https wss].include?(scheme)
      end

      # Host and port as the client sees them; an IPv6 address keeps its brackets.
      def authority
        forwarded_authority || host_authority || server_authority
      end

      def host
        split_authority(authority)[0]
      end

      def hostname
        host = self.host
        host && host.start_with?("[") ? host[1, host.size - 2] : host
      end

      def port
        port = split_authority(authority)[1]
        return port if port
        forwarded = get_header("HTTP_X_FORWARDED_PORT")
        return forwarded.split(",").last.to_i if forwarded
        DEFAULT_PORTS[forwarded_scheme || scheme] || server_port
      end

      def host_authority = get_header("HTTP_HOST")
      def server_name = get_header("SERVER_NAME")
      def server_port = get_header("SERVER_PORT")&.to_i

      def server_authority
        host = server_name
        port = get_header("SERVER_PORT")
        return nil unless host
        port ? "#{host}:#{port}" : host
      end

      def host_with_port(authority = self.authority)
        host, port = split_authority(authority)
        port.nil? || port == DEFAULT_PORTS[scheme] ? host : authority
      end

      def forwarded_port
        field = get_header("HTTP_X_FORWARDED_PORT")
        field && field.split(",").map { |port| port.strip.to_i }
      end

      def forwarded_for
        field = get_header("HTTP_X_FORWARDED_FOR")
        field && field.split(",").map(&:strip)
      end

      def forwarded_authority
        field = get_header("HTTP_X_FORWARDED_HOST")
        last = field && field.split(",").last
        last && !last.strip.empty? ? last.strip : nil
      end

      def base_url = "#{scheme}://#{host_with_port}"
      def path = script_name + path_info
      def fullpath = query_string.empty? ? path : "#{path}?#{query_string}"
      def url = base_url + fullpath

      # The client's address: the last one that is not a trusted proxy.
      def ip
        remote = split_list(get_header("REMOTE_ADDR"))
        outside = remote.reject { |ip| trusted_proxy?(ip) }
        return outside.last unless outside.empty?
        forwarded = (forwarded_for || []).map { |ip| split_authority(ip)[0] }
        forwarded.reverse.find { |ip| !trusted_proxy?(ip) } || forwarded.first || remote.first
      end

      def trusted_proxy?(ip)
        Request.ip_filter.call(ip)
      end

      private

      def forwarded_scheme
        named = get_header("HTTP_X_FORWARDED_SCHEME") || get_header("HTTP_X_FORWARDED_PROTO")
        named = named && named.split(",").last.to_s.strip
        named if ALLOWED_SCHEMES.include?(named)
      end

      def split_list(text)
        text ? text.strip.split(",").flat_map { |part| part.split(" ") } : []
      end

      # Characters of a host name (RFC 3986, section 3.2.2) and of an address in brackets, in the syntax of
      # String#count.
      NO_NAME = "^-a-zA-Z0-9._~%!$&'()*+,;="
      NO_ADDRESS = "^-a-zA-Z0-9.:%_~"

      # [host, port or nil]; no host if the text cannot be one: it is unpredictable what a link, a redirect or a list of
      # allowed hosts would make of it (CVE-2026-34835).
      def split_authority(authority)
        return [nil, nil] if authority.nil?
        if authority.start_with?("[")
          stop = authority.index("]")
          return [nil, nil] unless stop && authority[1, stop - 1].count(NO_ADDRESS) == 0
          return with_port(authority[0, stop + 1], authority[stop + 1, authority.size])
        end
        # More than one colon and no brackets: a bare IPv6 address.
        return [authority.count(NO_ADDRESS) == 0 ? authority : nil, nil] if authority.count(":") > 1
        host, port = authority.split(":", 2)
        return [nil, nil] unless host.nil? || host.count(NO_NAME) == 0
        with_port(host, port ? ":#{port}" : "")
      end

      def with_port(host, rest)
        return [host, nil] if rest.empty? || rest == ":"
        digits = rest[1, rest.size]
        return [nil, nil] unless rest.start_with?(":") && digits.count("^0-9") == 0
        [host, digits.to_i]
      end
    end
  end
end
