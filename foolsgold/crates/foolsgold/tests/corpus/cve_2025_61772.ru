# CVE-2025-61772: the head of a part has a bound.
#> POST /
#+ Content-Type: multipart/form-data; boundary=XX
#* 1 --XX\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--XX--\r\n
#> POST /long
#+ Content-Type: multipart/form-data; boundary=XX
#* 90000 --XX\r\nX-Long: value
run lambda { |env|
  text = begin
    Rack::Request.new(env).POST.inspect
  rescue StandardError
    "refused"
  end
  [200, { "content-type" => "text/plain" }, [text]]
}
