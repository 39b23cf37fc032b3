# An exception that nobody rescues is 500.
#~ body
#~ fields
#> GET /standard
#> GET /argument
run lambda { |env| env["PATH_INFO"] == "/argument" ? [].first(1, 2, 3) : raise("on purpose") }
