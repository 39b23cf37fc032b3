# A form's values are in POST and params; the query's are in GET; the form's come first in params.
#> POST /?q=1&both=query
#+ Content-Type: application/x-www-form-urlencoded
#= a=b&c=d+e%21&both=form&list[]=1&list[]=2
#> POST /
#+ Content-Type: application/json
#= {"a":1}
#> POST /
#+ Content-Type: application/x-www-form-urlencoded;charset=utf-8
#= x[y]=z
#> GET /?only=query
#> PUT /
#+ Content-Type: application/x-www-form-urlencoded
#= put=yes
run lambda { |env|
  request = Rack::Request.new(env)
  [200, { "content-type" => "text/plain" }, [[request.GET, request.POST, request.params, request.form_data?, request["both"]].inspect]]
}
