module CorpusAround
  module Autoloaded
    VALUE = "loaded"
  end
end
