# Bytes of a file are what was sent, whatever they are.
#> POST /
#+ Content-Type: multipart/form-data; boundary=XX
#= --XX\r\nContent-Disposition: form-data; name="f"; filename="x.bin"\r\nContent-Type: application/octet-stream\r\n\r\n\x00\x01\xff\xfe\r\n\r\n--X\r\n\x80\r\n--XX--\r\n
run lambda { |env|
  file = Rack::Request.new(env).POST["f"]
  [200, { "content-type" => "text/plain" }, [file[:tempfile].read.bytes.inspect]]
}
