# URI and CGI over natives.

module URI
  class Error < StandardError; end
  class InvalidURIError < Error; end
  class InvalidComponentError < Error; end
  class BadURIError < Error; end

  class Generic
    include Comparable

    COMPONENT = [:scheme, :userinfo, :host, :port, :path, :query, :fragment].freeze
    DEFAULT_PORT = nil

    attr_reader :scheme, :host, :path, :query, :fragment
    attr_writer :host, :port, :path, :query, :fragment, :scheme
    attr_accessor :userinfo, :opaque

    def self.build(list = nil, **parts)
      parts = list.is_a?(Array) ? COMPONENT.zip(list).to_h : list if list
      scheme = parts[:scheme] || (SCHEMES.key(self) || "").downcase
      new(scheme.empty? ? nil : scheme, *COMPONENT.drop(1).map { |name| parts[name] })
    end

    def self.default_port = self::DEFAULT_PORT

    def initialize(scheme, userinfo, host, port, path, query, fragment)
      @scheme = scheme && scheme.downcase
      @userinfo = userinfo
      @host = host
      @port = port
      @query = query
      @fragment = fragment
      # To CRuby, the part after a scheme is not a path if it has no host and does not start at the root.
      if @scheme && !host && path && !path.empty? && !path.start_with?("/")
        @opaque = query ? "#{path}?#{query}" : path
        @path = @query = nil
      else
        @path = path || ""
      end
    end

    def default_port = self.class.default_port
    def port = @port || default_port
    def user = @userinfo && @userinfo.split(":", 2)[0]
    def password = @userinfo && @userinfo.split(":", 2)[1]
    def hostname = @host && @host.start_with?("[") ? @host[1..-2] : @host
    def absolute? = !@scheme.nil?
    alias absolute absolute?
    def relative? = !absolute?
    def hierarchical? = !@opaque
    def component = COMPONENT

    def authority
      return nil unless @host
      text = @userinfo ? "#{@userinfo}@#{@host}" : @host.dup
      @port && @port != default_port ? "#{text}:#{@port}" : text
    end

    def origin = "#{@scheme}://#{@host}#{@port && @port != default_port ? ":#{@port}" : ""}"

    def request_uri
      path = @path.empty? ? "/" : @path
      @query ? "#{path}?#{@query}" : path
    end

    def to_s
      text = +""
      text << @scheme << ":" if @scheme
      if @opaque
        text << @opaque
      else
        text << "//" << authority if @host
        text << "/" if @host && !@path.empty? && !@path.start_with?("/")
        text << @path
        text << "?" << @query if @query
      end
      text << "#" << @fragment if @fragment
      text
    end
    alias to_str to_s

    def inspect = "#<#{self.class} #{self}>"
    def ==(other) = other.is_a?(Generic) && normalize.to_s == other.normalize.to_s
    def eql?(other) = other.is_a?(Generic) && to_s == other.to_s
    def hash = to_s.hash
    def <=>(other) = to_s <=> other.to_s

    def normalize
      copy = dup
      copy.host = @host.downcase if @host
      copy.path = "/" if @host && @path.empty?
      copy
    end

    def merge(reference) = URI.join(to_s, reference.to_s)
    alias + merge

    def route_to(other)
      URI.parse(other.to_s)
    end

    def select(*names) = names.map { |name| __send__(name) }
  end

  class HTTP < Generic
    DEFAULT_PORT = 80
  end

  class HTTPS < HTTP
    DEFAULT_PORT = 443
  end

  class FTP < Generic
    DEFAULT_PORT = 21
  end

  class WS < Generic
    DEFAULT_PORT = 80
  end

  class WSS < WS
    DEFAULT_PORT = 443
  end

  class MailTo < Generic
    def to = @opaque && @opaque.split("?", 2)[0]
  end

  SCHEMES = { "HTTP" => HTTP, "HTTPS" => HTTPS, "FTP" => FTP, "WS" => WS, "WSS" => WSS, "MAILTO" => MailTo }

  # Escapes by RFC 2396, under the name that Rack uses.
  class RFC2396_Parser
    def escape(text, _unsafe = nil) = FoolsGold::Native.escape_path(text)
    def unescape(text, _escaped = nil) = FoolsGold::Native.unescape_component(text)
    def parse(text) = URI.parse(text)
    def split(text) = URI.split(text)
    def join(*texts) = URI.join(*texts)
    def extract(text, schemes = nil) = URI.extract(text, schemes)
    def make_regexp(schemes = nil) = URI.regexp(schemes)
  end
  Parser = RFC2396_Parser
  DEFAULT_PARSER = RFC2396_Parser.new

  class << self
    def parse(text)
      text = text.to_str unless text.is_a?(String)
      parts = FoolsGold::Native.uri_split(text) || raise(InvalidURIError, "bad URI(is not URI?): #{text.inspect}")
      __made(parts)
    end

    def __made(parts)
      type = parts[0] ? SCHEMES[parts[0].upcase] || Generic : Generic
      type.new(*parts)
    end

    def join(*texts)
      whole = texts.shift.to_s
      return parse(whole) if texts.empty?
      made = nil
      texts.each do |text|
        parts = FoolsGold::Native.uri_join(whole, text.to_s) || raise(InvalidURIError, "bad URI(is not URI?): #{text.inspect}")
        raise BadURIError, "both URI are relative" unless parts[0]
        made = __made(parts)
        whole = made.to_s
      end
      made
    end

    def split(text)
      uri = parse(text)
      port = uri.instance_variable_get(:@port)
      [uri.scheme, uri.userinfo, uri.host, port && port.to_s, nil, uri.path, uri.opaque, uri.query, uri.fragment]
    end

    def scheme_list = SCHEMES

    def for(scheme, *parts) = (SCHEMES[scheme.to_s.upcase] || Generic).new(scheme, *parts)

    def encode_www_form_component(text, _encoding = nil) = FoolsGold::Native.escape(text)
    def decode_www_form_component(text, _encoding = nil) = FoolsGold::Native.unescape(text)
    def encode_uri_component(text, _encoding = nil) = FoolsGold::Native.escape_component(text)
    def decode_uri_component(text, _encoding = nil) = FoolsGold::Native.unescape_component(text)

    def encode_www_form(pairs = nil, _encoding = nil, **named)
      pairs ||= named
      parts = []
      pairs.each do |name, value|
        name = encode_www_form_component(name)
        if value.nil?
          parts << name
        elsif value.is_a?(Array)
          value.each { |one| parts << (one.nil? ? name : "#{name}=#{encode_www_form_component(one)}") }
        else
          parts << "#{name}=#{encode_www_form_component(value)}"
        end
      end
      parts.join("&")
    end

    def decode_www_form(text, _encoding = nil, separator: "&", **)
      text.split(separator).map do |part|
        name, value = part.split("=", 2)
        [decode_www_form_component(name || ""), decode_www_form_component(value || "")]
      end
    end

    def regexp(schemes = nil)
      names = schemes ? Array(schemes).map { |name| Regexp.escape(name.to_s) }.join("|") : "[a-zA-Z][-+.a-zA-Z\\d]*"
      /(?:#{names}):[^\s<>"{}|\\^`]+/
    end

    def extract(text, schemes = nil)
      found = text.scan(regexp(schemes))
      found.each { |one| yield one } if block_given?
      found
    end
  end
end

module Kernel
  def URI(text) = text.is_a?(URI::Generic) ? text : URI.parse(text)
end

class CGI
  module Escape
    def escapeHTML(text) = FoolsGold::Native.escape_html(text)
    def unescapeHTML(text) = FoolsGold::Native.unescape_html(text)
    def escape(text) = FoolsGold::Native.cgi_escape(text)
    def unescape(text, _encoding = nil) = FoolsGold::Native.cgi_unescape(text)
    def escapeURIComponent(text) = FoolsGold::Native.escape_component(text)
    def unescapeURIComponent(text, _encoding = nil) = FoolsGold::Native.unescape_component(text)
    alias escape_html escapeHTML
    alias unescape_html unescapeHTML
    alias h escapeHTML
  end
  Util = Escape
  extend Escape
end
