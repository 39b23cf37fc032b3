# The path keeps its percent-encoding, in upper and lower case, and characters that need none.
#> GET /a%20b/%C3%A9/%2F/%e2%82%ac
#> GET /semi;colon,comma:colon@at!
run lambda { |env| [200, { "content-type" => "text/plain" }, [env["PATH_INFO"], " ", Rack::Utils.unescape_path(env["PATH_INFO"])]] }
