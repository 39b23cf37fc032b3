# Five characters of HTML are escaped, as CGI.escapeHTML does.
#> GET /
#< 200
#: &lt;a href=&quot;x/y&quot;&gt;&#39;&amp;&lt;/a&gt;
run lambda { |_env| [200, { "content-type" => "text/plain" }, [Rack::Utils.escape_html("<a href=\"x/y\">'&</a>")]] }
