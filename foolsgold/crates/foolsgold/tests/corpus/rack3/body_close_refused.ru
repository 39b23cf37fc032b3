# A body is closed also where its answer is refused.
#> GET /
#< 500
#: Internal Server Error\n
#> GET /closed
#< 200
#: closed
require "foolsgold"
class Corpus3Refused
  def each
    yield "never sent"
  end

  def close
    FoolsGold::METRICS.counter("corpus3_refused_closed").inc
  end
end
run lambda { |env|
  if env["PATH_INFO"] == "/closed"
    counter = FoolsGold::METRICS.counter("corpus3_refused_closed")
    20.times { counter.get > 0 ? break : sleep(0.05) }
    [200, { "content-type" => "text/plain" }, [counter.get > 0 ? "closed" : "open"]]
  else
    [200, { "x-bad" => "a\rb" }, Corpus3Refused.new]
  end
}
