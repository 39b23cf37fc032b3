# Parameters can be changed through the request.
#> POST /?q=1
#+ Content-Type: application/x-www-form-urlencoded
#= f=2
run lambda { |env|
  request = Rack::Request.new(env)
  request.update_param("q", "changed")
  request.update_param("f", "too")
  request.update_param("new", "one")
  deleted = request.delete_param("f")
  [200, { "content-type" => "text/plain" }, [[deleted, request.GET, request.POST].inspect]]
}
