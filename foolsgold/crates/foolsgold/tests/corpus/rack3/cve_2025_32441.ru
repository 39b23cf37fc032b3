# CVE-2025-32441 and CVE-2019-16782: sessions lie in the client's cookie, signed and compared in constant time; there is no pool of
# them on the server that could restore one or be searched by its identifier.
#> GET /
#< 200
#: refused
run lambda { |env|
  text = begin
    Rack::Session::Pool.new(lambda { |_| }).class.to_s
  rescue NameError, NotImplementedError
    "refused"
  end
  [200, { "content-type" => "text/plain" }, [text]]
}
