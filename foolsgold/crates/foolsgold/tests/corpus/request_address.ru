# Scheme, host, port and paths of a request.
#> GET /a/b?c=d
#+ Host: example.org:8080
#> GET /
#+ Host: example.org
#> GET /
#+ Host: [::1]:99
#> GET /x
#+ Host: inner.example
#+ X-Forwarded-Host: outer.example
#+ X-Forwarded-Proto: https
#+ X-Forwarded-For: 203.0.113.9, 10.0.0.1
run lambda { |env|
  request = Rack::Request.new(env)
  seen = %w[scheme host port ssl? host_with_port base_url url path fullpath script_name path_info query_string request_method]
  [200, { "content-type" => "text/plain" }, [seen.map { |name| "#{name}=#{request.__send__(name.to_sym).inspect}\n" }.join]]
}
