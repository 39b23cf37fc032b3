# A large body arrives whole.
#> POST /
#* 40000 0123456789
run lambda { |env|
  size = 0
  last = nil
  while (chunk = env["rack.input"].read(4096))
    size += chunk.bytesize
    last = chunk
  end
  [200, { "content-type" => "text/plain" }, ["#{size} #{last.bytesize} #{env["CONTENT_LENGTH"]} #{last[-10..-1]}"]]
}
