# run takes a block.
#> GET /path
#< 200
#: block /path
run { |env| [200, { "content-type" => "text/plain" }, ["block #{env["PATH_INFO"]}"]] }
