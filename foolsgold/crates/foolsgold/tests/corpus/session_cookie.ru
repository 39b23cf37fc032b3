# Sessions in a signed cookie. The cookies here were made by Rack 2.2; those that are sent back are compared byte by byte, so each
# server reads what the other wrote. The session's name comes from a source of zeros instead of chance.
#> GET /nothing
#> GET /read
#> GET /read
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /questions
#> GET /questions
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /write
#> GET /write
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /same
#> GET /same
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /delete
#> GET /delete
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /clear
#> GET /clear
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /replace
#> GET /replace
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /destroy
#> GET /destroy
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /renew
#> GET /renew
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /drop
#> GET /drop
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /skip
#> GET /skip
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /enumerate
#> GET /enumerate
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /options
#> GET /options
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /large
#> GET /large
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /symbols
#> GET /symbols
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /nil
#> GET /nil
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /error
#> GET /error
#+ Cookie: other=1; rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
# One that was changed, cut, made with another secret, or that is none at all is no session.
#> GET /read
#+ Cookie: rack.session=xeyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /read
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--38197f18ea15775ac45570551e74947bf5bd831
#> GET /read
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D
#> GET /read
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIExvdmVsYWNlIiwibiI6NDEsImxpc3QiOlsxLHsiYSI6bnVsbH1dLCJ0ZXh0IjoiR3LDtsOfZSDinJMifQ%3D%3D--
#> GET /read
#+ Cookie: rack.session=--38197f18ea15775ac45570551e74947bf5bd831a
#> GET /read
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoibWFsbG9yeSJ9--6b1409a095700aedda1c9083eb0255201a5a02f1
#> GET /read
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoib2xkIn0%3D--60857b84925b5818a795753695e58bf20d9f568f
#> GET /read
#+ Cookie: rack.session=bm8ganNvbg%3D%3D--f1224216c71f9e8139de04a690ca0f4df3c342cf
#> GET /read
#+ Cookie: rack.session=
#> GET /read
#+ Cookie: rack.session=--
#> GET /read
#+ Cookie: rack.session=%FF%FE
#> GET /read
#+ Cookie: rack.session=%
#> GET /read
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw
#> GET /read
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIn0%3D--3bb962792a38d594ca32dc83704cfbd30622dc6bc2f6ad3855888a40b4f54900
#> GET /write
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoibWFsbG9yeSJ9--6b1409a095700aedda1c9083eb0255201a5a02f1
class Zeros
  def hex(count) = "0" * (2 * count)
end

# Shows the fields as they are: the server may not.
class Shown
  def initialize(app)
    @app = app
  end

  def call(env)
    status, headers, body = @app.call(env)
    cookies = headers.select { |name, _| name.downcase == "set-cookie" }.map { |_, value| value }
    text = body.join + "\n" + cookies.flatten.flat_map { |one| one.split("\n") }.map { |one| one.split(";")[0] }.inspect
    [status, headers, [text]]
  end
end

class Application
  def call(env)
    session = env["rack.session"]
    return [200, { "content-type" => "text/plain" }, ["nothing"]] if env["PATH_INFO"] == "/nothing"
    said = __send__("at_" + env["PATH_INFO"].delete("/"), session, env)
    [200, { "content-type" => "text/plain" }, [said.inspect, session.loaded?.inspect]]
  end

  def at_read(session, _env)
    [session["user"], session[:n], session["list"], session["text"], session["absent"]]
  end

  def at_questions(session, _env)
    before = session.loaded?
    [before, session.exists? ? 1 : 0, session.loaded?, session.key?("user"), session.has_key?(:n), session.include?("x"), session.empty?,
     session.fetch("user", "nobody"), session.fetch(:absent) { |key| "no #{key}" }, session.fetch("absent", nil),
     (session.fetch("absent") rescue $!.class), session.dig("list", 0), session.dig("absent", 1)]
  end

  def at_write(session, _env)
    session["count"] = (session["n"] || 0) + 1
    session.store(:stored, "Größe \"✓\" \u{1F600}")
    session[:deep] = { "a" => [1, 2.5, nil, true, { "b" => "c" }] }
    session.update(more: 1, "again" => 2)
    session.to_hash.reject { |key, _| key == "session_id" }
  end

  # What is read and stored as it was is no reason to send a cookie.
  def at_same(session, _env) = session["n"] = session["n"]

  def at_delete(session, _env)
    [session.delete("user"), session.delete(:absent), session.key?("user")]
  end

  def at_clear(session, _env)
    session.clear
    session["after"] = 1
    session.keys
  end

  def at_replace(session, _env)
    session.replace(only: "this")
    [session.keys, session.values]
  end

  def at_destroy(session, _env)
    session.destroy
    session["after"] = 1
    session["user"]
  end

  def at_renew(session, env)
    session["seen"] = true
    env["rack.session.options"][:renew] = true
  end

  def at_drop(session, env)
    session["seen"] = true
    env["rack.session.options"][:drop] = true
  end

  def at_skip(session, env)
    session["seen"] = true
    env["rack.session.options"][:skip] = true
  end

  def at_enumerate(session, _env)
    names = []
    session.each { |key, _value| names << key }
    [names.sort, session.map { |key, _| key }.sort, session.keys.sort, session.values.size, session.to_a.size, session.id.to_s]
  end

  def at_options(session, env)
    options = env["rack.session.options"]
    request = Rack::Request.new(env)
    [options.values_at(:path, :domain, :expire_after, :secure, :httponly, :defer, :renew, :sidbits), session.options.equal?(options),
     request.session.equal?(session), request.session_options.equal?(options), options.key?(:key)]
  end

  def at_large(session, _env)
    session["large"] = "x" * 4000
    session["large"].size
  end

  def at_symbols(session, _env)
    session[:symbol] = :value
    session["symbol"].class
  end

  def at_nil(session, _env)
    session["kept"] = nil
    session["user"] = nil
    session.key?("kept")
  end

  def at_error(session, _env)
    session["lost"] = 1
    raise "no" if session["user"]
    "nobody"
  rescue RuntimeError
    "rescued"
  end
end

use Shown
use Rack::Session::Cookie, secret: "a secret of the corpus", coder: Rack::Session::Cookie::Base64::JSON.new, secure_random: Zeros.new
run Application.new
