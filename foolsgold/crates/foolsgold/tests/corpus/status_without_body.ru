# 204 and 304 have no body.
#> GET /204
#> GET /304
run lambda { |env| [env["PATH_INFO"].delete("/").to_i, { "x-status" => "yes" }, []] }
