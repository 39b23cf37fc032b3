# Rack::Mime: file types by extension, for files that web applications send.

module Rack
  module Mime
    MIME_TYPES = {
      ".atom" => "application/atom+xml", ".avif" => "image/avif", ".bin" => "application/octet-stream",
      ".bmp" => "image/bmp", ".bz2" => "application/x-bzip2", ".css" => "text/css", ".csv" => "text/csv",
      ".doc" => "application/msword", ".eot" => "application/vnd.ms-fontobject", ".epub" => "application/epub+zip",
      ".flac" => "audio/flac", ".gif" => "image/gif", ".gz" => "application/x-gzip", ".htm" => "text/html",
      ".html" => "text/html", ".ico" => "image/vnd.microsoft.icon", ".ics" => "text/calendar", ".jpeg" => "image/jpeg",
      ".jpg" => "image/jpeg", ".js" => "text/javascript", ".json" => "application/json", ".m4a" => "audio/mp4a-latm",
      ".m4v" => "video/mp4", ".map" => "application/json", ".md" => "text/markdown", ".mjs" => "text/javascript",
      ".mov" => "video/quicktime", ".mp3" => "audio/mpeg", ".mp4" => "video/mp4", ".ogg" => "application/ogg",
      ".ogv" => "video/ogg", ".otf" => "font/otf", ".pdf" => "application/pdf", ".png" => "image/png",
      ".ps" => "application/postscript", ".rb" => "text/x-script.ruby", ".rss" => "application/rss+xml",
      ".rtf" => "application/rtf", ".svg" => "image/svg+xml", ".tar" => "application/x-tar", ".tif" => "image/tiff",
      ".tiff" => "image/tiff", ".ttf" => "font/ttf", ".txt" => "text/plain", ".wasm" => "application/wasm",
      ".wav" => "audio/x-wav", ".webm" => "video/webm", ".webmanifest" => "application/manifest+json",
      ".webp" => "image/webp", ".woff" => "font/woff", ".woff2" => "font/woff2", ".xhtml" => "application/xhtml+xml",
      ".xls" => "application/vnd.ms-excel", ".xml" => "application/xml", ".yaml" => "text/yaml", ".yml" => "text/yaml",
      ".zip" => "application/zip"
    }

    class << self
      def mime_type(extension, fallback = "application/octet-stream")
        MIME_TYPES.fetch(extension.to_s.downcase, fallback)
      end

      # "text/*" matches "text/html".
      def match?(value, matcher)
        type, subtype = value.split("/", 2)
        wanted, exact = matcher.split("/", 2)
        (wanted == "*" || wanted == type) && (exact == "*" || exact == subtype)
      end
    end
  end
end
