# ETag names the bytes, and ConditionalGet answers 304 to who has them.
#> GET /
#> GET /
#+ If-None-Match: W/"no"
#> GET /dated
#+ If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT
#> GET /dated
#+ If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT
#> GET /tagged
#+ If-None-Match: "mine"
use Rack::ConditionalGet
use Rack::ETag
run lambda { |env|
  headers = { "content-type" => "text/plain" }
  headers["last-modified"] = "Sun, 06 Nov 1994 08:49:37 GMT" if env["PATH_INFO"] == "/dated"
  headers["etag"] = "\"mine\"" if env["PATH_INFO"] == "/tagged"
  [200, headers, ["the same bytes"]]
}
