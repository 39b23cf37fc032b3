# rack.input can be rewound where the server lets it (Rack 2 does).
#> POST /
#= again
run lambda { |env|
  input = env["rack.input"]
  first = input.read
  input.rewind if input.respond_to?(:rewind)
  [200, { "content-type" => "text/plain" }, [[first, input.read].inspect]]
}
