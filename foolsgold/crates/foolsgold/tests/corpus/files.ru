# Files of a folder, with ranges, and nothing outside of it.
#> GET /hello.txt
#> GET /page.html
#> GET /missing.txt
#> GET /../files.ru
#> GET /%2e%2e/files.ru
#> HEAD /hello.txt
#> GET /hello.txt
#+ Range: bytes=0-4
#> POST /hello.txt
#~ field last-modified
run Rack::Files.new(File.join(File.dirname(File.expand_path(__FILE__)), "files"))
