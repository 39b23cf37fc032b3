# A body that ends in the middle of a part raises EOFError or one of its kind.
#> POST /
#+ Content-Type: multipart/form-data; boundary=XX
#= --XX\r\nContent-Disposition: form-data; name="f"\r\n\r\nvalue without end
run lambda { |env|
  text = begin
    Rack::Request.new(env).POST.inspect
  rescue EOFError
    "EOFError"
  end
  [200, { "content-type" => "text/plain" }, [text]]
}
