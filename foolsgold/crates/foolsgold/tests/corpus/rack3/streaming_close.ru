# A streaming body is closed once, also where it raises.
#> GET /
#< 200
#: body
#> GET /closed
#+ X-Wanted: 1
#< 200
#: 1
#> GET /raise
#< broken
#> GET /closed
#+ X-Wanted: 2
#< 200
#: 2
require "foolsgold"
class Corpus3Streaming
  def initialize(failing)
    @failing = failing
  end

  def call(stream)
    stream.write("body")
    raise "on purpose" if @failing
    stream.close
  end

  def close
    FoolsGold::METRICS.counter("corpus3_closed").inc
  end
end
run lambda { |env|
  counter = FoolsGold::METRICS.counter("corpus3_closed")
  if env["PATH_INFO"] == "/closed"
    20.times { counter.get < env["HTTP_X_WANTED"].to_i ? sleep(0.05) : break }
    [200, { "content-type" => "text/plain" }, [counter.get.to_s]]
  else
    [200, { "content-type" => "text/plain" }, Corpus3Streaming.new(env["PATH_INFO"] == "/raise")]
  end
}
