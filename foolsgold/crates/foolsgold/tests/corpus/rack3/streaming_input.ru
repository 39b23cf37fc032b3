# A streaming body can read the request's body.
#> POST /
#= question
#< 200
#: you said question
run lambda { |_env| [200, { "content-type" => "text/plain" }, lambda { |stream| stream.write("you said ", stream.read); stream.close }] }
