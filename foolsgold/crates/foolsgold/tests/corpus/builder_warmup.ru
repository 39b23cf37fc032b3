# warmup calls a block with the application before the first request.
#> GET /
seen = []
use Rack::ContentLength
run lambda { |env| [200, { "content-type" => "text/plain" }, ["warm=#{seen.inspect} path=#{env["PATH_INFO"]}"]] }
warmup { |app| seen << app.respond_to?(:call) }
