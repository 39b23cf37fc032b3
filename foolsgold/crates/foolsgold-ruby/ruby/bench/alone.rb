# Only the page of the demonstration, for comparison: no middleware, no map, a counter in Ruby. It runs unchanged under
# foolsgold (alone.ru) and in h2o's mruby handler.

require "erb"

COUNTED = [0]

class Page
  ERB.new(File.read(File.join(DEMONSTRATION, "views/page.html.erb")), trim_mode: "-")
     .def_method(self, "render(id, count, mode)", "page.html.erb")
end

PAGE = Page.new

ALONE = lambda do |_env|
  id = sprintf("%07x-%07x-%07x-%07x", rand(1 << 28), rand(1 << 28), rand(1 << 28), rand(1 << 28))
  body = PAGE.render(id, COUNTED[0], "page alone")
  COUNTED[0] += 1
  [200, { "content-type" => "text/html; charset=utf-8", "content-length" => body.bytesize.to_s }, [body]]
end
