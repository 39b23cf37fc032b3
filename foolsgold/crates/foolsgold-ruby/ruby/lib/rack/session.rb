# Rack::Session: what an application stores about a client between requests. The cookie holds all of it; there is no
# store in the server, because an interpreter forgets what a request left in it.

module Rack
  module Session
    LAZY = {
      Abstract: "rack/session/abstract/id", Cookie: "rack/session/cookie", SessionId: "rack/session/abstract/id"
    }.freeze

    def self.const_missing(name)
      feature = LAZY[name]
      unless feature
        return super unless name == :Pool || name == :Memcache
        raise NameError, "Rack::Session::#{name} is not available: use Rack::Session::Cookie"
      end
      require feature
      const_get(name)
    end
  end
end
