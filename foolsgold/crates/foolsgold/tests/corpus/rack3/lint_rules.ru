# Each rule that only Rack 3 has is broken once, and Rack::Lint refuses what breaks it.
#> GET /
#< 200
#: accepted everything right\nREFUSED protocol missing\nREFUSED protocol strange\nREFUSED star for GET\nREFUSED fragment in path\nREFUSED port no digits\nREFUSED host strange\nREFUSED key no string\nREFUSED rack.protocol no strings\nREFUSED early hints no callable\nREFUSED response_finished no array\nREFUSED response_finished no callables\naccepted star for OPTIONS\naccepted input missing\nREFUSED answer frozen\nREFUSED fields frozen\nREFUSED fields no Hash\nREFUSED name in upper case\nREFUSED name with blank\nREFUSED value with line break\nREFUSED array of numbers\nREFUSED hijack not supported\nREFUSED status a string\naccepted value an array\naccepted streaming body\nREFUSED each twice\nREFUSED stream twice\nREFUSED each after close\n
require "stringio"

def corpus3_env(changes = {})
  env = {
    "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/", "QUERY_STRING" => "", "SERVER_NAME" => "localhost",
    "SERVER_PORT" => "80", "SERVER_PROTOCOL" => "HTTP/1.1", "rack.url_scheme" => "http", "rack.input" => StringIO.new(+""),
    "rack.errors" => StringIO.new
  }
  changes.each { |key, value| value == :gone ? env.delete(key) : env[key] = value }
  env
end

def corpus3_verdict(answer, env)
  _status, _headers, body = Rack::Lint.new(lambda { |_env| answer }).call(env)
  if block_given?
    yield body
  elsif body.respond_to?(:each)
    body.each { |_chunk| nil }
  else
    body.call(StringIO.new)
  end
  "accepted"
rescue Rack::Lint::LintError
  "REFUSED"
end

def corpus3_rules
  good = lambda { [200, { "content-type" => "text/plain" }, ["good"]] }
  results = [["everything right", corpus3_verdict(good.call, corpus3_env)]]
  [
    ["protocol missing", { "SERVER_PROTOCOL" => :gone }], ["protocol strange", { "SERVER_PROTOCOL" => "HTTPS/one" }],
    ["star for GET", { "PATH_INFO" => "*" }], ["fragment in path", { "PATH_INFO" => "/a#b" }],
    ["port no digits", { "SERVER_PORT" => "8o" }], ["host strange", { "SERVER_NAME" => "a b" }],
    ["key no string", { symbol: "x" }], ["rack.protocol no strings", { "rack.protocol" => [1] }],
    ["early hints no callable", { "rack.early_hints" => 1 }], ["response_finished no array", { "rack.response_finished" => 1 }],
    ["response_finished no callables", { "rack.response_finished" => [1] }],
    ["star for OPTIONS", { "PATH_INFO" => "*", "REQUEST_METHOD" => "OPTIONS" }], ["input missing", { "rack.input" => :gone }]
  ].each { |rule, changes| results << [rule, corpus3_verdict(good.call, corpus3_env(changes))] }
  [
    ["answer frozen", good.call.freeze], ["fields frozen", [200, {}.freeze, []]], ["fields no Hash", [200, [], []]],
    ["name in upper case", [200, { "Content-Type" => "a/b" }, []]], ["name with blank", [200, { "a b" => "x" }, []]], ["value with line break", [200, { "x-a" => "a\nb" }, []]],
    ["array of numbers", [200, { "x-a" => [1] }, []]], ["hijack not supported", [200, { "rack.hijack" => proc {} }, []]],
    ["status a string", ["200", {}, []]], ["value an array", [200, { "x-a" => %w[a b] }, []]],
    ["streaming body", [200, {}, lambda { |stream| stream.write("x") }]]
  ].each { |rule, answer| results << [rule, corpus3_verdict(answer, corpus3_env)] }
  twice = lambda { |body| 2.times { body.each { |_chunk| nil } } }
  results << ["each twice", corpus3_verdict(good.call, corpus3_env, &twice)]
  streamed = lambda { |body| 2.times { body.call(StringIO.new) } }
  results << ["stream twice", corpus3_verdict([200, {}, lambda { |_stream| nil }], corpus3_env, &streamed)]
  late = lambda { |body| [body.close, body.each { |_chunk| nil }] }
  results << ["each after close", corpus3_verdict(good.call, corpus3_env, &late)]
end

lines = corpus3_rules
run lambda { |_env| [200, { "content-type" => "text/plain" }, [lines.map { |rule, verdict| "#{verdict} #{rule}\n" }.join]] }
