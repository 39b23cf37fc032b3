# ERB sees the variables of a binding, of a Hash, and the instance that a method is defined on.
#> GET /
require "erb"
class CorpusPage
  def initialize(title)
    @title = title
  end

  def local_binding
    local = "local"
    binding
  end
end
ERB.new("<h1><%= @title %></h1><% items.each do |item| %><li><%= item %></li><% end %>").def_method(CorpusPage, "render(items)")
bound = ERB.new("<%= local %> <%= @title %>").result(CorpusPage.new("bound").local_binding)
hashed = ERB.new("<%= a %>-<%= b %>").result_with_hash(a: 1, b: "two")
page = CorpusPage.new("page")
run lambda { |_env|
  escaped = ERB::Util.html_escape("<&\"'>") + ERB::Util.url_encode("a b/é~")
  [200, { "content-type" => "text/plain" }, [page.render(%w[x y]), bound, hashed, escaped].map { |text| text + "\n" }]
}
