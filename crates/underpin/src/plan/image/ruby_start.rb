# Put here by `underpin image build`: says once, before the service starts, what it runs on.
server = (Gem::Specification.find_by_name(ENV["UNDERPIN_SERVER"].to_s).then { |spec| [spec.name, spec.version.to_s] } rescue nil)
facts = { "ruby" => RUBY_VERSION, "abi" => RbConfig::CONFIG["ruby_version"], "platform" => RUBY_PLATFORM }
facts[server[0]] = server[1] if server
facts["preload"] = ENV["LD_PRELOAD"] if ENV["LD_PRELOAD"]
facts["malloc_conf"] = ENV["MALLOC_CONF"] if ENV["MALLOC_CONF"]
$stderr.puts("{#{facts.map { |name, value| "#{name.dump}:#{value.dump}" }.join(",")}}")
