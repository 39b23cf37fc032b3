# CVE-2025-27610: what Rack::Static serves is decided without the dots and escapes of the path.
#> GET /sub/../css-secret.env
#> GET /sub/%2e%2e/css-secret.env
#> GET /sub/
#> GET /sub
#> GET /sub/index.html
#> GET /
#> GET /elsewhere/
#~ field last-modified
use Rack::Static, urls: ["/sub"], index: "index.html", root: File.join(File.dirname(File.expand_path(__FILE__)), "files")
run lambda { |env| [404, { "content-type" => "text/plain" }, ["application"]] }
