# Methods that every object has.

module Kernel
  # mruby has no private methods, so this is `send`.
  unless method_defined?(:public_send)
    def public_send(name, *args, **options, &block)
      options.empty? ? __send__(name, *args, &block) : __send__(name, *args, **options, &block)
    end
  end

  unless method_defined?(:then)
    def then
      yield self
    end
  end

  def puts(*objects)
    $stdout.puts(*objects)
  end

  def print(*objects)
    $stdout.print(*objects)
  end

  def p(*objects)
    objects.each { |object| $stdout.puts(object.inspect) }
    objects.size > 1 ? objects : objects[0]
  end

  def pp(*objects)
    p(*objects)
  end

  def printf(format, *values)
    $stdout.print(sprintf(format, *values))
  end

  def putc(char)
    $stdout.print(char.is_a?(Integer) ? char.chr : char[0])
    char
  end

  def display
    $stdout.print(self)
  end

  def warn(*messages, **_options)
    messages.each { |message| $stderr.puts(message) }
    nil
  end

  # Returns the seconds slept, rounded, as in CRuby.
  def sleep(seconds)
    raise ArgumentError, "time interval must not be negative" if seconds < 0
    FoolsGold::Native.sleep(seconds)
    seconds.round
  end

  # Raises an ordinary exception: it ends the request, not the server.
  def exit(_status = true)
    raise SystemExit, "exit"
  end

  def exit!(status = true)
    exit(status)
  end

  def abort(message = nil)
    $stderr.puts(message) if message
    raise SystemExit, message || "exit"
  end

  # The end of an interpreter is not visible to an application: the block is never called.
  def at_exit(&block)
    block
  end

  unless method_defined?(:__dir__)
    def __dir__
      place = caller(1)&.first
      return nil unless place
      File.dirname(place[0, place.index(":") || place.size])
    end
  end

  def autoload(name, path)
    Object.autoload(name, path)
  end
end
