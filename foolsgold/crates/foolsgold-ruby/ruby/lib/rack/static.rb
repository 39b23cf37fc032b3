# Rack::Static: serves files for some paths, and the application for the rest.

require "rack/files"

module Rack
  class Static
    def initialize(app, options = {})
      @app = app
      @urls = options[:urls] || ["/favicon.ico"]
      # A prefix matches itself and what is below it: "/css" does not match "/css-secret.env" (CVE-2026-34785).
      @prefixes = @urls.is_a?(Hash) ? [] : @urls.map { |url| [url, url.end_with?("/") ? url : "#{url}/"] }
      @index = options[:index]
      @gzip = options[:gzip]
      @cascade = options[:cascade]
      @rules = options[:header_rules] || []
      cache = options[:cache_control]
      @rules = [[:all, { "cache-control" => cache }]] + @rules if cache
      @files = Files.new(options[:root] || Dir.pwd)
    end

    def call(env)
      path = env["PATH_INFO"]
      # The decision is based on the name that is opened, with escapes and dots resolved (CVE-2025-27610).
      name = Utils.clean_path_info(Utils.unescape_path(path))
      served = served_as(path, name)
      return @app.call(env) unless served
      answer = @gzip && accepts_gzip?(env) ? compressed(env, served) : nil
      answer ||= file(env, served)
      return @app.call(env) if @cascade && answer[0] == 404
      with_rules(served, answer)
    end

    private

    # The path of the file to serve; nil if the application has to answer.
    def served_as(path, name)
      return @urls.key?(name) ? @urls.fetch(path, path) : nil if @urls.is_a?(Hash)
      return nil unless below?(name)
      @index && path.end_with?("/") && below?(path) ? path + @index : path
    end

    def below?(name)
      @prefixes.any? { |exact, folder| name == exact || name.start_with?(folder) }
    end

    def file(env, served)
      path = env["PATH_INFO"]
      env["PATH_INFO"] = served
      begin
        @files.call(env)
      ensure
        env["PATH_INFO"] = path
      end
    end

    def accepts_gzip?(env)
      Utils.q_values(env["HTTP_ACCEPT_ENCODING"]).any? { |coding, quality| coding == "gzip" && quality > 0 }
    end

    # The pre-compressed file, with the type of the original; nil if there is none.
    def compressed(env, served)
      status, headers, body = file(env, "#{served}.gz")
      return nil if status == 404
      return [status, headers, body] if status == 304
      type = Mime.mime_type(::File.extname(served), "text/plain")
      [status, headers.merge("content-type" => type, "content-encoding" => "gzip"), body]
    end

    def with_rules(path, answer)
      status, headers, body = answer
      headers = headers.dup
      # Matches the name that is opened, whatever escapes the client used (CVE-2026-34786).
      name = Utils.unescape_path(path)
      @rules.each { |rule, fields| headers.update(fields) if applies?(rule, name) }
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
