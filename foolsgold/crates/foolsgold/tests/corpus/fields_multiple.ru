# A value with line breaks is several fields, as Rack 2 wrote them.
#> GET /
run lambda { |_env| [200, { "content-type" => "text/plain", "x-many" => "one\ntwo\nthree" }, ["many"]] }
