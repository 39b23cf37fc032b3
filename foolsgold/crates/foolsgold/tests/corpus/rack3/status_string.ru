# A status that is a String of digits is taken.
#> GET /
#< 202
#: taken
run lambda { |_env| ["202", { "content-type" => "text/plain" }, ["taken"]] }
