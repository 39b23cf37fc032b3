# CVE-2026-26962: a folded field of a part keeps no line's end.
#> POST /
#+ Content-Type: multipart/form-data; boundary=XX
#= --XX\r\nContent-Disposition: form-data;\r\n name="a";\r\n\x09filename="b"\r\nContent-Type: text/x;\r\n y=z\r\n\r\n1\r\n--XX--\r\n
#< 200
#: false false "a" "b"
run lambda { |env|
  file = Rack::Request.new(env).POST["a"]
  [200, { "content-type" => "text/plain" }, ["#{file[:type].include?("\r")} #{file[:type].include?("\n")} #{file[:name].inspect} #{file[:filename].inspect}"]]
}
