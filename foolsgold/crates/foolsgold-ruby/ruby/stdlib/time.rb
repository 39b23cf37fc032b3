# Times as text, and back. mruby's Time supports UTC and the machine's zone, and microseconds.

class Time
  class << self
    def parse(text, _now = nil) = __read(text, "any")
    def iso8601(text) = __read(text, "iso8601")
    alias xmlschema iso8601
    def httpdate(text) = __read(text, "httpdate")
    def rfc2822(text) = __read(text, "rfc2822")
    alias rfc822 rfc2822
    def strptime(text, format, _now = nil) = __at(FoolsGold::Native.strptime(text, format))

    def __read(text, kind)
      text = text.to_str unless text.is_a?(String)
      __at(FoolsGold::Native.read_time(text, kind))
    end

    def __at(parts)
      time = at(parts[0], parts[1])
      parts[2] ? time.utc : time
    end
  end

  def strftime(format) = FoolsGold::Native.strftime(to_i, usec, utc?, format)

  def utc_offset = utc? ? 0 : FoolsGold::Native.utc_offset(to_i)
  alias gmt_offset utc_offset
  alias gmtoff utc_offset

  def iso8601(digits = 0)
    fraction = digits > 0 ? ".%#{digits}N" : ""
    strftime("%Y-%m-%dT%H:%M:%S#{fraction}#{utc? ? "Z" : "%:z"}")
  end
  alias xmlschema iso8601

  def httpdate = getutc.strftime("%a, %d %b %Y %H:%M:%S GMT")
  def rfc2822 = strftime("%a, %d %b %Y %H:%M:%S #{utc? ? "-0000" : "%z"}")
  alias rfc822 rfc2822
  def ctime = strftime("%a %b %e %H:%M:%S %Y")
  alias asctime ctime
  def to_s = strftime(utc? ? "%Y-%m-%d %H:%M:%S UTC" : "%Y-%m-%d %H:%M:%S %z")

  def inspect
    part = usec == 0 ? "" : strftime(".%6N").sub(/0+\z/, "")
    strftime("%Y-%m-%d %H:%M:%S#{part} #{utc? ? "UTC" : "%z"}")
  end

  def nsec = usec * 1000
  alias tv_nsec nsec
  alias tv_sec to_i
  alias tv_usec usec
  def subsec = usec / 1_000_000.0
  def to_time = self
  def to_a = [sec, min, hour, day, month, year, wday, yday, false, zone]

  def round(digits = 0)
    step = 10**(6 - digits)
    return dup if step <= 1
    micros = (usec + step / 2) / step * step
    __like(to_i, micros)
  end

  def floor(digits = 0)
    step = 10**(6 - digits)
    step <= 1 ? dup : __like(to_i, usec / step * step)
  end

  def __like(seconds, micros)
    time = Time.at(seconds + micros / 1_000_000, micros % 1_000_000)
    utc? ? time.utc : time
  end
end
