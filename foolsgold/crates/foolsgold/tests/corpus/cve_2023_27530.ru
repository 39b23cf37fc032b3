# CVE-2023-27530: the parts of a form have a bound, files a smaller one.
#> POST /
require "stringio"
run lambda { |env|
  ask = lambda { |head, number|
    body = ("--XX\r\nContent-Disposition: form-data; #{head}\r\n\r\n1\r\n" * number) + "--XX--\r\n"
    inner = env.merge("CONTENT_TYPE" => "multipart/form-data; boundary=XX", "CONTENT_LENGTH" => body.bytesize.to_s,
                      "rack.input" => StringIO.new(body), "REQUEST_METHOD" => "POST")
    %w[rack.request.form_hash rack.request.form_input rack.request.form_vars].each { |name| inner.delete(name) }
    begin
      Rack::Request.new(inner).POST.size
    rescue StandardError => error
      "refused"
    end
  }
  lines = [ask.call('name="a"', 4000), ask.call('name="a"', 4200), ask.call('name="a"; filename="f"', 120), ask.call('name="a"; filename="f"', 130)]
  [200, { "content-type" => "text/plain" }, [lines.join("\n")]]
}
