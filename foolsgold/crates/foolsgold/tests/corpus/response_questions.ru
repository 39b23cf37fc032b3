# What a response says of its status.
#> GET /
run lambda { |_env|
  questions = [:informational?, :successful?, :redirection?, :client_error?, :server_error?, :ok?, :created?, :not_found?, :redirect?]
  lines = [100, 200, 201, 302, 304, 404, 503].map { |status|
    response = Rack::Response.new([], status)
    "#{status}: #{questions.select { |question| response.__send__(question) }.join(" ")}"
  }
  [200, { "content-type" => "text/plain" }, [lines.join("\n")]]
}
