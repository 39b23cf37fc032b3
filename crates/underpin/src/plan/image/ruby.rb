# Asked of an interpreter by `underpin image build --app DIR`: ruby - DIR ARGUMENT...
# Says where its library is, and which installed gems the application's files require; runs nothing of the application.
require "json"
require "rubygems"

app, *arguments = ARGV
abi = RbConfig::CONFIG["ruby_version"]
vendored = File.join(app, "vendor/bundle/ruby", abi)
Gem.paths = { "GEM_HOME" => vendored, "GEM_PATH" => vendored } if File.directory?(vendored)

specs, missing, scripts, server = {}, [], [], nil
add = lambda do |spec|
  next if spec.nil? || specs.key?(spec.name)

  specs[spec.name] = spec
  spec.runtime_dependencies.each do |needed|
    add.call(needed.to_spec)
  rescue Gem::LoadError
    missing << "#{needed.name} (#{needed.requirement}), which #{spec.name} needs"
  end
end

# `-S NAME` runs the executable of a gem.
if (name = arguments[arguments.index("-S").to_i + 1]) && arguments.include?("-S")
  spec = Gem::Specification.find { |one| one.executables.include?(name) }
  server = spec&.name
  spec ? add.call(spec) : missing << "a gem with the executable #{name}, which -S starts"
  folders = [File.join(vendored, "bin")] + %w[/usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin]
  scripts = folders.map { |folder| File.join(folder, name) }.select { |path| File.file?(path) }.first(1)
end

lock = File.join(app, "Gemfile.lock")
if File.file?(lock)
  named = File.read(lock)[/^DEPENDENCIES\n((?: .*\n?)*)/, 1].to_s.lines.map { |line| line[/^\s+([\w.-]+)/, 1] }.compact
  named.each do |gem_name|
    add.call(Gem::Specification.find_by_name(gem_name))
  rescue Gem::LoadError
    missing << "#{gem_name}, which Gemfile.lock names"
  end
end

Dir.glob("#{app}/**/*.{rb,ru}").sort.each do |file|
  next if file.start_with?("#{app}/vendor/", "#{app}/test/", "#{app}/spec/")

  File.binread(file).scan(/^\s*require\s*\(?\s*["']([\w.\/-]+)["']/n).flatten.each do |feature|
    add.call(Gem::Specification.find_by_path(feature))
  end
end
# The server of a config.ru speaks Rack.
add.call(Gem::Specification.find { |one| one.name == "rack" }) if File.file?(File.join(app, "config.ru"))

outside = ->(path) { path && File.exist?(path) && !path.start_with?("#{app}/") }
gems = specs.values.reject(&:default_gem?).map do |spec|
  { name: spec.name, version: spec.version.to_s,
    paths: [spec.loaded_from, spec.full_gem_path, spec.extension_dir].select(&outside).uniq }
end
library = $LOAD_PATH.map(&:to_s).select { |path| File.directory?(path) && !Dir.empty?(path) }
library << Gem.default_specifications_dir if File.directory?(Gem.default_specifications_dir)
puts JSON.generate(
  version: RUBY_VERSION, abi: abi, platform: RUBY_PLATFORM, library: library.uniq, gems: gems, missing: missing.uniq, server: server,
  scripts: scripts.select(&outside), vendored: (File.directory?(vendored) ? vendored.delete_prefix("#{app}/") : nil)
)
