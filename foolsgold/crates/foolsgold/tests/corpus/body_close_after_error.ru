# A body whose each raises is closed all the same.
#~ broken
#> GET /
#> GET /closed
require "foolsgold"
class CorpusFailing
  def each
    yield "start "
    raise "each failed on purpose"
  end

  def close
    FoolsGold::METRICS.counter("corpus_failed_closed").inc
  end
end
run lambda { |env|
  counter = FoolsGold::METRICS.counter("corpus_failed_closed")
  if env["PATH_INFO"] == "/closed"
    20.times { counter.get > 0 ? break : sleep(0.05) }
    [200, { "content-type" => "text/plain" }, [counter.get.to_s]]
  else
    [200, { "content-type" => "text/plain" }, CorpusFailing.new]
  end
}
