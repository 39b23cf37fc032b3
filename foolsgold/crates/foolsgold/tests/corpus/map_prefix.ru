# A map's prefix moves from PATH_INFO to SCRIPT_NAME, the longest prefix counts, and it ends where a part ends.
#> GET /
#> GET /a
#> GET /a/
#> GET /a/b
#> GET /a/b/c?d=e
#> GET /ab
#> GET /a//b/c
#> GET //a/c
show = lambda { |name|
  lambda { |env|
    text = "#{name} script=#{env["SCRIPT_NAME"].inspect} path=#{env["PATH_INFO"].inspect}"
    [200, { "content-type" => "text/plain" }, [text]]
  }
}
map("/a") { run show.call("a") }
map("/a/b") { run show.call("b") }
map("/") { run show.call("root") }
