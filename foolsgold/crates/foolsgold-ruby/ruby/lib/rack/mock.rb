# The file name that Rack 2 uses for MockRequest and MockResponse.

require "rack/mock_request"
