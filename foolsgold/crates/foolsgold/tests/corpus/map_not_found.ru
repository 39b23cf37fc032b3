# What no map serves is 404 with x-cascade.
#> GET /nothing/here
#> GET /thi
map("/this") { run lambda { |_env| [200, { "content-type" => "text/plain" }, ["this"]] } }
