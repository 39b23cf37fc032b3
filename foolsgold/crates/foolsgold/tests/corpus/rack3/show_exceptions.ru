# Rack::ShowExceptions tells class, message and causes, and escapes them for who wants HTML.
#> GET /
#< 500
#- content-type: text/html; charset=utf-8
#+ Accept: text/html
#: true true true true
use(Class.new {
  def initialize(app) = @app = app

  def call(env)
    status, headers, body = @app.call(env)
    text = body.join
    headers.delete("content-length")
    [status, headers, ["#{text.include?("RuntimeError")} #{text.include?("&lt;tag&gt;")} #{!text.include?("<tag>")} #{text.include?("Caused by KeyError")}"]]
  end
})
use Rack::ShowExceptions
run lambda { |_env|
  begin
    {}.fetch("key")
  rescue KeyError
    raise "a <tag>"
  end
}
