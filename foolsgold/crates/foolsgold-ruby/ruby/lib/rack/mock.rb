# Rack 2's name of the file of MockRequest and MockResponse.

require "rack/mock_request"
