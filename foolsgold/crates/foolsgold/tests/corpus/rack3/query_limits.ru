# A client cannot make the server build without end.
#> GET /deep
#< 200
#: Rack::QueryParser::ParamsTooDeepError
#> GET /many
#< 200
#: Rack::QueryParser::QueryLimitError
run lambda { |env|
  query = env["PATH_INFO"] == "/deep" ? "a#{"[b]" * 40}=1" : (0..5000).map { |i| "a#{i}=1" }.join("&")
  text = begin
    Rack::Utils.parse_nested_query(query)
    "parsed"
  rescue Rack::QueryParser::QueryLimitError => error
    error.class.to_s
  end
  [200, { "content-type" => "text/plain" }, [text]]
}
