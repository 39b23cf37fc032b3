# Templates whose only tags are <%= %>, compiled to methods that are one interpolated string.

class ERB
  def initialize(text, _options = {})
    @text = text
  end

  def def_method(owner, signature, _file = nil)
    body = @text.gsub("<%= ", "\#{").gsub(" %>", "}")
    # This mruby cannot evaluate text inside a class.
    eval("class ::#{owner}\n def #{signature}\n  <<TEXT\n#{body}\nTEXT\n end\nend")
  end
end
