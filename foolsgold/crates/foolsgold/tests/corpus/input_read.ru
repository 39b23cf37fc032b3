# rack.input: read without, with a length, with a buffer; "" and nil at its end.
#> POST /
#= hello world
run lambda { |env|
  input = env["rack.input"]
  buffer = +"kept"
  seen = [input.read(5), input.read(0), input.read(1, buffer), buffer, input.read(100), input.read(1), input.read, input.read(0)]
  buffer = +"old"
  seen << input.read(3, buffer) << buffer
  [200, { "content-type" => "text/plain" }, [seen.inspect]]
}
