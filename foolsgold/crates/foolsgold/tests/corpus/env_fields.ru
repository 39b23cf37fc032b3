# Fields become HTTP_ names; content-type and content-length have no HTTP_ before them.
#> POST /
#+ X-Custom-Thing: Va Lue
#+ Accept: text/html;q=0.5, */*
#+ Content-Type: text/plain; charset=utf-8
#= four
run lambda { |env|
  keys = %w[HTTP_X_CUSTOM_THING HTTP_ACCEPT CONTENT_TYPE CONTENT_LENGTH HTTP_CONTENT_TYPE HTTP_CONTENT_LENGTH HTTP_ABSENT]
  [200, { "content-type" => "text/plain" }, [keys.map { |key| "#{key}=#{env[key].inspect}\n" }.join]]
}
