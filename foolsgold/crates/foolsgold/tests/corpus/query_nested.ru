# Nested parameters of a query.
#> GET /?a=1&b=2
#> GET /?a[]=1&a[]=2
#> GET /?a[b]=1&a[c]=2
#> GET /?a[b][]=1&a[b][]=2
#> GET /?x[][y]=1&x[][z]=2&x[][y]=3&x[][z]=4
#> GET /?x[y][z][]=1&x[y][z][]=2
#> GET /?a
#> GET /?a=
#> GET /?=b
#> GET /?a=1&a=2
#> GET /?a[]
#> GET /?a%5Bb%5D=c+d%2Be
#> GET /?&&a=1&
#> GET /?x[][y][z]=1&x[][y][w]=2
#> GET /?x[][y]=1&x[][y]=2
run lambda { |env| [200, { "content-type" => "text/plain" }, [Rack::Utils.parse_nested_query(env["QUERY_STRING"]).inspect]] }
