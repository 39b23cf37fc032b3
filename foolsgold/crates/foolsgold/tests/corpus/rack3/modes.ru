# mode says how the requests below a prefix share an interpreter; the server is told by FoolsGold.routes.
#> GET /
#< 200
#: [["", :shared_nothing], ["/a", :prefork], ["/a/b", :fresh]] ArgumentError
require "foolsgold"
said = begin
  Rack::Builder.new { mode :sometimes }
rescue ArgumentError => error
  error.class
end
builder = Rack::Builder.new do
  mode :shared_nothing
  map "/a" do
    mode "prefork"
    map("/b") do
      mode :fresh
      run lambda { |_env| [200, {}, []] }
    end
    run lambda { |_env| [200, {}, []] }
  end
  run lambda { |_env| [200, {}, []] }
end
builder.to_app
text = "#{builder.routes.inspect} #{said}"
run lambda { |_env| [200, { "content-type" => "text/plain" }, [text]] }
