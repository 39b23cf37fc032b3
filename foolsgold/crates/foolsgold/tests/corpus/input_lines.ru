# rack.input: gets and each give lines with their ends.
#> POST /gets
#= one\ntwo\r\n\nthree
#> POST /each
#= one\ntwo\r\n\nthree
#> POST /each
#= \n
run lambda { |env|
  input = env["rack.input"]
  lines = []
  if env["PATH_INFO"] == "/gets"
    5.times { lines << input.gets }
  else
    input.each { |line| lines << line }
  end
  [200, { "content-type" => "text/plain" }, [lines.inspect]]
}
