# ContentLength and ContentType set what is missing and leave what is there.
#> GET /bare
#> GET /typed
#> GET /204
use Rack::ContentType, "text/x-default"
use Rack::ContentLength
run lambda { |env|
  case env["PATH_INFO"]
  when "/typed" then [200, { "content-type" => "text/x-own" }, ["é"]]
  when "/204" then [204, {}, []]
  else [200, {}, %w[a bc]]
  end
}
