# An exception knows what was being handled when it was raised: in middleware around an application, too.
#> GET /
#> GET /plain
#> GET /given
#> GET /ensure
class Wraps
  def initialize(app)
    @app = app
  end

  def call(env)
    @app.call(env)
  rescue ArgumentError
    raise IOError, "wrapped"
  end
end

class Tells
  def initialize(app)
    @app = app
  end

  def call(env)
    @app.call(env)
  rescue StandardError => error
    chain = []
    one = error
    chain << one while (one = one.cause)
    said = error.full_message(highlight: false).scan(/[a-z]+ \([A-Z]\w+\)/)
    [200, { "content-type" => "text/plain" }, [[error.class, error.message, chain.map(&:message), said].inspect]]
  end
end

use Tells
use Wraps
run lambda { |env|
  case env["PATH_INFO"]
  when "/plain" then raise KeyError, "plain"
  when "/given" then raise ArgumentError, "given", cause: KeyError.new("stated")
  when "/ensure"
    begin
      raise ArgumentError, "first"
    ensure
      {}.fetch(:x) { raise IndexError, "second" }
    end
  else
    begin
      raise KeyError, "deepest"
    rescue KeyError
      raise ArgumentError, "middle"
    end
  end
}
