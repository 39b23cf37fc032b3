# Metrics that live outside the interpreter: interpreters of every mode see and change the same ones, and restoring a
# heap does not affect them. `/metrics` shows them in Prometheus's format.

module FoolsGold
  # Common to the three kinds: a name, and labels that are written into it.
  class Metric
    attr_reader :name

    def initialize(name)
      @name = name
    end
  end

  # A value that only goes up.
  class Counter < Metric
    def get
      Native.counter_get(@name)
    end

    def inc(by = 1)
      raise ArgumentError, "a counter only goes up" if by < 0
      Native.counter_add(@name, by)
    end
  end

  # A value that goes up and down.
  class Gauge < Metric
    def get
      Native.gauge_get(@name)
    end

    def set(value)
      Native.gauge_set(@name, value)
    end

    def inc(by = 1)
      Native.gauge_add(@name, by)
    end

    def dec(by = 1)
      Native.gauge_add(@name, -by)
    end
  end

  # Counts values in ranges, for example times in seconds or sizes.
  class Histogram < Metric
    def observe(value)
      Native.histogram_observe(@name, value)
    end

    # Observes how long the block takes, and returns its result.
    def time
      start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      yield
    ensure
      observe(Process.clock_gettime(Process::CLOCK_MONOTONIC) - start)
    end
  end

  class Metrics
    TOTAL_REQUESTS = "foolsgold_total_requests"

    attr_reader :total_requests

    def initialize
      @total_requests = Counter.new(TOTAL_REQUESTS)
      @known = {}
    end

    def counter(name, labels = nil)
      find(Counter, name, labels)
    end

    def gauge(name, labels = nil)
      find(Gauge, name, labels)
    end

    def histogram(name, labels = nil)
      find(Histogram, name, labels)
    end

    private

    def find(kind, name, labels)
      full = labels ? Metrics.labelled(name, labels) : name.to_s
      metric = @known[full]
      if metric.nil?
        Metrics.check(name.to_s)
        metric = @known[full] = kind.new(full.freeze)
      end
      raise ArgumentError, "#{name} is a #{metric.class}, not a #{kind}" unless metric.is_a?(kind)
      metric
    end

    class << self
      # Prometheus's rule for metric names.
      def check(name)
        good = !name.empty? && !(48..57).include?(name.getbyte(0))
        name.each_byte do |byte|
          next if (48..57).include?(byte) || (65..90).include?(byte) || (97..122).include?(byte) || byte == 95 || byte == 58
          good = false
        end
        raise ArgumentError, "invalid metric name #{name.inspect}: expected letters, digits, _ and :" unless good
      end

      def labelled(name, labels)
        pairs = labels.map { |label, value|
          check(label.to_s)
          text = value.to_s.split("\\", -1).join("\\\\").split('"', -1).join("\\\"").split("\n", -1).join("\\n")
          "#{label}=\"#{text}\""
        }
        "#{name}{#{pairs.join(",")}}"
      end
    end
  end

  METRICS = Metrics.new
end
