# CVE-2025-61770, CVE-2025-61771, CVE-2025-61919, CVE-2026-34829 and CVE-2018-16470: a body is bounded by the server before Ruby sees it, also
# if it comes in chunks; text before the first boundary, fields and forms that are too large for an interpreter are refused.
#> POST /
#+ Content-Type: multipart/form-data; boundary=XX
#* 200000 preamble
#< 200
#: Rack::Multipart::EmptyContentError
#> POST /
#+ Content-Type: application/x-www-form-urlencoded
#* 600000 a=bbbbbb&
#< 200
#: Rack::QueryParser::QueryLimitError
run lambda { |env|
  text = begin
    Rack::Request.new(env).POST.size.to_s
  rescue Rack::BadRequest => error
    error.class.to_s
  end
  [200, { "content-type" => "text/plain" }, [text]]
}
