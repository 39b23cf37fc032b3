# frozen_string_literal: true

# Which allocator serves this process, and how it came there. Nothing here believes an environment variable: the dynamic
# linker is asked where `malloc` is, and the process's own maps say which file is mapped at that address. Variables are
# reported beside it, as the process was started with them.
module Allocator
  # The environment at exec: allocators read it before Ruby runs, and `underpin run` takes its own part of it out again.
  # Puma overwrites this memory when it sets its title, so it is read when this file is loaded.
  STARTED_WITH = begin
    entries = File.binread("/proc/self/environ").split("\0").select { |entry| entry.include?("=") }
    ENV.to_h.merge(entries.to_h { |entry| entry.dup.force_encoding(Encoding::UTF_8).scrub.split("=", 2) }).freeze
  rescue SystemCallError
    ENV.to_h.freeze
  end

  FAMILIES = %w[jemalloc mimalloc snmalloc tcmalloc hoard].freeze
  LIBC = { /\Alibc[.-]/ => "glibc", /\Ald-musl-/ => "musl" }.freeze
  ELF = "\x7FELF".b.freeze
  PART = 65_536
  OVERLAP = 256

  module_function

  # { name:, how:, object: }: for example "jemalloc", "via LD_PRELOAD", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2".
  def in_effect
    @in_effect ||= malloc_object.then do |object|
      object ? { name: name_of(object), how: how(object), object: object } : { name: "unknown", how: "no maps", object: nil }
    end
  end

  # "jemalloc (via LD_PRELOAD)", "glibc (libc)".
  def description
    in_effect.then { |found| "#{found[:name]} (#{found[:how]})" }
  end

  # Settings that jemalloc itself says are in force; nil for others, which do not tell.
  def settings
    return unless in_effect[:name] == "jemalloc" && (control = jemalloc_control)

    { built_in: control.call("config.malloc_conf", :string), background_thread: control.call("opt.background_thread", :bool),
      dirty_decay_ms: control.call("opt.dirty_decay_ms", :signed), muzzy_decay_ms: control.call("opt.muzzy_decay_ms", :signed),
      retain: control.call("opt.retain", :bool), narenas: control.call("opt.narenas", :unsigned) }
  end

  # The file that serves malloc. An executable that is not position-independent gives a function whose address it takes
  # an address of its own, a jump to the real one. No program takes the address of malloc_usable_size, which every
  # allocator has.
  def malloc_object
    require "fiddle"
    found = object_of("malloc")
    found == File.readlink("/proc/self/exe") ? object_of("malloc_usable_size") : found
  rescue LoadError, Fiddle::DLError
    # Ruby without fiddle: the first file with an allocator's name, or else the C library.
    paths = objects
    paths.find { |path| FAMILIES.any? { |name| File.basename(path).include?(name) } } ||
      paths.find { |path| LIBC.keys.any? { |name| name.match?(File.basename(path)) } }
  end

  # The file mapped where the dynamic linker finds a function.
  def object_of(function)
    address = Fiddle::Handle::DEFAULT[function]
    mappings.find { |range, _| range.cover?(address) }&.last
  end

  def mappings
    File.foreach("/proc/self/maps").filter_map do |line|
      addresses, _, _, _, _, path = line.chomp.split(" ", 6)
      next unless path&.start_with?("/")

      low, high = addresses.split("-").map(&:hex)
      [low...high, path]
    end
  end

  def objects
    mappings.map(&:last).uniq
  end

  def name_of(object)
    file = File.basename(object)
    FAMILIES.find { |name| file.include?(name) } || LIBC.find { |pattern, _| pattern.match?(file) }&.last || file
  end

  # An object that comes before the C library although no other file asks for it was preloaded, whatever the variables
  # say by now.
  def how(object)
    file = File.basename(object)
    return "libc" if LIBC.keys.any? { |pattern| pattern.match?(file) }
    return "built in" if object == File.readlink("/proc/self/exe")
    return "linked" if objects.any? { |other| other != object && needs?(other, file) }

    preloaded_by_file?(object) ? "via /etc/ld.so.preload" : "via LD_PRELOAD"
  end

  # Whether an ELF file has the library's name among its strings, as every file has the names that it needs. The file in
  # the maps may have more numbers at its end than the name that was asked for.
  def needs?(path, name)
    pattern = /\0#{Regexp.escape(name[/\A.*?\.so/] || name)}[.\d]*\0/n
    File.open(path, "rb") { |file| file.size > ELF.size && file.pread(ELF.size, 0) == ELF && holds?(file, pattern) }
  rescue SystemCallError
    false
  end

  # Looks through a file in parts that overlap, all read into one string: it must not weigh in the caller's figures.
  def holds?(file, pattern)
    window = String.new(capacity: PART + OVERLAP)
    (0...file.size).step(PART).any? { |offset| pattern.match?(file.pread(PART + OVERLAP, offset, window)) }
  end

  def preloaded_by_file?(object)
    File.read("/etc/ld.so.preload").split(/[\s:]+/).any? { |path| File.basename(path) == File.basename(object) }
  rescue SystemCallError
    false
  end

  # int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length)
  def jemalloc_control
    types = [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T]
    mallctl = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mallctl"], types, Fiddle::TYPE_INT)
    lambda do |name, type|
      width = { bool: 1, unsigned: 4, signed: 8, string: 8 }.fetch(type)
      value, length = "\0".b * width, [width].pack("J")
      next nil unless mallctl.call(name, value, length, nil, 0).zero?

      case type
      when :bool then value.unpack1("C") == 1
      when :unsigned then value.unpack1("L")
      when :signed then value.unpack1("q")
      else Fiddle::Pointer.new(value.unpack1("J")).to_s
      end
    end
  rescue Fiddle::DLError
    nil
  end

  private_class_method :malloc_object, :object_of, :mappings, :objects, :name_of, :how, :needs?, :holds?, :preloaded_by_file?, :jemalloc_control
end
