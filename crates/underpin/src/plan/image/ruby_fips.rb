# Put here by `underpin image build --fips`, and what `underpin image fips` runs: asks OpenSSL inside this Ruby which FIPS provider is
# in effect, and looks for cryptography that does not pass through it. `UnderpinFips.facts` says it; as a script it prints all as JSON.
module UnderpinFips
  module_function

  # The files that this process has mapped.
  def objects
    File.readlines("/proc/self/maps").map { |line| line.split(nil, 6)[5].to_s.chomp }.uniq
  end

  # Libraries and modules of OpenSSL among them.
  def mapped
    objects.grep(%r{/(libcrypto[^/]*|fips)\.so})
  end

  # name, version and state of the provider `fips` of this process, and whether all algorithms are to be its own.
  def provider
    require "fiddle"
    library = Fiddle.dlopen(mapped.grep(/libcrypto/).first)
    call = ->(name, *types) { Fiddle::Function.new(library[name], types, Fiddle::TYPE_INT) }
    pointer = Fiddle::TYPE_VOIDP
    forced = call["EVP_default_properties_is_fips_enabled", pointer].call(nil) == 1
    return { "forced" => forced } if call["OSSL_PROVIDER_available", pointer, pointer].call(nil, "fips") != 1

    load = Fiddle::Function.new(library["OSSL_PROVIDER_try_load"], [pointer, pointer, Fiddle::TYPE_INT], pointer)
    handle = load.call(nil, "fips", 1)
    { "name" => text(call, handle, "name"), "version" => text(call, handle, "version"), "forced" => forced }
  end

  # One text of a provider: OSSL_PARAM is key, type (6: a pointer to UTF-8), data, size, returned size; one without a key ends them.
  def text(call, handle, key)
    name, value = Fiddle::Pointer["#{key}\0"], Fiddle::Pointer["\0" * 8]
    parameters = [name.to_i, 6, value.to_i, 0, 0].pack("JL!JJJ") + ("\0" * 40)
    call["OSSL_PROVIDER_get_params", Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP].call(handle, parameters)
    address = value[0, 8].unpack1("J")
    address.zero? ? nil : Fiddle::Pointer.new(address).to_s
  end

  # Through OpenSSL: what must work, and what must be refused.
  def through
    {
      "SHA-256" => [true, -> { OpenSSL::Digest.new("SHA256").update("a").hexdigest }],
      "AES-256-CBC" => [true, -> { cipher("aes-256-cbc") }],
      "MD5" => [false, -> { OpenSSL::Digest.new("MD5").update("a").hexdigest }],
      "ChaCha20" => [false, -> { cipher("chacha20") }]
    }.map { |name, (expected, work)| { "name" => name, "expected" => expected, "works" => works?(&work) } }
  end

  def cipher(name)
    cipher = OpenSSL::Cipher.new(name).encrypt
    cipher.key = "k" * cipher.key_len
    cipher.iv = "i" * cipher.iv_len
    cipher.update("a" * 64) + cipher.final
  end

  # Ruby's own: each with the file that computes it.
  def beside
    digests = { "MD5" => "md5", "SHA1" => "sha1", "RMD160" => "rmd160", "SHA256" => "sha2", "SHA512" => "sha2" }
    found = digests.map { |name, file| ["Digest::#{name}", "digest/#{file}", -> { Digest.const_get(name).hexdigest("a") }] }
    found << ["String#crypt", "libcrypt", -> { "a".crypt("ab") }]
    found << ["SecureRandom", nil, -> { SecureRandom.bytes(8) }]
    found.map do |name, file, work|
      works = works?(&work)
      { "name" => name, "works" => works, "file" => works && file && objects.grep(/#{file}\.so/).first }
    end
  end

  def works?
    yield ? true : false
  rescue StandardError, LoadError
    false
  end

  def facts
    %w[openssl digest securerandom].each { |library| require library }
    module_facts = begin
      provider
    rescue StandardError, LoadError => e
      { "unknown" => e.message }
    end
    checks = through
    effect = checks.all? { |check| check["works"] == check["expected"] }
    { "runtime" => "Ruby #{RUBY_VERSION}", "library" => OpenSSL::OPENSSL_LIBRARY_VERSION, "mapped" => mapped,
      "provider" => module_facts, "in_effect" => effect && (module_facts["forced"] || false), "through" => checks, "says" => OpenSSL.fips_mode }
  end

  def report
    require "json"
    puts JSON.generate(facts.merge("beside" => beside))
  end
end

UnderpinFips.report if $PROGRAM_NAME == __FILE__
