# rack.errors takes puts, write and flush.
#> GET /
run lambda { |env|
  errors = env["rack.errors"]
  errors.puts("corpus: a line of rack.errors")
  written = errors.write("corpus: written\n")
  errors.flush
  [200, { "content-type" => "text/plain" }, [written.to_s]]
}
