# Text is UTF-8 in and out.
#> GET /?q=%E2%82%AC+gr%C3%BC%C3%9Fe
#> POST /
#+ Content-Type: application/x-www-form-urlencoded
#= name=%F0%9F%92%8E
run lambda { |env|
  request = Rack::Request.new(env)
  text = request.params.values.join(",")
  [200, { "content-type" => "text/plain; charset=utf-8" }, ["#{text} #{text.size} #{text.bytesize} #{text.reverse} ✓"]]
}
