# A large answer arrives whole.
#> GET /
run lambda { |_env| [200, { "content-type" => "text/plain" }, ["0123456789abcdef" * 65_536]] }
