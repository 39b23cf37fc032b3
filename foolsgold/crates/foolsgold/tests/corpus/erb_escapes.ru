# ERB::Util in all its forms.
#> GET /
require "erb"
class CorpusEscapes
  include ERB::Util
  def page(texts) = texts.map { |text| [html_escape(text), h(text), url_encode(text), u(text)] }
end
texts = ["<a href=\"x\">'&</a>", "plain", "", nil, :sym, 12, "a b~é/*-_.!"]
lines = CorpusEscapes.new.page(texts) + texts.map { |text| [ERB::Util.html_escape(text), ERB::Util.h(text), ERB::Util.url_encode(text), ERB::Util.u(text)] }
lines << ERB.new("<%= ERB::Util.html_escape('<b>') %>").result
run lambda { |_env| [200, { "content-type" => "text/plain; charset=utf-8" }, [lines.map(&:inspect).join("\n")]] }
