# A response made of a String, of an Array, and with a block.
#> GET /string
#> GET /array
#> GET /block
run lambda { |env|
  case env["PATH_INFO"]
  when "/string" then Rack::Response.new("text", 202, { "content-type" => "text/plain" }).finish
  when "/array" then Rack::Response.new(%w[a b], 200, { "content-type" => "text/plain" }).finish
  else
    Rack::Response.new([], 200, { "content-type" => "text/plain" }) { |response| response.write("from the block") }.finish
  end
}
