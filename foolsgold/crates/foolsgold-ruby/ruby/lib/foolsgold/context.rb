# What foolsgold knows of a request beside Rack's environment.

module FoolsGold
  # The key of the environment.
  CONTEXT = "foolsgold.context"
  # Which kind of interpreter answers: "shared-nothing", "prefork" or "fresh"; the server sets it.
  MODE = "foolsgold.mode"

  class RequestContext
    def metrics
      METRICS
    end

    # A UUID from the operating system's randomness, made when it is first asked for.
    def request_id
      @request_id ||= Native.uuid
    end
  end
end
