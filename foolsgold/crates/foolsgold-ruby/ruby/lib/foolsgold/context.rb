# What foolsgold knows about a request besides Rack's environment.

module FoolsGold
  # Its key in the environment.
  CONTEXT = "foolsgold.context"
  # The mode of the interpreter: "shared-nothing", "prefork" or "fresh"; set by the server.
  MODE = "foolsgold.mode"

  class RequestContext
    def metrics
      METRICS
    end

    # A UUID from the operating system's randomness, created when it is first requested.
    def request_id
      @request_id ||= Native.uuid
    end
  end
end
