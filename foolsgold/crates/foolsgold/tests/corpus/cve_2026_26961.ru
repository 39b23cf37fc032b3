# CVE-2026-26961: two boundaries in one content type are an error of the client.
#> POST /
#+ Content-Type: multipart/form-data; boundary=XX; boundary=YY
#= --XX\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--XX--\r\n
#> POST /
#+ Content-Type: multipart/form-data; boundary=XX
#= --XX\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--XX--\r\n
run lambda { |env|
  text = begin
    Rack::Request.new(env).POST.inspect
  rescue StandardError
    "refused"
  end
  [200, { "content-type" => "text/plain" }, [text]]
}
