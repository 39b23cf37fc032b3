# The demonstration under Thin or Puma, for comparison:
#
#   thin --threaded --threadpool-size 16 -R bench/config.ru start

$LOAD_PATH.unshift(File.expand_path("../cruby", __dir__))
run Rack::Builder.parse_file(File.expand_path("../demo/config.ru", __dir__)).first
