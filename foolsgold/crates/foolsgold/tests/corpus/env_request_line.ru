# Method, path, query and protocol stand in the environment as they came.
#> GET /a/b?x=1&y=%20
#> DELETE /thing
#> PATCH /
#= z
run lambda { |env|
  keys = %w[REQUEST_METHOD SCRIPT_NAME PATH_INFO QUERY_STRING SERVER_PROTOCOL rack.url_scheme]
  [200, { "content-type" => "text/plain" }, [keys.map { |key| "#{key}=#{env[key].inspect}\n" }.join]]
}
