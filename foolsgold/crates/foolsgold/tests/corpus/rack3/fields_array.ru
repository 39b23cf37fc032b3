# A value that is an Array is several fields.
#> GET /
#< 200
#- x-many: one
#- x-many: two
#: many
run lambda { |_env| [200, { "content-type" => "text/plain", "x-many" => %w[one two] }, ["many"]] }
