# Rack 3 takes brackets at the start of a name as part of it, does not separate at semicolons, and escapes brackets.
#> GET /?[]=1&[a]=2
#< 200
#: {"[]"=>"1", "[a]"=>"2"}
#> GET /?a=1;b=2
#< 200
#: {"a"=>"1;b=2"}
#> GET /build
#< 200
#: a%5Bb%5D=c&d%5B%5D=1&d%5B%5D=2
run lambda { |env|
  text = if env["PATH_INFO"] == "/build"
    Rack::Utils.build_nested_query({ "a" => { "b" => "c" }, "d" => %w[1 2] })
  else
    Rack::Utils.parse_nested_query(env["QUERY_STRING"]).inspect
  end
  [200, { "content-type" => "text/plain" }, [text]]
}
