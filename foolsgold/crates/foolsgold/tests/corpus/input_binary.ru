# Bytes of the input are what was sent.
#> POST /
#= \x00\xff\xfe\r\n\x80abc
run lambda { |env| [200, { "content-type" => "text/plain" }, [env["rack.input"].read.bytes.inspect]] }
