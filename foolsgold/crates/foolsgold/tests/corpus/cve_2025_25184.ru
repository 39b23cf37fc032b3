# CVE-2025-25184 and CVE-2022-30123: a client cannot write lines or escape sequences of its own into the log.
#> GET /a%0ab
#+ X-User: eve%0afake
require "stringio"
run lambda { |env|
  log = StringIO.new
  env["REMOTE_USER"] = "eve\r\nfake \e[31m"
  status, headers, body = Rack::CommonLogger.new(lambda { |_| [200, {}, ["x"]] }, log).call(env)
  body.each { |_| }
  body.close if body.respond_to?(:close)
  text = log.string
  [200, { "content-type" => "text/plain" }, ["#{text.count("\n")} #{text.end_with?("\n")} #{text.include?("\e")} #{text.include?("\r")}"]]
}
