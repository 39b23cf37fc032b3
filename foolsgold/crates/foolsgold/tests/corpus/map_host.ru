# A location with a host serves that host only; a location without serves the others.
#> GET /x
#+ Host: one.example
#> GET /x
#+ Host: two.example
#> GET /y
#+ Host: one.example
say = lambda { |text| lambda { |env| [200, { "content-type" => "text/plain" }, ["#{text} #{env["SCRIPT_NAME"]} #{env["PATH_INFO"]}"]] } }
map("http://one.example/x") { run say.call("one") }
map("/x") { run say.call("any") }
map("/") { run say.call("root") }
