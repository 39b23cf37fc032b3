# CVE-2024-25126, CVE-2024-26146 and CVE-2024-39316: types, qualities and their blanks are read in a time of their length.
#> GET /
run lambda { |env|
  blanks = " " * 50_000
  lines = [Rack::MediaType.type("text/html#{blanks};a=b"), Rack::MediaType.params("text/html;#{blanks}a=b")["a"],
           Rack::Utils.q_values("text/html#{blanks};q=0.5,a").size, Rack::Utils.q_values("a;q=0.1," * 5_000).size]
  [200, { "content-type" => "text/plain" }, [lines.join("\n")]]
}
