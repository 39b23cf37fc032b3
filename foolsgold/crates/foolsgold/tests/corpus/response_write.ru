# Rack::Response collects what is written and its fields.
#> GET /
run lambda { |_env|
  response = Rack::Response.new
  response.write("one ")
  response.write("two ")
  response.write(3)
  response["X-Thing"] = "a"
  response.set_header("x-other", "b")
  response.content_type = "text/x-made"
  response.status = 201
  response.finish
}
