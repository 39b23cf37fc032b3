# A body is what its each yields, in order; empty chunks change nothing.
#> GET /
class CorpusEach
  def each
    yield "one "
    yield ""
    yield "two "
    3.times { |i| yield i.to_s }
  end
end
run lambda { |_env| [200, { "content-type" => "text/plain" }, CorpusEach.new] }
