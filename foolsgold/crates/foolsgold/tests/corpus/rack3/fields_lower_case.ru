# A response keeps the names of its fields in lower case, and several cookies in an Array.
#> GET /
#< 200
#- x-thing: a
#- set-cookie: a=1
#- set-cookie: b=2; path=/; httponly; samesite=lax
#: ["x-thing", "set-cookie"] Array true
run lambda { |_env|
  response = Rack::Response.new
  response["X-Thing"] = "a"
  response.set_cookie("a", "1")
  response.set_cookie("b", { value: "2", path: "/", http_only: true, same_site: "Lax" })
  response.write("#{response.headers.keys.inspect} #{response.headers["Set-Cookie"].class} #{response.headers.key?("X-THING")}")
  response.finish
}
