# A body with each and call is asked for each.
#> GET /
#< 200
#: each
class Corpus3Both
  def each
    yield "each"
  end

  def call(stream)
    stream.write("call")
    stream.close
  end
end
run lambda { |_env| [200, { "content-type" => "text/plain" }, Corpus3Both.new] }
