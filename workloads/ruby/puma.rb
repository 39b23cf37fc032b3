# frozen_string_literal: true

# Read before Puma writes its title over the environment that the process was started with.
require_relative "allocator"

environment "production"
threads 4, 4
bind "tcp://127.0.0.1:#{ENV.fetch('PORT', '8080')}"
rackup File.join(__dir__, "config.ru")
quiet
