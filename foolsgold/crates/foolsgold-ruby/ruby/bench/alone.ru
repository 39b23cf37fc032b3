# The page alone under foolsgold, as h2o has it: see alone.rb.

DEMONSTRATION = "/foolsgold/demo"
require_relative "alone"

mode :prefork
run ALONE
