# OpenStruct, Forwardable, Singleton, SimpleDelegator, Mutex, Monitor and Comparable.
#> GET /
require "ostruct"
require "forwardable"
require "singleton"
require "delegate"
require "monitor"
class CorpusQueue
  extend Forwardable
  def_delegators :@items, :size, :<<, :first
  def_delegator :@items, :shift, :dequeue
  def initialize
    @items = []
  end
end
class CorpusOne
  include Singleton
  attr_accessor :value
end
class CorpusDecorated < SimpleDelegator
  def extra
    "extra #{size}"
  end
end
class CorpusVersion
  include Comparable
  attr_reader :number
  def initialize(number)
    @number = number
  end

  def <=>(other)
    number <=> other.number
  end
end
def corpus_objects
  struct = OpenStruct.new(a: 1)
  struct.b = 2
  struct[:c] = 3
  queue = CorpusQueue.new
  queue << 1 << 2
  CorpusOne.instance.value = 5
  mutex = Mutex.new
  monitor = Monitor.new
  recursive = begin
    mutex.synchronize { mutex.synchronize { 1 } }
  rescue ThreadError => error
    error.message
  end
  [
    struct.a, struct.b, struct.c, struct.missing, struct.to_h, struct.respond_to?(:b), struct.inspect, struct == OpenStruct.new(a: 1, b: 2, c: 3),
    queue.size, queue.first, queue.dequeue, queue.size,
    CorpusOne.instance.equal?(CorpusOne.instance), CorpusOne.instance.value,
    CorpusDecorated.new([1, 2]).extra, CorpusDecorated.new("text").upcase, CorpusDecorated.new([3]) == [3],
    mutex.synchronize { mutex.locked? }, mutex.locked?, recursive, monitor.synchronize { monitor.synchronize { "twice" } },
    Thread.current[:unset], (Thread.current[:set] = 4),
    CorpusVersion.new(5).clamp(CorpusVersion.new(1), CorpusVersion.new(3)).number, CorpusVersion.new(2).between?(CorpusVersion.new(1), CorpusVersion.new(3)),
    catch(:done) { 10.times { |i| throw :done, i if i == 3 } }
  ]
end
lines = corpus_objects
run lambda { |_env| [200, { "content-type" => "text/plain" }, [lines.map(&:inspect).join("\n")]] }
