# The FoolsGold demonstration: one application in two modes of execution, with one counter for both.
#
#   /fools-gold           an isolated interpreter for every request
#   /fools-gold/prefork   one warm interpreter for each thread
#
# It also runs under any server of CRuby's, see bench/config.ru.

require "foolsgold"
require "foolsgold/adapter/memory"
require "erb"

HERE = File.dirname(File.expand_path(__FILE__))

# A template, compiled once into a method.
class Page
  ERB.new(File.read(File.join(HERE, "views/page.html.erb")), trim_mode: "-")
     .def_method(self, "render(id, count, mode)", "page.html.erb")
  ERB.new(File.read(File.join(HERE, "views/index.html.erb")), trim_mode: "-")
     .def_method(self, "index(count)", "index.html.erb")
end

PAGE = Page.new

# Answers with the page and counts, also where it could not answer.
class FoolsGoldApp
  def initialize(page)
    @page = page
  end

  def call(env)
    context = env[FoolsGold::CONTEXT]
    count = context.metrics.total_requests.get
    body = @page.render(context.request_id, count, env[FoolsGold::MODE] || "CRuby")
    [200, { "content-type" => "text/html; charset=utf-8" }, [body]]
  ensure
    context.metrics.total_requests.inc
  end
end

use Rack::ContentLength
use Rack::Head
use FoolsGold::Adapter::Memory

mode :shared_nothing

map "/fools-gold/prefork" do
  mode :prefork
  run FoolsGoldApp.new(PAGE)
end

map "/fools-gold" do
  run FoolsGoldApp.new(PAGE)
end

map "/" do
  run lambda { |env|
    if env["PATH_INFO"] == "/"
      count = env[FoolsGold::CONTEXT].metrics.total_requests.get
      [200, { "content-type" => "text/html; charset=utf-8" }, [PAGE.index(count)]]
    else
      [404, { "content-type" => "text/plain; charset=utf-8" }, ["There is nothing here. Try /fools-gold.\n"]]
    end
  }
end
