# Escaping and unescaping.
#> GET /
run lambda { |_env|
  utils = Rack::Utils
  texts = ["a b+c", "é€", "100%", "<a href=\"x\">&", "a/b?c=d&e#f", "~-_.*", "\n\t"]
  lines = texts.flat_map { |text| [utils.escape(text), utils.escape_path(text), utils.unescape(utils.escape(text)) == text] }
  lines += %w[a+b%20c %C3%A9 %41%42 plain].flat_map { |text| [utils.unescape(text), utils.unescape_path(text)] }
  [200, { "content-type" => "text/plain; charset=utf-8" }, [lines.map(&:inspect).join("\n")]]
}
