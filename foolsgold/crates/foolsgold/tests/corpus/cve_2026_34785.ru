# CVE-2026-34785: a prefix of Rack::Static is a name or a folder, never the beginning of another name.
#> GET /css/a.css
#> GET /css-secret.env
#> GET /css.bak
#> GET /css
#> GET /css/
#> GET /css/../css-secret.env
#> GET /css/%2e%2e/css.bak
#> GET /hello.txt.bak
#~ field last-modified
use Rack::Static, urls: ["/css", "/hello.txt"], root: File.join(File.dirname(File.expand_path(__FILE__)), "files")
run lambda { |env| [404, { "content-type" => "text/plain" }, ["application"]] }
