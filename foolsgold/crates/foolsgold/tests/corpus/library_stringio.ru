# StringIO: reading, writing and positions.
#> GET /
require "stringio"
def corpus_stringio
  io = StringIO.new(+"line one\nline two\r\n\nlast")
  seen = [io.gets, io.pos, io.read(4), io.getc, io.getbyte, io.eof?, io.gets(""), io.read, io.read, io.read(1), io.eof?]
  io.rewind
  seen << io.readlines << io.gets
  io.pos = 5
  seen << io.gets("t") << io.gets(nil) << io.lineno
  out = StringIO.new
  out << "abc" << 1
  out.print("d", "e")
  out.puts("f", ["g", ["h"]])
  out.printf("%03d", 7)
  out.write("x", "y")
  seen << out.string.dup << out.pos
  out.pos = 1
  out.write("ZZ")
  out.seek(0, 2)
  out.putc("!")
  out.truncate(12)
  seen << out.string << out.size
  appended = StringIO.new(+"ab", "a")
  appended.write("c")
  seen << appended.string
  seen << StringIO.new("é€x").each_char.to_a rescue seen << "each_char"
  closed = StringIO.new("x")
  closed.close
  seen << closed.closed?
  seen << begin
    closed.read
  rescue IOError => error
    error.message
  end
  chomped = StringIO.new("a\nb\n")
  seen << chomped.gets(chomp: true) << chomped.gets("\n", 1)
  seen
end
lines = corpus_stringio
run lambda { |_env| [200, { "content-type" => "text/plain; charset=utf-8" }, [lines.map(&:inspect).join("\n")]] }
