# Queries are built from Hashes.
#> GET /
run lambda { |_env|
  utils = Rack::Utils
  lines = [
    utils.build_query("a" => "1", "b" => ["2", "3"], "c d" => "é"),
    utils.build_query("a" => nil),
    utils.build_nested_query("a" => "x y", "d" => nil)
  ]
  [200, { "content-type" => "text/plain" }, [lines.join("\n")]]
}
