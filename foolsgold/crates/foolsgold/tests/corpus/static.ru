# Static serves some paths from files and the rest from the application.
#> GET /hello.txt
#> GET /app
#> GET /
#~ field last-modified
use Rack::Static, urls: ["/hello.txt", "/page.html"], root: File.join(File.dirname(File.expand_path(__FILE__)), "files"),
                  header_rules: [[:all, { "cache-control" => "public" }]]
run lambda { |env| [200, { "content-type" => "text/plain" }, ["application #{env["PATH_INFO"]}"]] }
