# Rack::Static: files for some paths, the application for the rest.

require "rack/files"

module Rack
  class Static
    def initialize(app, options = {})
      @app = app
      @urls = options[:urls] || ["/favicon.ico"]
      @index = options[:index]
      @cascade = options[:cascade]
      @rules = options[:header_rules] || []
      cache = options[:cache_control]
      @rules = [[:all, { "cache-control" => cache }]] + @rules if cache
      @files = Files.new(options[:root] || ".")
    end

    def call(env)
      path = env["PATH_INFO"]
      index = index_for(path)
      return @app.call(env) unless index || served?(path)
      env["PATH_INFO"] = index if index
      env["PATH_INFO"] = @urls[path] if @urls.is_a?(Hash) && @urls.key?(path)
      served = env["PATH_INFO"]
      begin
        answer = @files.call(env)
      ensure
        env["PATH_INFO"] = path
      end
      return @app.call(env) if @cascade && answer[0] == 404
      with_rules(served, answer)
    end

    private

    def index_for(path)
      return nil unless @index && path.end_with?("/")
      return path + @index if @urls.is_a?(Hash) ? @urls.key?(path) : true
      nil
    end

    def served?(path)
      return @urls.key?(path) if @urls.is_a?(Hash)
      @urls.any? { |prefix| path.start_with?(prefix) }
    end

    def with_rules(path, answer)
      status, headers, body = answer
      headers = headers.dup
      @rules.each { |rule, fields| headers.update(fields) if applies?(rule, path) }
      [status, headers, body]
    end

    def applies?(rule, path)
      case rule
      when :all then true
      when :fonts then %w[.ttf .otf .eot .woff2 .woff .svg].any? { |extension| path.end_with?(extension) }
      when String then path.start_with?(rule) || path.start_with?("/#{rule}")
      when Array then rule.any? { |extension| path.end_with?(".#{extension}") }
      else !(rule =~ path).nil?
      end
    end
  end
end
