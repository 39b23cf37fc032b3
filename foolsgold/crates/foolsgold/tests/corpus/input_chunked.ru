# A body in chunks has no length and is read to its end.
#~ thin
#> POST /
#+ Transfer-Encoding: chunked
#= 5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n
run lambda { |env| [200, { "content-type" => "text/plain" }, [env["rack.input"].read.inspect]] }
