# A page with a table of sixty rows whose texts are escaped, as pages of applications are. Thin, Puma and foolsgold run it as
# it is; the page of the demonstration escapes nothing.

require "erb"

ROWS = (1..60).map { |i| { id: i, name: "Name <#{i}>", price: i * 1.25, link: "a b/é#{i}" } }

class TablePage
  ERB.new(<<~'PAGE').def_method(self, "page(rows)", "table.erb")
    <!DOCTYPE html>
    <table>
    <% rows.each do |row| %><tr><td><%= row[:id] %></td>
    <td><a href="/of/<%= ERB::Util.url_encode(row[:link]) %>"><%= ERB::Util.html_escape(row[:name]) %></a></td>
    <td><%= format("%.2f", row[:price]) %></td></tr>
    <% end %></table>
  PAGE
end

TABLE_PAGE = TablePage.new

run lambda { |_env| [200, { "content-type" => "text/html; charset=utf-8" }, [TABLE_PAGE.page(ROWS)]] }
