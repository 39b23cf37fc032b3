# CVE-2025-46727 and CVE-2025-59830: separators are counted before a query is taken apart, whichever they are.
#> GET /
run lambda { |env|
  parsed = lambda { |query, separator|
    begin
      Rack::Utils.parse_query(query, separator).size
    rescue StandardError => error
      "refused"
    end
  }
  lines = [parsed.call("a=1;" * 5000, ";"), parsed.call("&" * 5000, "&"), parsed.call((0..4000).map { |i| "a#{i}=1" }.join("&"), "&"),
           parsed.call((0..3000).map { |i| "a#{i}=1&b#{i}=2" }.join(";"), "&;"), parsed.call("a" * (5 << 20), "&")]
  [200, { "content-type" => "text/plain" }, [lines.join("\n")]]
}
