# CVE-2025-61780, CVE-2025-27111 and CVE-2026-34830: no field of a request makes the server or a proxy send another file. There is
# no Rack::Sendfile, and no Rack::Directory (CVE-2026-22860, CVE-2026-25500, CVE-2026-34763, CVE-2020-8161).
#> GET /
#+ X-Sendfile-Type: X-Accel-Redirect
#+ X-Accel-Mapping: .*=/secret
#< 200
#: [] false false
run lambda { |env|
  status, headers, body = Rack::Files.new(File.dirname(File.expand_path(__FILE__))).call(env.merge("PATH_INFO" => "/#{File.basename(__FILE__)}"))
  sent = headers.keys.select { |name| name.downcase.start_with?("x-") }
  [status, { "content-type" => "text/plain" }, ["#{sent.inspect} #{Rack.const_defined?(:Sendfile)} #{Rack.const_defined?(:Directory)}"]]
}
