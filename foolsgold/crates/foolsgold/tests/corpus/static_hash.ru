# Static with a Hash serves the paths that it names, by other names.
#> GET /
#> GET /about
#> GET /about/
#> GET /css/a.css
#~ field last-modified
use Rack::Static, urls: { "/" => "page.html", "/about" => "hello.txt" }, root: File.join(File.dirname(File.expand_path(__FILE__)), "files")
run lambda { |env| [404, { "content-type" => "text/plain" }, ["application"]] }
