# Rack::Lint refuses an answer that breaks a rule.
#> GET /status
#> GET /headers
#> GET /newline
#> GET /entity
#> GET /arity
answers = {
  "/status" => [99, {}, []],
  "/headers" => [200, [["a", "b"]].first, []],
  "/newline" => [200, { "x-bad" => "a\0b" }, []],
  "/entity" => [204, { "content-type" => "text/plain" }, []],
  "/arity" => [200, {}]
}
inner = Rack::Lint.new(lambda { |env| answers[env["PATH_INFO"]] })
run lambda { |env|
  text = begin
    inner.call(env)
    "accepted"
  rescue Rack::Lint::LintError
    "refused"
  end
  [200, { "content-type" => "text/plain" }, [text]]
}
