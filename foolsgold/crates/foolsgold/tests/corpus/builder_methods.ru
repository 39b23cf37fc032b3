# Methods, constants and local variables of a config.ru are seen where Ruby says so.
#> GET /
CORPUS_CONSTANT = "constant"
local = "local"
def corpus_method
  "method"
end
class CorpusApp
  def call(_env)
    [200, { "content-type" => "text/plain" }, [CORPUS_CONSTANT, " "]]
  end
end
inner = CorpusApp.new
run lambda { |env|
  status, headers, body = inner.call(env)
  [status, headers, body + [local]]
}
