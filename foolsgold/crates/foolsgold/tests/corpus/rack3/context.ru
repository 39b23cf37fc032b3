# The context of a request: metrics outside the interpreter, and an identifier of its own.
#> GET /
#< 200
#: 0 1 3 2.5 ArgumentError 36 true
require "foolsgold/adapter/memory"
use FoolsGold::Adapter::Memory
run lambda { |env|
  context = env[FoolsGold::CONTEXT]
  counter = context.metrics.counter("corpus3_context", { "path" => "/" })
  before = counter.get
  counter.inc
  after = counter.get
  counter.inc(2)
  gauge = context.metrics.gauge("corpus3_gauge")
  gauge.set(3)
  gauge.dec(0.5)
  context.metrics.histogram("corpus3_histogram").observe(0.25)
  refused = begin
    context.metrics.counter("no name")
  rescue ArgumentError => error
    error.class
  end
  text = [before, after, counter.get, gauge.get, refused, context.request_id.size, context.request_id == context.request_id].join(" ")
  [200, { "content-type" => "text/plain" }, [text]]
}
