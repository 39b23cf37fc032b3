# Tempfile: in memory. The name exists for programs that print it; no file of that name is made.

require "stringio"

class Tempfile < StringIO
  def self.create(*args)
    file = new(*args)
    block_given? ? yield(file) : file
  end

  def self.open(*args)
    file = new(*args)
    return file unless block_given?
    begin
      yield file
    ensure
      file.close
    end
  end

  def initialize(_basename = "", _tmpdir = nil, **_options)
    super(+"")
  end

  def close(_unlink = false)
    super()
  end

  # A closed one can be opened again, with what was written.
  def open
    reopen(string)
  end
end
