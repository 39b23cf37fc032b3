# Many chunks arrive in order.
#> GET /
class CorpusMany
  def each
    2000.times { |i| yield "chunk #{i}\n" }
  end
end
run lambda { |_env| [200, { "content-type" => "text/plain" }, CorpusMany.new] }
