# Sessions in cookies: what is ours alone. A cookie that holds no session is none, whoever signed it; the coder is JSON where none is
# given; the secrets are not in the environment; a cookie does not stay in fields that the application uses again.
#> GET /
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIn0%3D--8db683093fccf1b7715f2ce05fd157b1c5da0fc7
#< 200
#: "Ada"
#> GET /
#+ Cookie: rack.session=WzEsMl0%3D--73939d19bbb119c664f825c727900fd4317e5baf
#< 200
#: nil
#> GET /
#+ Cookie: rack.session=InRleHQi--8ac2c87cebe6f9423ef32534140cae1bb367e21b
#< 200
#: nil
#> GET /
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjo1LCJ1c2VyIjoibnVtYmVyIn0%3D--5d360950782755685d46ec0e310eb6a809a38500
#< 200
#: nil
#> GET /
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjpudWxsfQ%3D%3D--4bd990e2904d4e2c1df1c73010acd5fa37ec820a
#< 200
#: nil
#> GET /
#+ Cookie: rack.session=IQ%3D%3D--bdfb0256aac183becb248471c30565f1de48a571
#< 200
#: nil
#> GET /open
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIn0%3D
#< 200
#: "Ada"
#> GET /open
#+ Cookie: rack.session=WzFd
#< 200
#: nil
#> GET /open
#+ Cookie: rack.session=%00%FF--
#< 200
#: nil
#> GET /open
#+ Cookie: rack.session=!
#< 200
#: nil
#> GET /broken
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIn0%3D--8db683093fccf1b7715f2ce05fd157b1c5da0fc7
#< 200
#: nil
#> GET /rotated
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIn0%3D--39b496f875713cc405f5e45502d045e95f1558e0
#< 200
#: "Ada"
#> GET /rotated
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIn0%3D--7bec4fd01df0a449a84b13c15355bd6733769163
#< 200
#: nil
#> GET /written
#< 200
#- set-cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMCIsInVzZXIiOiJBZGEiLCJsaXN0IjpbMSxudWxsLHsiYSI6ImIifV19--ef72c755d599f89790551005a68ab396a7f554c7; path=/; httponly
#: true
#> GET /options
#< 200
#: []
#> GET /shared
#< 200
#: 1
#> GET /shared
#< 200
#: 1
#> GET /id
#+ Cookie: rack.session=eyJzZXNzaW9uX2lkIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAiLCJ1c2VyIjoiQWRhIn0%3D--8db683093fccf1b7715f2ce05fd157b1c5da0fc7
#< 200
#: ["00000000000000000000000000000000", "00000000000000000000000000000000", "2::84e0c0eafaa95a34c293f278ac52e45ce537bab5e752a00e6959a13ae103b65a"]
#> GET /constructors
#< 200
#: ArgumentError NotImplementedError NotImplementedError NameError
class Zeros
  def hex(count) = "0" * (2 * count)
end

class Broken
  def encode(_session) = raise("not asked")
  def decode(text) = text && raise(KeyError, "cannot be read")
end

secret = "a secret of the corpus"
zeros = Zeros.new
reads = lambda { |env| [200, { "content-type" => "text/plain" }, [env["rack.session"]["user"].inspect]] }
fields = { "content-type" => "text/plain" }
refused = [
  lambda { Rack::Session::Cookie.new(reads, secret: "") }, lambda { Rack::Session::Cookie::Base64::Marshal.new },
  lambda { Rack::Session::Cookie::Base64::ZipJSON.new }, lambda { Rack::Session::Pool }
].map { |one|
  begin
    one.call
    "nothing"
  rescue ScriptError, StandardError => error
    error.class
  end
}

map("/open") { use Rack::Session::Cookie; run reads }
map("/broken") { use Rack::Session::Cookie, secret: secret, coder: Broken.new; run reads }
map("/rotated") { use Rack::Session::Cookie, secrets: %w[first second]; run reads }
map "/written" do
  use Rack::Session::Cookie, secret: secret, secure_random: zeros
  run lambda { |env|
    env["rack.session"].update(user: "Ada", list: [1, nil, { a: :b }])
    [200, { "content-type" => "text/plain" }, [env["rack.session"].loaded?.inspect]]
  }
end
map "/options" do
  use Rack::Session::Cookie, secret: secret, old_secret: "older", secrets: ["third"]
  run lambda { |env| [200, {}, [(env["rack.session.options"].keys & %i[secret old_secret secrets]).inspect]] }
end
map "/shared" do
  use Rack::Session::Cookie, secret: secret
  run lambda { |env|
    env["rack.session"]["seen"] = true
    [200, fields, [fields.size.inspect]]
  }
end
map "/id" do
  use Rack::Session::Cookie, secret: secret
  run lambda { |env|
    session = env["rack.session"]
    [200, {}, [[session.id.to_s, session["session_id"], session.id.private_id].inspect]]
  }
end
map "/constructors" do
  run lambda { |_env| [200, {}, [refused.join(" ")]] }
end
map "/" do
  use Rack::Session::Cookie, secret: secret
  run reads
end
