# A redirect has its status and its location.
#> GET /
#> GET /permanent
run lambda { |env|
  response = Rack::Response.new
  env["PATH_INFO"] == "/permanent" ? response.redirect("/new", 301) : response.redirect("https://example.org/?a=b&c")
  response.finish
}
