# finish with a block writes while it is sent.
#> GET /
run lambda { |_env|
  Rack::Response.new([], 200, { "content-type" => "text/plain" }).finish { |response|
    3.times { |i| response.write("part #{i}\n") }
  }
}
