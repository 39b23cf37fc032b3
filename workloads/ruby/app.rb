# frozen_string_literal: true

require "json"
require "openssl"
require "puma/const"
require "rack"
require "time"
require_relative "allocator"

# A small service that reports what it runs on.
#
#   /         what this process is and which allocator serves it
#   /alloc    a page built as a service builds one: records, strings, JSON; a bounded cache keeps some of them
#   /memory   resident memory and the collector's figures
#   /healthz  ok
class App
  JSON_TYPE = { "content-type" => "application/json" }.freeze
  TEXT_TYPE = { "content-type" => "text/plain" }.freeze
  # Pages that are kept, as a fragment cache would; the oldest goes first.
  KEPT = 2_000
  MOST_ROWS = 10_000

  def initialize
    @kept = {}
    @lock = Mutex.new
  end

  def call(env)
    case env["PATH_INFO"]
    when "/" then json(about)
    when "/alloc" then page(Rack::Utils.parse_query(env["QUERY_STRING"]))
    when "/memory" then json(memory)
    when "/healthz" then [200, TEXT_TYPE.dup, ["ok\n"]]
    else [404, TEXT_TYPE.dup, ["not found\n"]]
    end
  end

  private

  def json(document)
    [200, JSON_TYPE.dup, [JSON.generate(document)]]
  end

  def about
    {
      pid: Process.pid, ruby_version: RUBY_VERSION, ruby_platform: RUBY_PLATFORM,
      puma: Puma::Const::PUMA_VERSION, rack: Rack.release,
      allocator: Allocator.description, allocator_object: Allocator.in_effect[:object],
      allocator_settings: Allocator.settings,
      ld_preload: Allocator::STARTED_WITH["LD_PRELOAD"], malloc_conf: Allocator::STARTED_WITH["MALLOC_CONF"],
      glibc_tunables: Allocator::STARTED_WITH["GLIBC_TUNABLES"],
      time: Time.now.utc.iso8601, openssl: { library: OpenSSL::OPENSSL_LIBRARY_VERSION, fips: OpenSSL.fips_mode }
    }
  end

  def page(query)
    rows = query.fetch("rows", "50").to_i.clamp(1, MOST_ROWS)
    records = Array.new(rows) { |id| record(id) }
    body = JSON.generate(records)
    keep(rand(KEPT * 10), body)
    [200, JSON_TYPE.dup, [body]]
  end

  def record(id)
    { id: id, name: "customer #{rand(100_000)}", tags: Array.new(4) { |tag| "tag-#{tag}-#{id}" },
      note: "n" * (16 * 2**rand(9)) }
  end

  def keep(key, body)
    @lock.synchronize do
      @kept[key] = body
      @kept.shift while @kept.size > KEPT
    end
  end

  def memory
    rollup = File.read("/proc/self/smaps_rollup")
    { rss_mb: (rollup[/^Rss:\s+(\d+)/, 1].to_i / 1024.0).round(2), kept: @kept.size,
      gc: GC.stat.slice(:count, :heap_allocated_pages, :malloc_increase_bytes) }
  end
end
