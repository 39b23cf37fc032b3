# CVE-2018-16471: a scheme that a client names is one of the web's, or is not used.
#> GET /
#+ X-Forwarded-Scheme: javascript:alert(1)//
#> GET /
#+ X-Forwarded-Proto: a href="x"
#> GET /
#+ X-Forwarded-Proto: https
run lambda { |env| [200, { "content-type" => "text/plain" }, [Rack::Request.new(env).scheme]] }
