# A flat query: a name that stands several times has an Array.
#> GET /?a=1&a=2&b=3
#> GET /?a[b]=1&c
#> GET /?a=1&a=2&a=3
#> GET /?q=%E2%9C%93
run lambda { |env| [200, { "content-type" => "text/plain" }, [Rack::Utils.parse_query(env["QUERY_STRING"]).inspect]] }
