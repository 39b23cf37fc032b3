# An interpreter has one thread. Classes that protect shared state exist and never have to wait; methods that would
# start a second thread raise.

class Thread
  @main = nil

  class << self
    def current
      @main ||= allocate
    end

    def main = current
    def list = [current]
    def pass = nil

    def new(*_args)
      raise NotImplementedError, "threads are not available: an interpreter has one; the server runs several interpreters"
    end

    def start(*args) = new(*args)
    def fork(*args) = new(*args)

    def handle_interrupt(*_args)
      yield
    end
  end

  # Thread-local and fiber-local values are the same here.
  def [](name)
    locals[name.to_sym]
  end

  def []=(name, value)
    locals[name.to_sym] = value
  end

  def key?(name)
    locals.key?(name.to_sym)
  end

  def fetch(name, *default, &block)
    locals.fetch(name.to_sym, *default, &block)
  end

  def keys = locals.keys
  def thread_variable_get(name) = self[name]
  def thread_variable_set(name, value) = self[name] = value
  def thread_variable?(name) = key?(name)
  def alive? = true
  def name = "main"
  def status = "run"
  def priority = 0
  attr_accessor :report_on_exception, :abort_on_exception

  private

  def locals
    @locals ||= {}
  end

  # Owned or not; locking it twice is an error, as in CRuby.
  class Mutex
    def initialize
      @locked = false
    end

    def synchronize
      lock
      begin
        yield
      ensure
        unlock
      end
    end

    def lock
      raise ThreadError, "deadlock; recursive locking" if @locked
      @locked = true
      self
    end

    def try_lock
      return false if @locked
      @locked = true
    end

    def unlock
      raise ThreadError, "Attempt to unlock a mutex which is not locked" unless @locked
      @locked = false
      self
    end

    def locked? = @locked
    def owned? = @locked
  end

  # No other thread could signal it, so waiting would last for ever.
  class ConditionVariable
    def wait(_mutex, timeout = nil)
      raise ThreadError, "no other thread could end this wait" unless timeout
      Kernel.sleep(timeout)
      self
    end

    def signal = self
    def broadcast = self
  end
end

class ClosedQueueError < StopIteration; end

class Thread
  # Items come out in the order they went in. No other thread could fill an empty queue, so waiting for that is an
  # error.
  class Queue
    def initialize(items = [])
      @items = items.to_a.dup
      @closed = false
    end

    def push(item)
      raise ClosedQueueError, "queue closed" if @closed
      @items.push(item)
      self
    end

    alias << push
    alias enq push

    def pop(non_block = false)
      return @items.shift unless @items.empty?
      raise ThreadError, "queue empty" if non_block
      return nil if @closed
      raise ThreadError, "no other thread could fill this empty queue: an interpreter has one"
    end

    alias shift pop
    alias deq pop

    def close
      @closed = true
      self
    end

    def clear
      @items.clear
      self
    end

    def closed? = @closed
    def empty? = @items.empty?
    def size = @items.size
    def length = @items.size
    def num_waiting = 0
  end

  # No other thread could empty a full queue.
  class SizedQueue < Queue
    attr_reader :max

    def initialize(max)
      raise ArgumentError, "queue size must be positive" unless max > 0
      super()
      @max = max
    end

    def push(item, non_block = false)
      return super(item) if size < @max
      raise ThreadError, "queue full" if non_block
      raise ThreadError, "no other thread could empty this full queue: an interpreter has one"
    end

    alias << push
    alias enq push
  end
end

Queue = Thread::Queue unless Object.const_defined?(:Queue)
SizedQueue = Thread::SizedQueue unless Object.const_defined?(:SizedQueue)
Mutex = Thread::Mutex unless Object.const_defined?(:Mutex)
ConditionVariable = Thread::ConditionVariable unless Object.const_defined?(:ConditionVariable)
