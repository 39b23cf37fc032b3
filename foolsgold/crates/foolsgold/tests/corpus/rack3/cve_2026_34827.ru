# CVE-2026-34827 and CVE-2025-49007: quotes, escapes and parameters of a disposition cost their length, and have a bound.
#> POST /
#< 200
#: ["text/plain"] ["a\\"b\\\\c;d"] ["x"]
require "stringio"
require "rack/multipart"
run lambda { |env|
  names = lambda { |disposition|
    body = "--XX\r\nContent-Disposition: #{disposition}\r\nContent-Type: text/plain\r\n\r\n1\r\n--XX--\r\n"
    inner = env.merge("CONTENT_TYPE" => "multipart/form-data; boundary=XX", "rack.input" => StringIO.new(body))
    Rack::Multipart.parse_multipart(inner).keys.inspect
  }
  lines = [names.call("form-data; name=\"" + "\\\"é" * 15_000 + "\""), names.call("form-data; name=\"a\\\"b\\\\c;d\""),
           names.call("form-data; name=x; " + (1..50).map { |i| "p#{i}=1" }.join("; "))]
  [200, { "content-type" => "text/plain" }, [lines.join(" ")]]
}
