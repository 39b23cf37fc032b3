# An upload has name, type and content of its file, beside the other fields.
#> POST /
#+ Content-Type: multipart/form-data; boundary=AaB03x
#= --AaB03x\r\nContent-Disposition: form-data; name="text"\r\n\r\nhello world\r\n--AaB03x\r\nContent-Disposition: form-data; name="doc"; filename="dir/a b.txt"\r\nContent-Type: text/plain\r\n\r\nline one\r\nline two\r\n--AaB03x--\r\n
run lambda { |env|
  params = Rack::Request.new(env).POST
  file = params["doc"]
  seen = [params.keys, params["text"], file.keys.map(&:to_s).sort, file[:filename], file[:type], file[:name], file[:tempfile].read, file[:head]]
  [200, { "content-type" => "text/plain" }, [seen.inspect]]
}
