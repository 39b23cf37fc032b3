# Rack::NullLogger: a rack.logger that accepts everything and writes nothing.

module Rack
  class NullLogger
    def initialize(app)
      @app = app
    end

    def call(env)
      env["rack.logger"] = self
      @app.call(env)
    end

    def info(_message = nil, &_block) = nil
    def debug(_message = nil, &_block) = nil
    def warn(_message = nil, &_block) = nil
    def error(_message = nil, &_block) = nil
    def fatal(_message = nil, &_block) = nil
    def unknown(_message = nil, &_block) = nil
    def info? = false
    def debug? = false
    def warn? = false
    def error? = false
    def fatal? = false
    def debug! = nil
    def error! = nil
    def fatal! = nil
    def info! = nil
    def warn! = nil
    def level = nil
    def progname = nil
    def datetime_format = nil
    def formatter = nil
    def sev_threshold = nil
    def level=(_level); end
    def progname=(_name); end
    def datetime_format=(_format); end
    def formatter=(_formatter); end
    def sev_threshold=(_level); end
    def close = nil
    def add(_severity, _message = nil, _progname = nil, &_block) = nil
    def log(_severity, _message = nil, _progname = nil, &_block) = nil
    def <<(_message)
      self
    end

    def reopen(_device = nil)
      self
    end
  end
end
