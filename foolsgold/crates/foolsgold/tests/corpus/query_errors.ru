# Parameters that contradict each other, and encodings that are none, raise errors of their own.
#> GET /?a=1&a[b]=2
#> GET /?a=1&a[]=2
#> GET /?a[b]=1&a[]=2
#> GET /?a=%
#> GET /?a=%zz
run lambda { |env|
  text = begin
    Rack::Utils.parse_nested_query(env["QUERY_STRING"]).inspect
  rescue Rack::Utils::ParameterTypeError => error
    "type"
  rescue Rack::Utils::InvalidParameterError
    "invalid"
  end
  [200, { "content-type" => "text/plain" }, [text]]
}
