# Rack for foolsgold: the names that all parts share are loaded at once, each part when its constant is first used.
#
# A part that the application names while it is loaded belongs to the snapshot. One that is first named in a request is
# discarded with the request and loaded again by the next one that names it, if nothing is shared. Modules of mruby have
# no autoload of their own, so `const_missing` requires the file.

require "rack/constants"

module Rack
  # Constant => the file that defines it.
  LAZY = {
    BodyProxy: "rack/body_proxy", Builder: "rack/builder", Cascade: "rack/cascade",
    CommonLogger: "rack/common_logger", ConditionalGet: "rack/conditional_get", Config: "rack/config",
    ContentLength: "rack/content_length", ContentType: "rack/content_type", ETag: "rack/etag",
    File: "rack/files", Files: "rack/files", ForwardRequest: "rack/cascade", Head: "rack/head",
    Headers: "rack/headers", Lint: "rack/lint", Lock: "rack/lock", Logger: "rack/logger",
    MediaType: "rack/media_type", MethodOverride: "rack/method_override", Mime: "rack/mime",
    MockRequest: "rack/mock_request", MockResponse: "rack/mock_response", Multipart: "rack/multipart",
    NullLogger: "rack/null_logger", QueryParser: "rack/query_parser", Request: "rack/request",
    Response: "rack/response", RewindableInput: "rack/rewindable_input", Runtime: "rack/runtime",
    Session: "rack/session", ShowExceptions: "rack/show_exceptions", Static: "rack/static",
    TempfileReaper: "rack/tempfile_reaper", URLMap: "rack/urlmap", Utils: "rack/utils"
  }

  def self.const_missing(name)
    feature = LAZY[name]
    return super unless feature
    require feature
    raise NameError, "#{feature} does not define Rack::#{name}" unless const_defined?(name)
    const_get(name)
  end
end
