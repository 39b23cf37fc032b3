# A body is closed once, after it was sent, also for HEAD.
#> GET /
#> GET /closed
#> HEAD /
#> GET /closed
#+ X-Before: 1
require "foolsgold"
class CorpusClosing
  def each
    yield "body"
  end

  def close
    FoolsGold::METRICS.counter("corpus_closed").inc
  end
end
use Rack::Head
run lambda { |env|
  if env["PATH_INFO"] == "/closed"
    # The server may close it a moment after the client has everything.
    before = env["HTTP_X_BEFORE"].to_i
    20.times { FoolsGold::METRICS.counter("corpus_closed").get > before ? break : sleep(0.05) }
    [200, { "content-type" => "text/plain" }, [FoolsGold::METRICS.counter("corpus_closed").get.to_s]]
  else
    [200, { "content-type" => "text/plain" }, CorpusClosing.new]
  end
}
