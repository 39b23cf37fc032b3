# Fields with types, empty files, names in brackets, quotes and backslashes, parts that are folded.
#> POST /
#+ Content-Type: multipart/form-data; boundary="quoted"
#= --quoted\r\nContent-Disposition: form-data; name="a[b]"\r\n\r\none\r\n--quoted\r\nContent-Disposition: form-data; name="a[c][]"\r\n\r\ntwo\r\n--quoted\r\nContent-Disposition: form-data; name="empty"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n--quoted\r\nContent-Disposition: form-data;\r\n name="folded"\r\n\r\n\r\n--quoted--\r\n
#> POST /
#+ Content-Type: multipart/form-data; boundary=b
#= preamble\r\n--b\r\nContent-Disposition: form-data; name="f"; filename="C:\\\\dir\\\\evil.txt"\r\nContent-Type: application/x\r\n\r\nx\r\n--b\r\nContent-Disposition: form-data; name="t"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\ntyped\r\n--b--\r\nepilogue
#> POST /
#+ Content-Type: multipart/form-data; boundary=b
#= --b\r\nContent-Disposition: form-data; name="f"; filename="q\\"uote.txt"\r\n\r\n\r\n--b--\r\n
plain = lambda { |value|
  case value
  when Hash then value.map { |key, one| [key.to_s, plain.call(one)] }.sort_by(&:first)
  when Array then value.map { |one| plain.call(one) }
  when nil, String then value
  else value.read
  end
}
run lambda { |env|
  [200, { "content-type" => "text/plain" }, [plain.call(Rack::Request.new(env).POST).inspect]]
}
