# Without a body the input is at its end.
#> GET /
#> POST /
run lambda { |env|
  input = env["rack.input"]
  lines = []
  input.each { |line| lines << line }
  [200, { "content-type" => "text/plain" }, [[input.read(1), input.gets, lines, input.read].inspect]]
}
