# Bodies of nothing.
#> GET /none
#> GET /blank
run lambda { |env| [200, { "content-type" => "text/plain" }, env["PATH_INFO"] == "/none" ? [] : [""]] }
