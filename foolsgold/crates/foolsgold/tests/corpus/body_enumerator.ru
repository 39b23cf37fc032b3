# An Enumerator is a body.
#> GET /
run lambda { |_env|
  body = Enumerator.new { |out| 5.times { |i| out << "line #{i}\n" } }
  [200, { "content-type" => "text/plain" }, body]
}
