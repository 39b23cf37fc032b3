# CVE-2026-34831: the length of an error of Rack::Files is that of its bytes, also if the path is not ASCII.
#> GET /%C3%A9%E2%82%AC
#> GET /plain
run lambda { |env|
  status, headers, body = Rack::Files.new(File.join(File.dirname(File.expand_path(__FILE__)), "files")).call(env)
  text = +""
  body.each { |part| text << part }
  length = headers["content-length"] || headers["Content-Length"]
  [200, { "content-type" => "text/plain" }, ["#{status} #{length.to_i == text.bytesize}"]]
}
