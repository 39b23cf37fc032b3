# The options of sessions in cookies: key, path, domain, lifetime, secure, httponly, same_site, digest, coder, an older secret.
#> GET /named
#> GET /named
#+ Cookie: shop=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIn0%3D--3bb962792a38d594ca32dc83704cfbd30622dc6bc2f6ad3855888a40b4f54900
#> GET /lasting
#> GET /lasting
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /secure
#> GET /secure
#+ X-Forwarded-Proto: https
#> GET /secure
#+ X-Forwarded-Ssl: on
#> GET /open
#> GET /strict
#> GET /called
#> GET /sha256
#> GET /sha256
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIn0%3D--3bb962792a38d594ca32dc83704cfbd30622dc6bc2f6ad3855888a40b4f54900
#> GET /sha256
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /older
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoib2xkIn0%3D--60857b84925b5818a795753695e58bf20d9f568f
#> GET /older
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /older
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoibWFsbG9yeSJ9--6b1409a095700aedda1c9083eb0255201a5a02f1
#> GET /identity
#> GET /identity
#+ Cookie: rack.session=user%3DAda--644328543cb91d8ace4a727cc1785dc16f0cb31f
#> GET /deferred
#> GET /handled
#> GET /handled
#+ Cookie: rack.session=%3D%3DQfiU2YhJ3RiojIyV2c1Jye
#> GET /short
#> GET /outer
class Zeros
  def hex(count) = "0" * (2 * count)
end

# A lifetime is a date of now: shown without it.
class Shown
  def initialize(app)
    @app = app
  end

  def call(env)
    status, headers, body = @app.call(env)
    name = headers.keys.find { |one| one.downcase == "set-cookie" }
    cookie = name ? headers.delete(name) : "none"
    cookie = cookie[0] if cookie.is_a?(Array)
    parts = cookie.split("; ")
    rest = parts.drop(1).map { |part| part.downcase.start_with?("expires=") ? "expires" : part.downcase }
    [status, headers, [body.join, "\n", parts[0], " ", rest.sort.inspect]]
  end
end

# Reads and writes pairs as in a query.
class Pairs
  def encode(session) = session.map { |key, value| "#{key}=#{value}" }.join("&")
  def decode(text) = text && text.split("&").map { |pair| pair.split("=", 2) }.to_h.merge("session_id" => "1")
end

class Reversed < Rack::Session::Cookie::Base64::JSON
  def encode(object) = super.reverse
  def decode(text) = text && super(text.reverse)
end

secret = "a secret of the corpus"
json = Rack::Session::Cookie::Base64::JSON.new
application = lambda { |env|
  session = env["rack.session"]
  user = session["user"]
  session["seen"] = 1
  [200, { "content-type" => "text/plain" }, [user.inspect]]
}
given = {
  "/named" => { key: "shop", path: "/named", domain: "example.org", hmac: OpenSSL::Digest::SHA256 },
  "/lasting" => { expire_after: 3600 },
  "/secure" => { secure: true },
  "/open" => { httponly: false, path: nil },
  "/strict" => { same_site: :strict },
  "/called" => { same_site: lambda { |request, _response| request.path_info.empty? ? :lax : :none } },
  "/sha256" => { hmac: OpenSSL::Digest::SHA256 },
  "/older" => { old_secret: "an older secret" },
  "/identity" => { coder: Pairs.new },
  "/deferred" => { defer: true },
  "/handled" => { secret: nil, coder: Reversed.new, let_coder_handle_secure_encoding: true },
  "/short" => { sidbits: 64 }
}
use Shown
given.each do |path, options|
  map path do
    use Rack::Session::Cookie, { secret: secret, coder: json, secure_random: Zeros.new }.merge(options)
    run application
  end
end

# What is in the environment already is taken over.
class Outer
  def initialize(app)
    @app = app
  end

  def call(env)
    env["rack.session"] = { user: "from outside" }
    @app.call(env)
  end
end

map "/outer" do
  use Outer
  use Rack::Session::Cookie, secret: secret, coder: json, secure_random: Zeros.new
  run application
end
