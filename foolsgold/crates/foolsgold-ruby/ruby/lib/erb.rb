# ERB: templates, compiled to Ruby. Tags, trim modes ("-", "<>", ">", "%" and their combinations) and line numbers are
# the same as in CRuby's ERB.

class ERB
  # Turns a template into Ruby source that returns the text. Line numbers stay those of the template.
  class Compiler
    OPENING = ["<%%", "<%=", "<%#", "<%-", "<%"].freeze

    def initialize(trim_mode, eoutvar)
      mode = trim_mode.is_a?(Integer) ? { 1 => ">", 2 => "<>" }[trim_mode].to_s : trim_mode.to_s
      @percent = mode.include?("%")
      @explicit = mode.include?("-")
      @lines = mode.include?("<>") ? :whole : (mode.include?(">") ? :ends : nil)
      @out = eoutvar
    end

    def compile(template)
      @source = +"#{@out} = +''; "
      @text = +""
      @percent ? by_lines(template) : scan(template)
      flush
      @source << "; #{@out}"
    end

    private

    # Lines that start with "%" are Ruby; "%%" stands for "%".
    def by_lines(template)
      rest = +""
      template.each_line do |line|
        # Inside an open tag a percent sign has no meaning.
        inside = rest.rindex("<%") && (rest.rindex("%>") || -1) < rest.rindex("<%")
        if line.start_with?("%%") && !inside
          rest << line[1, line.size]
        elsif line.start_with?("%") && !inside
          scan(rest)
          flush
          rest = +""
          @source << line[1, line.size].chomp << "\n"
        else
          rest << line
        end
      end
      scan(rest)
    end

    def scan(template)
      at = 0
      size = template.bytesize
      while at < size
        open = template.byteindex("<%", at)
        if open.nil?
          literal(template.byteslice(at, size))
          return
        end
        literal(template.byteslice(at, open - at))
        at = tag(template, open)
      end
    end

    # Handles the tag at `open`; returns where the text continues.
    def tag(template, open)
      mark = OPENING.find { |one| template.byteslice(open, one.bytesize) == one }
      if mark == "<%%"
        @text << "<%"
        return open + 3
      end
      mark = "<%" if mark == "<%-" && !@explicit
      start = open + mark.bytesize
      stop = closing(template, start)
      code = template.byteslice(start, stop - start)
      trim_after = @explicit && code.end_with?("-")
      code = code[0, code.size - 1] if trim_after
      drop_indent if mark == "<%-"
      whole = @lines == :whole && line_start?(template, open)
      flush
      statement(mark, code.split("%%>", -1).join("%>"))
      following(template, stop + 2, trim_after, whole)
    end

    # The end of the tag: "%>", but not "%%>".
    def closing(template, from)
      stop = template.byteindex("%>", from)
      while stop && stop > from && template.getbyte(stop - 1) == 37
        stop = template.byteindex("%>", stop + 2)
      end
      # Without an end tag the rest is code, as in CRuby.
      stop || template.bytesize
    end

    def following(template, at, trim_after, whole)
      newline = if template.getbyte(at) == 10
        1
      elsif template.getbyte(at) == 13 && template.getbyte(at + 1) == 10
        2
      else
        0
      end
      if newline > 0 && (trim_after || @lines == :ends || whole)
        # The line end is not part of the text, but counts in the source.
        @source << "\n"
        return at + newline
      end
      at
    end

    def statement(mark, code)
      case mark
      when "<%=" then @source << "#{@out}.<<((" << code << ").to_s); "
      when "<%#" then @source << "\n" * code.count("\n")
      # A comment at the end of a statement ends with its line.
      else @source << code << (code.include?("#") ? "\n" : "; ")
      end
    end

    # "<%-" removes the blanks before it.
    def drop_indent
      stop = @text.rindex("\n")
      line = stop ? @text[stop + 1, @text.size] : @text
      return unless line.delete(" \t").empty?
      @text = stop ? +@text[0, stop + 1] : +""
    end

    def line_start?(template, at)
      at == 0 || template.getbyte(at - 1) == 10
    end

    def literal(text)
      @text << text
    end

    # Text becomes a single-quoted literal that keeps its line ends, so the lines of the source stay right.
    def flush
      return if @text.empty?
      quoted = @text.split("\\", -1).join("\\\\").split("'", -1).join("\\'")
      # Ruby drops the carriage returns of a source.
      quoted = quoted.split("\r", -1).join("' \"\\r\" '") if quoted.include?("\r")
      @source << "#{@out}.<<('" << quoted << "'); "
      @text = +""
    end
  end

  module Util
    class << self
      def html_escape(text) = FoolsGold::Native.escape_html(text)
      def h(text) = FoolsGold::Native.escape_html(text)
      def url_encode(text) = FoolsGold::Native.escape_component(text)
      def u(text) = FoolsGold::Native.escape_component(text)
    end

    def html_escape(text) = FoolsGold::Native.escape_html(text)
    def h(text) = FoolsGold::Native.escape_html(text)
    def url_encode(text) = FoolsGold::Native.escape_component(text)
    def u(text) = FoolsGold::Native.escape_component(text)
  end

  attr_reader :src
  attr_accessor :filename, :lineno

  def self.version = "4.0.0"

  def initialize(template, safe_level = nil, legacy_trim = nil, legacy_out = "_erbout", trim_mode: nil, eoutvar: "_erbout")
    @src = Compiler.new(trim_mode || legacy_trim, legacy_out == "_erbout" ? eoutvar : legacy_out).compile(template)
    @filename = nil
    @lineno = 1
  end

  def location=(place)
    @filename, @lineno = place
  end

  def result(binding = nil)
    name = @filename || "(erb)"
    binding ? eval(@src, binding, name, @lineno) : TOP.call(@src, name, @lineno)
  end

  def result_with_hash(hash)
    # Passed as arguments of a lambda: an mruby binding cannot take new variables.
    names = hash.keys
    render = TOP.call("lambda { |#{names.join(", ")}| #{@src}\n}", @filename || "(erb)", @lineno)
    render.call(*hash.values)
  end

  def run(binding = nil)
    print result(binding)
  end

  # Defines a method in a class or module, as "name(arguments)". The template is compiled once.
  def def_method(owner, signature, filename = nil)
    raise ArgumentError, "def_method needs a class or module with a name" if owner.name.nil?
    kind = owner.is_a?(Class) ? "class" : "module"
    # On one line, so that the template's first line is line one.
    TOP.call("#{kind} ::#{owner.name}; def #{signature}; #{@src}\nend; end", filename || @filename || "(erb)", @lineno)
    nil
  end

  def def_module(signature = "erb")
    render_in(Module.new, signature)
  end

  def def_class(superclass = Object, signature = "result")
    render_in(Class.new(superclass), signature)
  end

  private

  # For an anonymous class: a method by `define_method`, which cannot take a block.
  def render_in(owner, signature)
    name, arguments = signature.delete(")").split("(", 2)
    body = TOP.call("lambda { |#{arguments}| #{@src}\n}", @filename || "(erb)", @lineno)
    owner.define_method(name.to_sym, &body)
    owner
  end
end

# A block from here has the main object as self and no module around it. The names are odd because mruby shows them to
# the methods that the text defines.
ERB::TOP = lambda { |erb__source, erb__file, erb__line| eval(erb__source, nil, erb__file, erb__line) }
