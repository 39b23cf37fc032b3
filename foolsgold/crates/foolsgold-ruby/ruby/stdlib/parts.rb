# Parts of the library that are loaded when their constants are first missed.

class Module
  alias __const_missing const_missing

  def const_missing(name)
    FoolsGold::Native.load_constant(name) ? Object.const_get(name) : __const_missing(name)
  end
end
