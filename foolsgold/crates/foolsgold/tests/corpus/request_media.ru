# Type, parameters and length of the request's body.
#> POST /
#+ Content-Type: Text/HTML; Charset=UTF-8; x="quoted"
#= four
#> GET /
#+ X-Requested-With: XMLHttpRequest
run lambda { |env|
  request = Rack::Request.new(env)
  seen = %w[content_type media_type media_type_params content_charset content_length xhr? get? post? form_data? parseable_data? user_agent referer]
  [200, { "content-type" => "text/plain" }, [seen.map { |name| "#{name}=#{request.__send__(name.to_sym).inspect}\n" }.join]]
}
