# File's functions on names.
#> GET /
def corpus_names
  names = ["/a/b.rb", "b.tar.gz", "/", "a/", "//x//y//", ".hidden", "a.", "/a"]
  names.flat_map { |name| [File.basename(name), File.basename(name, ".rb"), File.basename(name, ".*"), File.dirname(name), File.extname(name)] } +
    [File.join("a", "b"), File.join("a/", "/b"), File.join("a", "", "b"), File.join("/", "x"), File.join("a", ["b", ["c"]]),
     File.expand_path("/a/../b/./c"), File.expand_path("x", "/r"), File.expand_path("../x", "/r/s"), File.expand_path("/.."),
     File.split("/a/b"), File.fnmatch?("*.rb", "a.rb"), File.fnmatch?("a?c", "abc"), File.fnmatch?("*.rb", "a.ru")]
end
lines = corpus_names
run lambda { |_env| [200, { "content-type" => "text/plain" }, [lines.map(&:inspect).join("\n")]] }
