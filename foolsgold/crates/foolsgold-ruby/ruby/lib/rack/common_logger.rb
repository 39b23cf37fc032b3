# Rack::CommonLogger: a line for each request in Apache's common format, once the body is closed. The server has an
# access log of its own; this is for applications that want theirs.

require "rack/body_proxy"
require "rack/utils"

module Rack
  class CommonLogger
    def initialize(app, logger = nil)
      @app = app
      @logger = logger
    end

    def call(env)
      start = Utils.clock_time
      status, headers, body = @app.call(env)
      body = BodyProxy.new(body) { log(env, status, headers, start) }
      [status, headers, body]
    end

    private

    def log(env, status, headers, start)
      query = env["QUERY_STRING"]
      line = sprintf("%s - %s [%s] \"%s %s%s%s %s\" %d %s %0.4f\n",
                     env["HTTP_X_FORWARDED_FOR"] || env["REMOTE_ADDR"] || "-", env["REMOTE_USER"] || "-",
                     date(Time.now), env["REQUEST_METHOD"], env["SCRIPT_NAME"], env["PATH_INFO"],
                     query.nil? || query.empty? ? "" : "?#{query}", env["SERVER_PROTOCOL"], status.to_i,
                     length(headers), Utils.clock_time - start)
      logger = @logger || env["rack.errors"]
      logger.respond_to?(:write) ? logger.write(printable(line)) : logger << printable(line)
    end

    def date(time)
      at = time.dup.utc
      sprintf("%02d/%s/%04d:%02d:%02d:%02d +0000", at.day, Utils::MONTHS[at.month - 1], at.year, at.hour, at.min, at.sec)
    end

    def length(headers)
      value = headers["content-length"] || headers["Content-Length"]
      value.nil? || value.to_s == "0" ? "-" : value
    end

    # Control characters sent by a client must not create log lines.
    def printable(line)
      body = line.chomp
      clean = true
      body.each_byte { |byte| clean = false if byte < 32 || byte == 127 }
      return line if clean
      result = +""
      body.each_char { |char| char.bytesize == 1 && (char.ord < 32 || char.ord == 127) ? result << sprintf("\\x%x", char.ord) : result << char }
      result << "\n"
    end
  end
end
