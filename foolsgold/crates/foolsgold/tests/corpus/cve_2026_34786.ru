# CVE-2026-34786: header rules apply to the name that is opened, whatever escapes the client wrote.
#> GET /css/a.css
#> GET /css/%61.css
#> GET /css/a%2ecss
#> GET /%63ss/a.css
#> GET /page.html
#~ field last-modified
use Rack::Static, urls: ["/css", "/page.html"], root: File.join(File.dirname(File.expand_path(__FILE__)), "files"),
                  header_rules: [["/css", { "x-rule" => "text" }], [%w[css], { "x-list" => "list" }], [/a\.css\z/, { "x-regexp" => "regexp" }]]
run lambda { |env| [404, { "content-type" => "text/plain" }, ["application"]] }
