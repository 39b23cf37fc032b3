# Tempfile: in memory. The name exists for programs that print it; no file with that name is created.

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

  # A closed one can be reopened, with its content.
  def open
    reopen(string)
  end
end
