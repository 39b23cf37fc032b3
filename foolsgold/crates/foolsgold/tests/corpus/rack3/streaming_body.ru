# A body with call and without each gets a stream; what is written arrives in order.
#> GET /
#< 200
#- content-type: text/plain
#: one two three 5 true false true IOError
run lambda { |_env|
  body = lambda { |stream|
    size = stream.write("one ", "t")
    stream << "wo " << "three "
    stream.write("#{size} #{stream.flush.nil? == false} #{stream.closed?} ")
    stream.close_read
    half = stream.closed?
    stream.write("#{!half} ")
    closed = begin
      stream.read
    rescue IOError => error
      error.class
    end
    stream.write(closed.to_s)
    stream.close
    stream.close
  }
  [200, { "content-type" => "text/plain" }, body]
}
