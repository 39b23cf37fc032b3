# ERB: tags, comments, escapes and trim modes.
#> GET /
require "erb"
templates = [
  ["plain <%= 1 + 1 %> text", nil], ["<%# nothing %>a<%% b %%> c", nil], ["<% 3.times do |i| %>[<%= i %>]<% end %>\n", nil],
  ["a\n<% if true %>\nb\n<% end %>\nc\n", nil], ["a\n<% if true %>\nb\n<% end %>\nc\n", "<>"],
  ["a\n  <% x = 1 %>\nb <%= x %>\nc\n", "<>"], ["a\n<% if true %>\nb <%= 2 %>\n<% end %>c\n", ">"],
  ["a\n  <%- if true -%>\n  b <%= 2 -%>\n  <%- end -%>\nc\n", "-"], ["% 2.times do |i|\nline <%= i %>\n% end\n%% literal\n", "%"],
  ["quote ' and \\ and \" <%= \"%\" %>\n", nil], ["<%= nil %>|<%= :sym %>|<%= [1, \"a\"] %>", nil],
  ["é <%= \"ü\" %>\n\n\n", "-"], ["<%\n y = [1,\n 2]\n%>\nsum <%= y.inject(:+) %>\r\nend", "-"]
]
lines = templates.map { |text, mode| ERB.new(text, trim_mode: mode).result.inspect }
run lambda { |_env| [200, { "content-type" => "text/plain; charset=utf-8" }, [lines.join("\n")]] }
