# CVE-2020-8184: the name of a cookie is not decoded, so that an encoded one cannot stand for a prefixed one.
#> GET /
#+ Cookie: __%48ost-id=forged; a%3db=1
run lambda { |env| [200, { "content-type" => "text/plain" }, [Rack::Request.new(env).cookies.to_a.sort.inspect]] }
