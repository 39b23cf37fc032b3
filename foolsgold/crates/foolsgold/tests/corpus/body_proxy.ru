# Rack::BodyProxy passes everything on and calls its block when it is closed.
#> GET /
#> GET /order
require "rack/body_proxy"
require "foolsgold"
run lambda { |env|
  counter = FoolsGold::METRICS.counter("corpus_proxy")
  if env["PATH_INFO"] == "/order"
    20.times { counter.get > 0 ? break : sleep(0.05) }
    [200, { "content-type" => "text/plain" }, [counter.get.to_s]]
  else
    body = Rack::BodyProxy.new(%w[a b c]) { counter.inc }
    [200, { "content-type" => "text/plain", "x-closed" => body.closed?.to_s, "x-size" => body.size.to_s }, body]
  end
}
