# rack.logger over the server's own log, which adds the time; each text is preceded by its level.

require "logger"

module FoolsGold
  class NativeLogger < ::Logger
    LEVELS = %w[debug info warn error fatal unknown].freeze

    def initialize(level = ::Logger::INFO)
      super(nil)
      self.level = level
    end

    def add(severity, message = nil, progname = nil)
      severity ||= UNKNOWN
      return true if severity < level
      if message.nil?
        message = block_given? ? yield : progname
      end
      Native.log(LEVELS[severity] || "unknown", Formatter.text(message))
      true
    end

    alias log add

    def <<(message)
      Native.log("info", message.to_s.chomp)
      self
    end
  end
end
