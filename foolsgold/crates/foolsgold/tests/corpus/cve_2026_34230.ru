# CVE-2026-34230: only the first sixteen codings of a client count.
#> GET /
run lambda { |env|
  many = (0..20).map { |i| ["x#{i}", 1.0] }
  best = lambda { |accepted| Rack::Utils.select_best_encoding(%w[gzip identity], accepted).inspect }
  lines = [best.call(many + [["gzip", 1.0]]), best.call([["gzip", 0.9]] + many), best.call(many.first(15) + [["gzip", 0.5], ["identity", 0.1]])]
  [200, { "content-type" => "text/plain" }, [lines.join("\n")]]
}
