# Put here by `underpin image build`: says once, before the service starts, what it runs on.
server = begin
  ENV["UNDERPIN_SERVER"] && Gem::Specification.find_by_name(ENV["UNDERPIN_SERVER"])
rescue LoadError
  nil
end
facts = { "ruby" => RUBY_VERSION, "abi" => RbConfig::CONFIG["ruby_version"], "platform" => RUBY_PLATFORM }
facts[server.name] = server.version.to_s if server
facts["preload"] = ENV["LD_PRELOAD"] if ENV["LD_PRELOAD"]
facts["malloc_conf"] = ENV["MALLOC_CONF"] if ENV["MALLOC_CONF"]
$stderr.puts("{#{facts.map { |name, value| "#{name.dump}:#{value.dump}" }.join(",")}}")
