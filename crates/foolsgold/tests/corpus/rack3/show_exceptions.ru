# Rack::ShowExceptions tells class and message, and escapes them for who wants HTML.
#> GET /
#< 500
#- content-type: text/html; charset=utf-8
#+ Accept: text/html
#: true true true
use(Class.new {
  def initialize(app) = @app = app

  def call(env)
    status, headers, body = @app.call(env)
    text = body.join
    headers.delete("content-length")
    [status, headers, ["#{text.include?("RuntimeError")} #{text.include?("&lt;tag&gt;")} #{!text.include?("<tag>")}"]]
  end
})
use Rack::ShowExceptions
run lambda { |_env| raise "a <tag>" }
