# A middleware can rescue what the application raises, and ensure runs.
#> GET /runtime
#> GET /key
#> GET /custom
#> GET /zero
class CorpusError < StandardError
  def message
    "custom message"
  end
end
use(Class.new {
  def initialize(app) = @app = app

  def call(env)
    trace = []
    begin
      @app.call(env.merge("corpus.trace" => trace))
    rescue StandardError => error
      [500, { "content-type" => "text/plain" }, ["#{error.class}: #{error.message} #{trace.inspect}"]]
    end
  end
})
run lambda { |env|
  begin
    case env["PATH_INFO"]
    when "/key" then { "a" => 1 }.fetch("a") && raise(KeyError, "key")
    when "/custom" then raise CorpusError
    when "/zero" then 1 / 0
    else raise "plain"
    end
  ensure
    env["corpus.trace"] << "ensured"
  end
}
