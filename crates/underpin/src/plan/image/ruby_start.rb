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
words = facts.map { |name, value| "#{name.dump}:#{value.dump}" }
if File.file?(probe = File.join(__dir__, "fips.rb"))
  require probe
  found = UnderpinFips.facts
  provider = found["provider"].values_at("name", "version").compact.join(" ")
  words << "\"fips\":{\"provider\":#{provider.dump},\"in_effect\":#{found["in_effect"]}}"
end
$stderr.puts("{#{words.join(",")}}")
