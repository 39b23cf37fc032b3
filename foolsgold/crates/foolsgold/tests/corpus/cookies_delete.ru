# A cookie is deleted by one that has expired.
#> GET /
run lambda { |_env|
  response = Rack::Response.new
  response.delete_cookie("gone", path: "/x")
  response.write("done")
  response.finish
}
