# What Ruby programs take for granted and mruby does not have. Loaded before anything else; nothing here replaces an
# existing method.

require "foolsgold/core/errors"
require "foolsgold/core/kernel"
require "foolsgold/core/module"
require "foolsgold/core/objects"
require "foolsgold/core/repairs"
require "foolsgold/core/thread"
require "foolsgold/core/process"
require "foolsgold/core/file"
require "foolsgold/core/output"
