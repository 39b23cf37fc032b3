# The demonstration in h2o's mruby handler, for comparison:
#
#   mruby.handler: |
#     $LOAD_PATH.unshift("ruby/lib").unshift("ruby/bench/h2o")
#     require "application"
#     application("ruby/demo/config.ru")
#
# A request passes through the demonstration's own config.ru and foolsgold's own middlewares, context and metrics. What
# this older mruby (1.3, without keyword arguments) cannot load is defined here, and runs once, at start-up.

require "rack/constants"
require "rack/urlmap"
require "rack/content_length"
require "rack/head"

# The language of config.ru, as far as the demonstration uses it.
class Builder
  def initialize(app = nil)
    @app = app
    @middlewares = []
    @places = {}
  end

  def use(middleware)
    @middlewares << middleware
  end

  def run(app)
    @app = app
  end

  # h2o chooses its interpreters itself.
  def mode(_mode); end

  def map(path, &block)
    @places[path] = block
  end

  def to_app
    app = @app
    unless @places.empty?
      apps = {}
      @places.each do |path, block|
        inner = Builder.new(app)
        inner.instance_eval(&block)
        apps[path] = inner.to_app
      end
      app = Rack::URLMap.new(apps)
    end
    @middlewares.reverse.each { |middleware| app = middleware.new(app) }
    app
  end
end

OUTERMOST = Builder.new

def use(middleware)
  OUTERMOST.use(middleware)
end

def run(app)
  OUTERMOST.run(app)
end

def mode(_mode); end

def map(path, &block)
  OUTERMOST.map(path, &block)
end

# The classes in a config.ru find its constants only if it is evaluated at the top level.
def application(path)
  eval(File.read(path), nil, path)
  OUTERMOST.to_app
end
