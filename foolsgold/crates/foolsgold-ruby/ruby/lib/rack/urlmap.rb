# Rack::URLMap: chooses an application by the longest prefix of the path (and by host, if a location names one).
#
# Every request passes through here, so prefixes are compared as whole strings, without a regular expression, and
# SCRIPT_NAME and PATH_INFO are the only new strings. A prefix ends at the end of a path segment; "/a//b" is also under
# "/a/b".

require "rack/constants"

module Rack
  class URLMap
    # One location: `path` has no trailing slash, so it is empty for the root.
    class Place
      attr_reader :host, :path, :size, :app

      def initialize(host, path, app)
        @host = host
        @path = path
        @size = path.bytesize
        @app = app
      end
    end

    # [host or nil, path] for a location such as "/a" or "http://example.org/a".
    def self.split(location)
      rest = nil
      if location.start_with?("http://")
        rest = location.byteslice(7, location.bytesize)
      elsif location.start_with?("https://")
        rest = location.byteslice(8, location.bytesize)
      end
      host = nil
      path = location
      if rest
        slash = rest.index("/")
        host = slash ? rest[0, slash] : rest
        path = slash ? rest[slash, rest.size] : "/"
      end
      raise ArgumentError, "paths need to start with / (#{location.inspect} does not)" unless path.start_with?("/")
      [host, path]
    end

    def initialize(map = {})
      remap(map)
    end

    def remap(map)
      places = map.map do |location, app|
        host, path = URLMap.split(location)
        Place.new(host, path.end_with?("/") ? path.chop : path, app)
      end
      # Locations with a host before those without, long before short; the last criterion keeps the given order.
      ranked = places.each_with_index.to_a.sort_by do |place, index|
        [place.host ? -place.host.bytesize : 1, -place.size, index]
      end
      @places = ranked.map { |place, _| place }
      @hosts = @places.map { |place| place.host }.compact.uniq
      @hosts = nil if @hosts.empty?
    end

    def call(env)
      path = env["PATH_INFO"]
      places = @places
      index = 0
      while (place = places[index])
        size = place.size
        if size == 0
          taken = 0 if path.empty? || path.getbyte(0) == 47
        elsif path.start_with?(place.path)
          taken = size if path.bytesize == size || path.getbyte(size) == 47
        end
        taken = squeezed(path, place.path) if !taken && path.include?("//")
        return enter(env, place, path, taken) if taken && (@hosts.nil? || host?(place.host, env))
        taken = nil
        index += 1
      end
      [404, { "content-type" => "text/plain", "x-cascade" => "pass" }, ["Not Found: #{path}"]]
    end

    private

    def enter(env, place, path, taken)
      return place.app.call(env) if taken == 0
      script = env["SCRIPT_NAME"]
      begin
        env["SCRIPT_NAME"] = script + place.path
        env["PATH_INFO"] = path.byteslice(taken, path.bytesize)
        place.app.call(env)
      ensure
        env["SCRIPT_NAME"] = script
        env["PATH_INFO"] = path
      end
    end

    # How many bytes of the path the prefix matches if each slash may be repeated, or nil.
    def squeezed(path, prefix)
      at = 0
      prefix.each_byte do |byte|
        return nil unless path.getbyte(at) == byte
        at += 1
        at += 1 while byte == 47 && path.getbyte(at) == 47
      end
      following = path.getbyte(at)
      following.nil? || following == 47 ? at : nil
    end

    def host?(wanted, env)
      named = env["HTTP_HOST"]
      server = env["SERVER_NAME"]
      return same?(named, wanted) || same?(server, wanted) if wanted
      # A location without a host serves this server's own name and every host that no location names.
      !@hosts.include?(named) || same?(named, server) || same?(named, "#{server}:#{env["SERVER_PORT"]}")
    end

    def same?(one, other)
      !one.nil? && !other.nil? && one.casecmp(other) == 0
    end
  end
end
