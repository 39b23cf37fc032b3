# MethodOverride takes the method from a form or from a field, for POST only.
#> POST /
#+ Content-Type: application/x-www-form-urlencoded
#= _method=put&a=b
#> POST /
#+ X-HTTP-Method-Override: DELETE
#> GET /?_method=delete
#> POST /
#+ Content-Type: application/x-www-form-urlencoded
#= _method=nonsense
use Rack::MethodOverride
run lambda { |env|
  [200, { "content-type" => "text/plain" }, [[env["REQUEST_METHOD"], env["rack.methodoverride.original_method"]].inspect]]
}
