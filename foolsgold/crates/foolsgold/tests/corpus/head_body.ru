# HEAD has the fields of GET and no body.
#> HEAD /
#> GET /
use Rack::Head
use Rack::ContentLength
run lambda { |_env| [200, { "content-type" => "text/plain", "x-here" => "yes" }, ["twelve bytes"]] }
