# frozen_string_literal: true

require "foolsgold"
require_relative "../../../lib/foolsgold/adapter/memory"
