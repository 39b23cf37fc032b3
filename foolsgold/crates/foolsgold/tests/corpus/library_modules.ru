# Modules: functions, autoload by the modules around, what is there without require, queues.
#> GET /
module CorpusFunctions
  module_function

  def one = 1

  def two
    one + 1
  end

  public

  def three = 3
end
module CorpusNamedFunctions
  def four = 4
  def five = 5
  module_function :four
end
module CorpusAround
  autoload :Autoloaded, File.join(File.dirname(File.expand_path(__FILE__)), "files", "corpus_autoloaded.rb")
  class Inside
    def self.value = Autoloaded::VALUE
  end
end
def corpus_modules
  queue = Queue.new
  queue << 1
  queue.push(2)
  closed = Thread::Queue.new([3]).close
  empty = begin
    Queue.new.pop(true)
  rescue ThreadError => error
    error.message
  end
  refused = begin
    closed << 4
  rescue ClosedQueueError => error
    error.message
  end
  io = StringIO.new("a\nb")
  [
    CorpusFunctions.one, CorpusFunctions.two, CorpusFunctions.respond_to?(:three), CorpusNamedFunctions.four,
    CorpusNamedFunctions.respond_to?(:five), CorpusAround::Inside.value, queue.size, queue.pop, queue.shift, queue.empty?,
    closed.pop, closed.pop, closed.closed?, empty, refused, io.gets, SizedQueue.new(2).max, $0.class, __FILE__ == $0,
    Class.new(StandardError) { def message = "own" }.new.message
  ]
end
# When it is asked: servers have loaded StringIO by then.
run lambda { |_env| [200, { "content-type" => "text/plain" }, [corpus_modules.map(&:inspect).join("\n")]] }
