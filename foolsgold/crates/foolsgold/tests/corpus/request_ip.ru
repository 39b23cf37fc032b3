# The client's address: what is no trusted proxy, from the right.
#> GET /
#+ X-Forwarded-For: 203.0.113.9, 198.51.100.7, 10.0.0.1
#> GET /
#+ X-Forwarded-For: 192.168.1.5
#> GET /
#+ X-Forwarded-For: 203.0.113.9:1234
run lambda { |env| [200, { "content-type" => "text/plain" }, [Rack::Request.new(env).ip.to_s]] }
