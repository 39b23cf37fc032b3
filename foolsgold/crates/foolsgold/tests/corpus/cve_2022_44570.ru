# CVE-2022-44570 and CVE-2024-26141: ranges are read in a time of their length, and no more is sent than there is.
#> GET /
run lambda { |env|
  range = lambda { |text, size| Rack::Utils.get_byte_ranges(text, size).inspect }
  lines = [range.call("bytes=" + "0-," * 20_000, 100), range.call("bytes=" + (["0-9"] * 11).join(","), 100),
           range.call("bytes=" + (["0-9"] * 99).join(","), 10_000).size, range.call("bytes=" + (["0-9"] * 101).join(","), 10_000)]
  [200, { "content-type" => "text/plain" }, [lines.join("\n")]]
}
