# Cookies are taken apart; of one name the first counts.
#> GET /
#+ Cookie: a=1; b=two%20words; c; a=3; d="quoted"
#> GET /
#> GET /
#+ Cookie: x=y=z;e=;f=%zz
run lambda { |env| [200, { "content-type" => "text/plain" }, [Rack::Request.new(env).cookies.inspect]] }
