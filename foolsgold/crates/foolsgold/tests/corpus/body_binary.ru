# Every byte can be sent.
#> GET /
run lambda { |_env| [200, { "content-type" => "application/octet-stream" }, [(0..255).to_a.pack("C*")]] }
