#!/usr/bin/env ruby
# frozen_string_literal: true

# An allocation workload that resembles a Ruby service, and what is left in memory when its burst is over.
#
# The pattern. BENCH_THREADS threads serve requests. Each of BENCH_ITERS iterations of a round (over all threads) makes
# one object whose body is in malloc's memory: three quarters are strings, the others arrays and small hashes. Sizes go
# from 16 B to 64 kB, small ones most: half below 128 B, a tenth above 13 kB, as attributes, fragments and bodies are.
# Lifetimes are mixed, since that is what makes memory grow: most objects live as long as a request (each thread holds
# its last 512), one in eight goes to a cache of 4,000 entries for each thread, where it displaces another at random, and
# lives for a part of a round or for several. Every thousand iterations a thread lets another one run, as it would when
# it waits for its database. BENCH_ROUNDS rounds follow one another with new threads and the same caches.
#
# Then everything is dropped and collected, and after BENCH_SLEEP_AFTER seconds the resident memory is read. Nothing of
# the workload lives by then: what is above the start is what the allocator (and Ruby's own heap, some 10 MB) did not
# give back. The order of sizes and lifetimes is the same in every run (seeded). No setting of glibc's is turned against
# it, nor is memory kept alive at chosen places to pin its heaps: it keeps what lies between survivors of other rounds,
# in as many arenas as there are threads. The same happens to a service whose traffic falls at night.
#
# Prints one JSON object: time_s (the rounds alone), rss_start_mb, rss_live_mb (before the drop), rss_end_mb,
# rss_delta_mb (end less start), rss_peak_mb and what it ran on.

require "json"
require_relative "allocator"

def number(name, default, least, kind)
  value = kind == Integer ? Integer(ENV.fetch(name, default), exception: false) : Float(ENV.fetch(name, default), exception: false)
  return value if value && value >= least

  warn "bench_alloc.rb: #{name}=#{ENV[name]} must be #{kind == Integer ? 'a whole number' : 'a number'} of at least #{least}"
  exit 2
end

THREADS = number("BENCH_THREADS", 4, 1, Integer)
ITERS = number("BENCH_ITERS", 300_000, 1, Integer)
ROUNDS = number("BENCH_ROUNDS", 10, 1, Integer)
SLEEP_BEFORE = number("BENCH_SLEEP_BEFORE", 0.5, 0, Float)
SLEEP_AFTER = number("BENCH_SLEEP_AFTER", 2, 0, Float)

LAST = 512
CACHE = 4_000
CACHED_EVERY = 8
YIELD_EVERY = 1_000
SMALLEST = 16
RANGE = 4_096
SIZES = 8_192

# Sizes of bodies in bytes: 16 B times 4096 to the power of a squared random number.
def sizes(random)
  Array.new(SIZES) { (SMALLEST * (RANGE**(random.rand**2))).to_i }
end

# A hash too large for Ruby to keep within its own slot.
def table(entries, value)
  hash = {}
  entries.times { |key| hash[key] = value }
  hash
end

def make(turn, size)
  case turn % 8
  when 0 then Array.new(size / 8 + 4, turn)
  when 1 then table(9 + size % 8, turn)
  else "x" * size
  end
end

# The part of one thread in one round.
def serve(random, iterations, cache)
  sizes = sizes(random)
  last = Array.new(LAST)
  iterations.times do |turn|
    made = make(turn, sizes[turn % SIZES])
    last[turn % LAST] = made
    cache[random.rand(CACHE)] = made if (turn % CACHED_EVERY).zero?
    Thread.pass if (turn % YIELD_EVERY).zero?
  end
end

def rounds(caches)
  ROUNDS.times do |round|
    threads = caches.each_with_index.map do |cache, index|
      share = ITERS / THREADS + (index < ITERS % THREADS ? 1 : 0)
      Thread.new { serve(Random.new(round * THREADS + index), share, cache) }
    end
    threads.each(&:join)
  end
end

def rss_mb
  File.read("/proc/self/smaps_rollup")[/^Rss:\s+(\d+)/, 1].to_i / 1024.0
end

def peak_mb
  File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1].to_i / 1024.0
end

def seconds
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

GC.start
# Time for a look from outside at the memory after start-up.
sleep SLEEP_BEFORE
rss_start = rss_mb
caches = Array.new(THREADS) { Array.new(CACHE) }
start = seconds
rounds(caches)
time = seconds - start
rss_live = rss_mb
caches.each(&:clear)
# What the first collection finalises the next ones free.
3.times { GC.start }
sleep SLEEP_AFTER
rss_end = rss_mb

puts JSON.generate(
  time_s: time.round(3), rss_delta_mb: (rss_end - rss_start).round(2), rss_start_mb: rss_start.round(2),
  rss_live_mb: rss_live.round(2), rss_end_mb: rss_end.round(2), rss_peak_mb: peak_mb.round(2),
  allocator: Allocator.description, malloc_conf: Allocator::STARTED_WITH["MALLOC_CONF"], ruby: RUBY_VERSION,
  threads: THREADS, iters: ITERS, rounds: ROUNDS, sleep_after_s: SLEEP_AFTER, collections: GC.count
)
