# JSON in and out.
#> POST /
#+ Content-Type: application/json
#= {"a":[1,2.5,null,true],"b":{"c":"\u00e9\\n"},"d":""}
require "json"
run lambda { |env|
  data = JSON.parse(env["rack.input"].read)
  text = JSON.generate("data" => data, "list" => [1, "two", nil, 3.5, { "k" => false }], "text" => "é\n\"")
  symbols = JSON.parse("{\"k\": {\"n\": 1}}", symbolize_names: true)
  [200, { "content-type" => "application/json" }, [text, "\n", symbols.inspect, "\n", JSON.pretty_generate({ "a" => [1, { "b" => 2 }] })]]
}
