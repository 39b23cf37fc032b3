# CVE-2026-34835: what cannot be a host's name is none, so that a list of allowed hosts cannot be passed by it.
#> GET /
#< 200
#: nil nil nil nil "good.example" "[::1]" "localhost"
run lambda { |env|
  host = lambda { |text| Rack::Request.new(env.merge("HTTP_X_FORWARDED_HOST" => text)).host.inspect }
  hosts = ["good.example/@evil", "evil?good.example", "good.example#evil:80", "good.example:80x", "good.example:80", "[::1]:8000", ""]
  [200, { "content-type" => "text/plain" }, [hosts.map { |text| host.call(text) }.join(" ")]]
}
