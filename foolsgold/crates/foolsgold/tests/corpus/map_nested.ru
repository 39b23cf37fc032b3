# Maps inside maps, each with its own middleware.
#> GET /outer/inner/x
#> GET /outer/other
#> GET /outer
#> GET /elsewhere
class CorpusTag
  def initialize(app, tag, suffix = "")
    @app = app
    @tag = tag + suffix
  end

  def call(env)
    env["corpus.tags"] = (env["corpus.tags"] || []) + [@tag]
    @app.call(env)
  end
end
show = lambda { |env|
  [200, { "content-type" => "text/plain" }, [[env["corpus.tags"], env["SCRIPT_NAME"], env["PATH_INFO"]].inspect]]
}
use CorpusTag, "top"
map "/outer" do
  use CorpusTag, "outer", "!"
  map("/inner") do
    use CorpusTag, "inner"
    run show
  end
  run show
end
