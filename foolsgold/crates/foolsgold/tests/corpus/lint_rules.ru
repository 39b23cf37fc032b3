# Each rule that Rack 2 and 3 share is broken once, and Rack::Lint refuses what breaks it; the same without is accepted.
#> GET /
require "stringio"

# Answers with what it was given, after it did with the environment what it was told to.
class CorpusRuleApp
  def initialize(answer, &block)
    @answer = answer
    @block = block
  end

  def call(env)
    @block.call(env) if @block
    @answer
  end
end

class CorpusChunks
  def initialize(*chunks)
    @chunks = chunks
  end

  def each
    @chunks.each { |chunk| yield chunk }
  end
end

def corpus_env(changes = {})
  input = StringIO.new(+"line\nrest")
  input.set_encoding(Encoding::BINARY) if Object.const_defined?(:Encoding)
  env = {
    "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/", "QUERY_STRING" => "", "SERVER_NAME" => "localhost",
    "SERVER_PORT" => "80", "SERVER_PROTOCOL" => "HTTP/1.1", "HTTP_VERSION" => "HTTP/1.1", "rack.version" => [1, 3],
    "rack.url_scheme" => "http", "rack.input" => input, "rack.errors" => StringIO.new, "rack.multithread" => false,
    "rack.multiprocess" => false, "rack.run_once" => false
  }
  changes.each { |key, value| value == :gone ? env.delete(key) : env[key] = value }
  env
end

def corpus_good
  [200, { "content-type" => "text/plain" }, ["good"]]
end

# What Rack::Lint says of an application and an environment, with the body used as a server does.
def corpus_verdict(app, env)
  _status, _headers, body = Rack::Lint.new(app).call(env)
  if block_given?
    yield body
  else
    body.each { |_chunk| nil }
    body.close if body.respond_to?(:close)
  end
  "accepted"
rescue Rack::Lint::LintError
  "REFUSED"
end

def corpus_rules
  fine = CorpusRuleApp.new(corpus_good)
  results = [["everything right", corpus_verdict(fine, corpus_env)]]
  {
    "method missing" => { "REQUEST_METHOD" => :gone }, "server name missing" => { "SERVER_NAME" => :gone },
    "query missing" => { "QUERY_STRING" => :gone }, "errors missing" => { "rack.errors" => :gone },
    "scheme missing" => { "rack.url_scheme" => :gone }, "content type with HTTP" => { "HTTP_CONTENT_TYPE" => "text/plain" },
    "content length with HTTP" => { "HTTP_CONTENT_LENGTH" => "1" }, "value no string" => { "HTTP_X" => 1 },
    "unknown scheme" => { "rack.url_scheme" => "gopher" }, "method no token" => { "REQUEST_METHOD" => "G T" },
    "script without slash" => { "SCRIPT_NAME" => "a" }, "script only slash" => { "SCRIPT_NAME" => "/" },
    "path without slash" => { "PATH_INFO" => "a" }, "length no digits" => { "CONTENT_LENGTH" => "1a" },
    "neither script nor path" => { "SCRIPT_NAME" => :gone, "PATH_INFO" => :gone },
    "session without methods" => { "rack.session" => [] }, "logger without methods" => { "rack.logger" => Object.new },
    "input without methods" => { "rack.input" => Object.new }, "errors without methods" => { "rack.errors" => Object.new },
    "buffer size negative" => { "rack.multipart.buffer_size" => -1 },
    "factory no callable" => { "rack.multipart.tempfile_factory" => Object.new },
    "post accepted" => { "REQUEST_METHOD" => "POST", "CONTENT_LENGTH" => "9" },
    "script and path accepted" => { "SCRIPT_NAME" => "/a", "PATH_INFO" => "" },
    "session accepted" => { "rack.session" => {} }
  }.each { |rule, changes| results << [rule, corpus_verdict(fine, corpus_env(changes))] }
  results << ["env no hash", corpus_verdict(fine, [])] << ["env frozen", corpus_verdict(fine, corpus_env.freeze)]
  {
    "answer no array" => "text", "answer of two" => [200, {}], "status too small" => [99, {}, []],
    "status no number" => ["abc", {}, []], "field name no string" => [200, { content: "x" }, []],
    "field named status" => [200, { "status" => "x" }, []], "field name with colon" => [200, { "a:b" => "x" }, []],
    "field value a number" => [200, { "x-a" => 1 }, []],
    "field value with NUL" => [200, { "x-a" => "a\0b" }, []], "type for 204" => [204, { "content-type" => "a/b" }, []],
    "length for 304" => [304, { "content-length" => "0" }, []],
    "length wrong" => [200, { "content-type" => "a/b", "content-length" => "3" }, ["four"]],
    "chunk no string" => [200, { "content-type" => "a/b" }, [1]],
    "body without methods" => [200, { "content-type" => "a/b" }, Object.new],
    "length right" => [200, { "content-type" => "a/b", "content-length" => "4" }, ["four"]],
    "chunks accepted" => [200, { "content-type" => "a/b" }, CorpusChunks.new("a", "b")],
    "204 accepted" => [204, {}, []]
  }.each { |rule, answer| results << [rule, corpus_verdict(CorpusRuleApp.new(answer), corpus_env)] }
  head = CorpusRuleApp.new([200, { "content-type" => "a/b", "content-length" => "4" }, ["four"]])
  results << ["body for HEAD", corpus_verdict(head, corpus_env("REQUEST_METHOD" => "HEAD"))]
  {
    "read negative" => proc { |env| env["rack.input"].read(-1) }, "read no integer" => proc { |env| env["rack.input"].read("a") },
    "read buffer nil" => proc { |env| env["rack.input"].read(1, nil) },
    "read three" => proc { |env| env["rack.input"].read(1, +"", 3) }, "gets with argument" => proc { |env| env["rack.input"].gets(1) },
    "each with argument" => proc { |env| env["rack.input"].each(1) { |_line| nil } },
    "errors write no string" => proc { |env| env["rack.errors"].write(1) }, "errors close" => proc { |env| env["rack.errors"].close },
    "read accepted" => proc { |env| env["rack.input"].read(2, +"") }, "gets accepted" => proc { |env| env["rack.input"].gets },
    "each accepted" => proc { |env| env["rack.input"].each { |_line| nil } },
    "errors accepted" => proc { |env|
      env["rack.errors"].puts("x")
      env["rack.errors"].write("y")
      env["rack.errors"].flush
    }
  }.each { |rule, use| results << [rule, corpus_verdict(CorpusRuleApp.new(corpus_good, &use), corpus_env)] }
  results
end

lines = corpus_rules
run lambda { |_env| [200, { "content-type" => "text/plain" }, [lines.map { |rule, verdict| "#{verdict} #{rule}\n" }.join]] }
