# MockRequest and MockResponse serve applications inside of applications.
#> GET /
require "rack/mock"
inner = lambda { |env|
  response = Rack::Response.new("inner #{env["REQUEST_METHOD"]} #{env["PATH_INFO"]} #{env["QUERY_STRING"]} #{env["rack.input"] ? env["rack.input"].read : ""}")
  response["x-inner"] = "yes"
  response.set_cookie("c", "v")
  response.finish
}
run lambda { |_env|
  mock = Rack::MockRequest.new(inner)
  got = mock.get("/path?a=b")
  posted = mock.post("/form", params: { "x" => "y z" })
  bare = mock.put("/raw", input: "raw input")
  lines = [got.status, got.body, got["X-Inner"], got.ok?, posted.body, bare.body, Rack::MockRequest.env_for("https://h.example:444/p?q").values_at("SERVER_NAME", "SERVER_PORT", "PATH_INFO", "QUERY_STRING", "rack.url_scheme")]
  [200, { "content-type" => "text/plain" }, [lines.map(&:inspect).join("\n")]]
}
