# rack.session is a Hash where no middleware gives another.
#> GET /
run lambda { |env|
  request = Rack::Request.new(env)
  request.session["a"] = 1
  [200, { "content-type" => "text/plain" }, [env["rack.session"].inspect]]
}
