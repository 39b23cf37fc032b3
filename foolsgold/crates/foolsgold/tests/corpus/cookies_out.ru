# Set-Cookie with its attributes, several of them, each in a field of its own.
#> GET /
run lambda { |_env|
  response = Rack::Response.new("cookies")
  response.set_cookie("plain", "value with blanks")
  response.set_cookie("full", value: ["a", "b"], path: "/p", domain: "example.org", secure: true, httponly: true,
                              max_age: 60, same_site: :lax, expires: Time.at(0))
  response.set_cookie("strict", value: "s", same_site: :strict)
  response.finish
}
