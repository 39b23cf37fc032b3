# Exceptions that CRuby has and the included parts of mruby do not.

# Creates the variable `$!` now: once memory has run out, there is none to create it.
$! = nil

class LoadError < ScriptError; end unless Object.const_defined?(:LoadError)
class SecurityError < Exception; end unless Object.const_defined?(:SecurityError)
class IOError < StandardError; end unless Object.const_defined?(:IOError)
class EOFError < IOError; end unless Object.const_defined?(:EOFError)
class SystemExit < Exception; end unless Object.const_defined?(:SystemExit)
class SignalException < Exception; end unless Object.const_defined?(:SignalException)
class Interrupt < SignalException; end unless Object.const_defined?(:Interrupt)
class ThreadError < StandardError; end unless Object.const_defined?(:ThreadError)
class SystemCallError < StandardError; end unless Object.const_defined?(:SystemCallError)

module Errno
  # Number and message of those that a web application may encounter.
  {
    EPERM: [1, "Operation not permitted"], ENOENT: [2, "No such file or directory"], EIO: [5, "Input/output error"],
    EACCES: [13, "Permission denied"], EEXIST: [17, "File exists"], ENOTDIR: [20, "Not a directory"],
    EISDIR: [21, "Is a directory"], EINVAL: [22, "Invalid argument"], ESPIPE: [29, "Illegal seek"],
    EROFS: [30, "Read-only file system"], EPIPE: [32, "Broken pipe"], ECONNRESET: [104, "Connection reset by peer"],
    ETIMEDOUT: [110, "Connection timed out"]
  }.each do |name, (number, words)|
    next if const_defined?(name, false)
    error = Class.new(SystemCallError)
    error.define_method(:initialize) { |text = nil| super(text ? "#{words} - #{text}" : words) }
    error.const_set(:Errno, number)
    const_set(name, error)
  end
end

class Exception
  unless method_defined?(:full_message)
    def full_message(**_options)
      lines = (backtrace || []).dup
      first = lines.shift
      text = +"#{first ? "#{first}: " : ""}#{message} (#{self.class})"
      lines.each { |line| text << "\n\tfrom #{line}" }
      text << "\n" << cause.full_message if cause
      text
    end
  end

  unless method_defined?(:detailed_message)
    def detailed_message(**_options)
      "#{message} (#{self.class})"
    end
  end

  # mruby does not record them.
  def backtrace_locations = nil unless method_defined?(:backtrace_locations)
end
