# Middleware is called in the order of `use`, with its arguments, keywords and block.
#> GET /
class CorpusWrap
  def initialize(app, name, loud: false, &block)
    @app = app
    @name = loud ? name.upcase : name
    @block = block
  end

  def call(env)
    status, headers, body = @app.call(env)
    [status, headers, ["#{@name}(", *body, ")", @block ? @block.call : ""]]
  end
end
use CorpusWrap, "outer"
use CorpusWrap, "middle", loud: true
use(CorpusWrap, "inner") { "!" }
run lambda { |_env| [200, { "content-type" => "text/plain" }, ["app"]] }
