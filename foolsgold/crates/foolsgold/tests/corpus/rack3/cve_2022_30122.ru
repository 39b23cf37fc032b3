# CVE-2022-30122, CVE-2022-44571, CVE-2022-44572 and CVE-2023-27539: broken heads of parts and fields cost their length.
#> POST /
#< 200
#: [["text/plain"], ["a"], ["b"]]
require "stringio"
require "rack/multipart"
run lambda { |env|
  names = lambda { |head|
    body = "--XX\r\n#{head}\r\nContent-Type: text/plain\r\n\r\n1\r\n--XX--\r\n"
    inner = env.merge("CONTENT_TYPE" => "multipart/form-data; boundary=XX", "rack.input" => StringIO.new(body))
    Rack::Multipart.parse_multipart(inner).keys
  }
  found = [names.call("Content-Disposition: form-data;" + " x=\"\\" * 10_000), names.call("Content-Disposition: form-data; name=a;" + "=" * 1_000),
           names.call("Content-Disposition: form-data; name=b;" + ";\t" * 500)]
  [200, { "content-type" => "text/plain" }, [found.inspect]]
}
