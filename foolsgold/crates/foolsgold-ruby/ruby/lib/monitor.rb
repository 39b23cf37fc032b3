# Monitor: a lock that its owner may take again. With a single thread it is always free.

class Monitor
  def initialize
    @count = 0
  end

  def synchronize
    enter
    begin
      yield
    ensure
      exit
    end
  end

  def enter
    @count += 1
    nil
  end

  def exit
    raise ThreadError, "current thread not owner" if @count == 0
    @count -= 1
    nil
  end

  def try_enter
    enter
    true
  end

  def mon_locked? = @count > 0
  def mon_owned? = @count > 0
  def mon_check_owner = (raise ThreadError, "current thread not owner" if @count == 0)
  def new_cond = Thread::ConditionVariable.new

  alias mon_enter enter
  alias mon_exit exit
  alias mon_try_enter try_enter
  alias mon_synchronize synchronize
end

# Mixed into a class or an object, this makes it a monitor.
module MonitorMixin
  def self.extend_object(object)
    super
    object.__send__(:mon_initialize)
  end

  def mon_enter = monitor.enter
  def mon_exit = monitor.exit
  def mon_try_enter = monitor.try_enter
  def new_cond = monitor.new_cond

  def mon_synchronize(&block)
    monitor.synchronize(&block)
  end

  alias synchronize mon_synchronize

  def mon_initialize
    @mon_data = Monitor.new
  end

  private

  # An including class need not call `super` in its initialize.
  def monitor
    @mon_data ||= Monitor.new
  end
end
