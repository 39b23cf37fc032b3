# Any status an application chooses is sent.
#> GET /201
#> GET /302
#> GET /404
#> GET /418
#> GET /503
run lambda { |env|
  status = env["PATH_INFO"].delete("/").to_i
  [status, { "content-type" => "text/plain", "location" => "/elsewhere" }, ["status #{status}"]]
}
