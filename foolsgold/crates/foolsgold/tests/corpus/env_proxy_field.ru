# What a middleware puts into the environment is seen inside, and what the application puts there is seen outside.
#> GET /
use(Class.new {
  def initialize(app) = @app = app

  def call(env)
    env["corpus.outer"] = "outer"
    status, headers, body = @app.call(env)
    [status, headers, body + [env["corpus.inner"]]]
  end
})
run lambda { |env|
  env["corpus.inner"] = "inner"
  [200, { "content-type" => "text/plain" }, [env["corpus.outer"], " "]]
}
