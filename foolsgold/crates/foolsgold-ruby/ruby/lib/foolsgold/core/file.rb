# File names, and reading files. Applications see the folder on disk or the files packed into the executable, and cannot
# write.

class IO; end unless Object.const_defined?(:IO)
class File < IO; end unless Object.const_defined?(:File)

class File
  SEPARATOR = "/"
  Separator = SEPARATOR
  PATH_SEPARATOR = ":"
  ALT_SEPARATOR = nil

  class << self
    def read(path, *_args, **_options)
      path = name_of(path)
      text = FoolsGold::Native.read_file(path)
      raise(directory?(path) ? Errno::EISDIR : Errno::ENOENT, "#{path}") if text.nil?
      text
    end

    def binread(path, *_args) = read(path)

    def readlines(path, chomp: false, **_options)
      lines = read(path).lines
      chomp ? lines.map(&:chomp) : lines
    end

    def foreach(path, &block)
      readlines(path).each(&block)
    end

    # For reading only: a StringIO with the file's content.
    def open(path, mode = "r", *_args, **_options)
      raise Errno::EROFS, name_of(path) unless mode.to_s.start_with?("r") && !mode.to_s.include?("+")
      require "stringio"
      file = StringIO.new(read(path).freeze)
      return file unless block_given?
      begin
        yield file
      ensure
        file.close unless file.closed?
      end
    end

    def exist?(path) = !stat_of(path).nil?
    def file?(path) = stat_of(path) ? stat_of(path)[0] == :file : false
    def directory?(path) = stat_of(path) ? stat_of(path)[0] == :directory : false
    def readable?(path) = exist?(path)
    def writable?(_path) = false
    def symlink?(_path) = false
    def size(path) = known(path)[1]
    def size?(path) = (stat = stat_of(path)) && stat[1] > 0 ? stat[1] : nil
    def mtime(path) = Time.at(known(path)[2])

    def zero?(path)
      stat = stat_of(path)
      !stat.nil? && stat[1] == 0
    end

    alias empty? zero?

    def basename(path, suffix = nil)
      path = bare(name_of(path))
      return path if path == "/"
      name = path[(path.rindex("/") || -1) + 1, path.size]
      if suffix == ".*"
        dot = name.rindex(".")
        return dot && dot > 0 ? name[0, dot] : name
      end
      suffix && name != suffix && name.end_with?(suffix) ? name[0, name.size - suffix.size] : name
    end

    def dirname(path)
      path = bare(name_of(path))
      return path if path == "/"
      slash = path.rindex("/")
      return "." unless slash
      folder = bare(path[0, slash])
      # Several slashes at the start count as one.
      folder = folder[1, folder.size] while folder.start_with?("//")
      folder.empty? ? "/" : folder
    end

    def extname(path)
      name = basename(path)
      dot = name.rindex(".")
      dot && dot > 0 ? name[dot, name.size] : ""
    end

    def split(path) = [dirname(path), basename(path)]

    def join(*parts)
      parts.flatten.map { |part| name_of(part) }.inject { |joined, part|
        if joined.end_with?("/")
          part = part[1, part.size] while part.start_with?("/")
          joined + part
        else
          part.start_with?("/") ? joined + part : "#{joined}/#{part}"
        end
      } || ""
    end

    def absolute_path?(path) = name_of(path).start_with?("/")

    # Removes ".", ".." and doubled slashes. Relative names are resolved against the application's folder.
    def expand_path(path, folder = nil)
      path = name_of(path)
      unless path.start_with?("/")
        folder = folder.nil? ? Dir.pwd : expand_path(folder)
        path = "#{folder}/#{path}"
      end
      parts = []
      path.split("/").each do |part|
        next if part.empty? || part == "."
        part == ".." ? parts.pop : parts << part
      end
      "/#{parts.join("/")}"
    end

    alias absolute_path expand_path

    def realpath(path, folder = nil)
      full = expand_path(path, folder)
      raise Errno::ENOENT, full unless exist?(full)
      full
    end

    # Path segments must match one by one; `*` and `?` do not cross a slash.
    def fnmatch?(pattern, path, _flags = 0)
      glob(pattern, 0, path, 0)
    end

    alias fnmatch fnmatch?

    private

    def name_of(path)
      path = path.to_path if path.respond_to?(:to_path)
      raise TypeError, "no implicit conversion of #{path.class} into String" unless path.is_a?(String)
      path
    end

    # [:file or :directory, bytes, seconds since 1970], or nil.
    def stat_of(path)
      FoolsGold::Native.stat_file(name_of(path))
    end

    def known(path)
      stat_of(path) || raise(Errno::ENOENT, name_of(path))
    end

    # Without trailing slashes.
    def bare(path)
      path = path.chop while path.size > 1 && path.end_with?("/")
      path
    end

    def glob(pattern, at, text, from)
      while at < pattern.size
        case pattern[at]
        when "*"
          (from..text.size).each do |to|
            return true if glob(pattern, at + 1, text, to)
            break if text[to] == "/"
          end
          return false
        when "?"
          return false if from >= text.size || text[from] == "/"
        else
          return false unless text[from] == pattern[at]
        end
        at += 1
        from += 1
      end
      from == text.size
    end
  end
end

class Dir
  class << self
    # The application's folder.
    def pwd = FoolsGold::Native.folder
    def getwd = pwd
    def exist?(path) = File.directory?(path)

    def children(path)
      FoolsGold::Native.list_folder(path) || raise(Errno::ENOENT, path)
    end

    def entries(path) = [".", ".."] + children(path)
    def each_child(path, &block) = children(path).each(&block)
  end
end
