# Runtime, NullLogger, Config and Lock leave the answer as it is.
#~ field x-runtime
#> GET /
use Rack::Runtime
use Rack::Lock
use Rack::NullLogger
use(Rack::Config) { |env| env["corpus.configured"] = "yes" }
run lambda { |env|
  env["rack.logger"].info("nothing is written")
  [200, { "content-type" => "text/plain" }, [env["corpus.configured"]]]
}
