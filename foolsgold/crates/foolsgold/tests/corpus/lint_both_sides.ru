# Rack::Lint finds nothing wrong with the server, with the middleware, or with the application.
#> GET /?a=b
#> POST /
#+ Content-Type: text/plain
#= hello
use Rack::Lint
use Rack::Head
use Rack::ContentLength
use Rack::Lint
run lambda { |env|
  text = env["rack.input"] ? env["rack.input"].read : ""
  [200, { "content-type" => "text/plain" }, ["got #{text.inspect}"]]
}
