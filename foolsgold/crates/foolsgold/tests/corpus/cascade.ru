# Rack::Cascade goes on while an application says 404 or 405.
#> GET /first
#> GET /second
#> GET /third
say = lambda { |path| lambda { |env| env["PATH_INFO"] == path ? [200, { "content-type" => "text/plain" }, ["is #{path}"]] : [404, { "content-type" => "text/plain" }, ["not #{path}"]] } }
run Rack::Cascade.new([say.call("/first"), say.call("/second")])
