# Statuses, ranges, quality values and paths.
#> GET /
run lambda { |_env|
  utils = Rack::Utils
  range = lambda { |text| utils.get_byte_ranges(text, 100).inspect }
  lines = [
    utils.status_code(:ok), utils.status_code(:not_found), utils.status_code(:internal_server_error), utils.status_code("404"),
    utils::HTTP_STATUS_CODES[404], utils::STATUS_WITH_NO_ENTITY_BODY.key?(204),
    range.call("bytes=0-9"), range.call("bytes=90-"), range.call("bytes=-10"), range.call("bytes=0-0,50-59"),
    range.call("bytes=200-"), range.call("bytes=5-2"), range.call("lines=1-2"), range.call("bytes=abc"), range.call("bytes=0-1000"),
    utils.q_values("text/html;q=0.5, text/plain, */*;q=0.1").inspect,
    utils.best_q_match("text/*;q=0.5,application/json", %w[text/html application/json]).inspect,
    utils.best_q_match("text/html", %w[image/png]).inspect,
    utils.select_best_encoding(%w[gzip identity], [["gzip", 0.5], ["identity", 1.0]]),
    utils.select_best_encoding(%w[gzip identity], [["*", 1.0]]),
    utils.clean_path_info("/a/../b/./c//d"), utils.clean_path_info("../../etc"), utils.clean_path_info("/"),
    utils.valid_path?("/a"), utils.secure_compare("abc", "abc"), utils.secure_compare("abc", "abd"), utils.secure_compare("a", "ab"),
    utils.rfc2822(Time.at(1_700_000_000).utc)
  ]
  [200, { "content-type" => "text/plain" }, [lines.join("\n")]]
}
