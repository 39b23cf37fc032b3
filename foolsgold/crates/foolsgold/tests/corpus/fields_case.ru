# Names of fields may be written in any case.
#> GET /
run lambda { |_env| [200, { "Content-Type" => "text/x-case", "X-MiXed" => "Value" }, ["case"]] }
