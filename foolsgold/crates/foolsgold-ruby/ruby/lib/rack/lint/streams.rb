# The rules for streams: how an application may call what the server provides, and what it must get back.

module Rack
  class Lint
    # Wraps rack.input.
    class InputWrapper
      def self.check(input)
        # A server need not set an encoding; if it does, it has to be binary.
        encoding = input.respond_to?(:external_encoding) ? input.external_encoding : nil
        Lint.refuse("rack.input #{input} does not have ASCII-8BIT as its external encoding") unless encoding.nil? || encoding.to_s == "ASCII-8BIT"
        Lint.refuse("rack.input #{input} is not opened in binary mode") if input.respond_to?(:binmode?) && !input.binmode?
        [:gets, :each, :read].each do |method|
          Lint.refuse("rack.input #{input} does not respond to ##{method}") unless input.respond_to?(method)
        end
      end

      def initialize(input)
        @input = input
      end

      def gets(*args)
        Lint.refuse("rack.input#gets called with arguments") unless args.empty?
        line = @input.gets
        Lint.refuse("rack.input#gets didn't return a String") unless line.nil? || line.is_a?(String)
        line
      end

      def read(*args)
        check_read(args)
        data = @input.read(*args)
        Lint.refuse("rack.input#read didn't return nil or a String") unless data.nil? || data.is_a?(String)
        Lint.refuse("rack.input#read(nil) returned nil on EOF") if args[0].nil? && data.nil?
        if args.size >= 1 && args[0] && data && data.bytesize > args[0]
          Lint.refuse("rack.input#read gave more bytes than were asked for")
        end
        data
      end

      def each(*args)
        Lint.refuse("rack.input#each called with arguments") unless args.empty?
        @input.each do |line|
          Lint.refuse("rack.input#each didn't yield a String") unless line.is_a?(String)
          yield line
        end
      end

      def close
        @input.close if @input.respond_to?(:close)
      end

      # From Rack 2; optional for a server in Rack 3.
      def rewind(*args)
        Lint.refuse("rack.input#rewind called with arguments") unless args.empty?
        @input.rewind
      end

      def respond_to?(name, include_all = false)
        name == :rewind || name == :close ? @input.respond_to?(name) : super
      end

      private

      def check_read(args)
        Lint.refuse("rack.input#read called with too many arguments") if args.size > 2
        length = args[0]
        unless length.nil?
          Lint.refuse("rack.input#read called with non-integer and non-nil length") unless length.is_a?(Integer)
          Lint.refuse("rack.input#read called with a negative length") if length < 0
        end
        return if args.size < 2 || args[1].is_a?(String)
        Lint.refuse("rack.input#read called with non-String buffer")
      end
    end

    # Wraps rack.errors.
    class ErrorWrapper
      def self.check(errors)
        [:puts, :write, :flush].each do |method|
          Lint.refuse("rack.errors #{errors} does not respond to ##{method}") unless errors.respond_to?(method)
        end
      end

      def initialize(errors)
        @errors = errors
      end

      def puts(text)
        @errors.puts(text)
      end

      def write(text)
        Lint.refuse("rack.errors#write not called with a String") unless text.is_a?(String)
        @errors.write(text)
      end

      def flush
        @errors.flush
      end

      def close(*_args)
        Lint.refuse("rack.errors#close must not be called")
      end
    end

    # Wraps the stream of a streaming body.
    class StreamWrapper
      METHODS = [:read, :write, :<<, :flush, :close, :close_read, :close_write, :closed?].freeze

      def initialize(stream)
        @stream = stream
        METHODS.each do |method|
          Lint.refuse("the stream must respond to #{method}") unless stream.respond_to?(method)
        end
      end

      def read(*args) = @stream.read(*args)
      def write(*args) = @stream.write(*args)
      def flush = @stream.flush
      def close(*args) = @stream.close(*args)
      def close_read = @stream.close_read
      def close_write = @stream.close_write
      def closed? = @stream.closed?
      def <<(text)
        @stream << text
        self
      end
    end

    # Wraps the connection of a full hijack.
    class HijackWrapper < StreamWrapper; end
  end
end
