# Logger: lines with a level, written to anything that has `write`. Log files belong to the server: a file name is
# refused.

class Logger
  module Severity
    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3
    FATAL = 4
    UNKNOWN = 5
  end
  include Severity

  NAMES = %w[DEBUG INFO WARN ERROR FATAL ANY].freeze

  # CRuby's format: "I, [2030-01-02T03:04:05.678901 #42]  INFO -- program: message".
  class Formatter
    attr_accessor :datetime_format

    def self.text(message)
      case message
      when String then message
      when Exception then "#{message.message} (#{message.class})\n#{(message.backtrace || []).join("\n")}"
      else message.inspect
      end
    end

    def call(severity, time, program, message)
      sprintf("%s, [%s #%d] %5s -- %s: %s\n", severity[0], date(time), Process.pid, severity, program, Formatter.text(message))
    end

    private

    def date(time)
      return time.strftime(@datetime_format) if @datetime_format
      sprintf("%04d-%02d-%02dT%02d:%02d:%02d.%06d", time.year, time.month, time.day, time.hour, time.min, time.sec, time.usec)
    end
  end

  attr_accessor :progname, :formatter
  attr_reader :level

  def initialize(device = nil, *_rotation, level: DEBUG, progname: nil, formatter: nil, datetime_format: nil, **_options)
    if device.is_a?(String)
      raise ArgumentError, "a logger cannot write the file #{device}: use $stdout, which is the server's log"
    end
    @device = device
    @progname = progname
    @formatter = formatter
    @default = Formatter.new
    @default.datetime_format = datetime_format
    self.level = level
  end

  def level=(level)
    unless level.is_a?(Integer)
      found = NAMES.index(level.to_s.upcase) || (level.to_s.downcase == "unknown" ? UNKNOWN : nil)
      raise ArgumentError, "invalid log level: #{level}" unless found
      level = found
    end
    @level = level
  end

  def datetime_format
    @default.datetime_format
  end

  def datetime_format=(format)
    @default.datetime_format = format
  end

  def add(severity, message = nil, progname = nil)
    severity ||= UNKNOWN
    return true if @device.nil? || severity < @level
    progname = @progname if progname.nil?
    if message.nil?
      if block_given?
        message = yield
      else
        message = progname
        progname = @progname
      end
    end
    @device.write((@formatter || @default).call(NAMES[severity] || "ANY", Time.now, progname, message))
    true
  end

  alias log add

  def <<(message)
    @device.write(message) if @device
    self
  end

  { debug: DEBUG, info: INFO, warn: WARN, error: ERROR, fatal: FATAL, unknown: UNKNOWN }.each do |name, severity|
    define_method(name) { |progname = nil, &block| add(severity, nil, progname, &block) }
    define_method("#{name}?".to_sym) { level <= severity }
    define_method("#{name}!".to_sym) { self.level = severity }
  end

  def close; end

  def reopen(_device = nil)
    self
  end
end
