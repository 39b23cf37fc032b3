# 204 and 304 lose their body, type and length.
#> GET /204
#> GET /304
run lambda { |env|
  Rack::Response.new("dropped", env["PATH_INFO"].delete("/").to_i, { "content-type" => "text/plain", "x-kept" => "yes" }).finish
}
