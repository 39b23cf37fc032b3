# CVE-2026-32762: a separator inside of quotes separates nothing.
#> GET /
#< 200
#: [["1.2.3.4;host=evil;proto=https"], nil] [["a"], ["b", "c\\"d"]] nil nil nil
run lambda { |env|
  values = lambda { |text|
    found = Rack::Utils.forwarded_values(text)
    found && [found[:for], found[:host]]
  }
  lines = [values.call('for="1.2.3.4;host=evil;proto=https"'), values.call('for=a;host=b, host="c\"d"'), values.call("for=a;elsewhere=b"),
           values.call('for="a"b'), values.call("for=a;" * 5000)]
  [200, { "content-type" => "text/plain" }, [lines.map(&:inspect).join(" ")]]
}
