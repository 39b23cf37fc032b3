# Rack::ShowExceptions: a page about an exception, for development: its class, message and source location, the
# backtrace and the request. Foolsgold's development mode uses it for exceptions that an application does not rescue.

require "rack/utils"

module Rack
  class ShowExceptions
    CONTEXT = 7

    def initialize(app)
      @app = app
    end

    def call(env)
      @app.call(env)
    rescue StandardError, ScriptError, LoadError, SyntaxError => error
      text = plain(error)
      env["rack.errors"].puts(text)
      env["rack.errors"].flush
      answer(env, error, text)
    end

    # [500, headers, body]: HTML if the client accepts it, otherwise text.
    def answer(env, error, text = plain(error))
      html = accepts_html?(env)
      body = html ? page(env, error) : text
      [500, { "content-type" => html ? "text/html; charset=utf-8" : "text/plain; charset=utf-8",
              "content-length" => body.bytesize.to_s }, [body]]
    end

    def plain(error)
      told = [error, *causes(error)].map do |one|
        ["#{one.class}: #{one.message}", *one.backtrace].join("\n\t") + "\n"
      end
      told.join("caused by ")
    end

    def pretty(env, error)
      page(env, error)
    end

    private

    def accepts_html?(env)
      # Clients that accept anything, such as command-line tools, get text.
      accepted = env["HTTP_ACCEPT"]
      !accepted.nil? && accepted.include?("html")
    end

    def h(text)
      Utils.escape_html(text)
    end

    def page(env, error)
      trace = error.backtrace || []
      <<~HTML
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>#{h(error.class)} at #{h(env["PATH_INFO"])}</title>
        <style>#{STYLE}</style>
        </head>
        <body>
        <header><p>#{h(env["REQUEST_METHOD"])} #{h(env["SCRIPT_NAME"])}#{h(env["PATH_INFO"])}</p>
        <h1>#{h(error.class)}</h1><pre class="message">#{h(error.message)}</pre></header>
        #{source(trace)}
        <h2>Backtrace</h2>
        #{calls(trace)}
        #{causes(error).map { |cause| "<h2>Caused by #{h(cause.class)}</h2><pre>#{h(cause.message)}</pre>#{calls(cause.backtrace || [])}" }.join("\n")}
        #{table("Environment", env)}
        <footer>This page is shown in development mode only.</footer>
        </body>
        </html>
      HTML
    end

    def calls(trace)
      "<ol class=\"trace\">#{trace.map { |line| "<li><code>#{h(line)}</code></li>" }.join("\n")}</ol>"
    end

    # The causes of the exception, the last one first.
    def causes(error)
      found = []
      found << error while (error = error.cause) && found.size < 16
      found
    end

    # The lines around the first backtrace location whose file can be read.
    def source(trace)
      place = trace.map { |line| place(line) }.compact.find { |file, number| number > 0 && ::File.file?(file) }
      return "" unless place
      file, number = place
      first = [number - CONTEXT, 1].max
      lines = ::File.read(file).split("\n", -1)[first - 1, CONTEXT * 2 + 1] || []
      rows = lines.each_with_index.map { |line, index|
        here = first + index == number ? " class=\"here\"" : ""
        "<li value=\"#{first + index}\"#{here}><code>#{h(line)}</code></li>"
      }
      "<h2>#{h(file)}:#{number}</h2><ol class=\"source\">#{rows.join}</ol>"
    rescue StandardError
      # A page about one error must not fail with another.
      ""
    end

    # "file:12:in method" as [file, 12]; file names may contain colons.
    def place(line)
      parts = line.split(":")
      index = parts.size - 1
      while index > 0
        return [parts[0, index].join(":"), parts[index].to_i] if !parts[index].empty? && parts[index].delete("0-9").empty?
        index -= 1
      end
      nil
    end

    def table(title, env)
      rows = env.keys.map(&:to_s).sort.map { |key|
        "<tr><th>#{h(key)}</th><td><code>#{h(shown(key, env[key]))}</code></td></tr>"
      }
      "<h2>#{title}</h2><table>#{rows.join("\n")}</table>"
    end

    def shown(key, value)
      return "(not shown)" if key.include?("AUTHORIZATION") || key.include?("secret")
      value.is_a?(String) ? value : value.inspect
    end

    STYLE = <<~CSS
      :root{color-scheme:light dark;--ink:#222;--dim:#666;--paper:#fff;--band:#f6f2e8;--mark:#ffe9a8;--rule:#ddd}
      @media(prefers-color-scheme:dark){:root{--ink:#ddd;--dim:#999;--paper:#191816;--band:#25231e;--mark:#574513;--rule:#3a372f}}
      body{margin:0 auto;max-width:70rem;padding:1.5rem;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
      header p,footer{color:var(--dim);margin:0}h1{margin:.2rem 0;font-size:1.6rem}h2{font-size:1rem;margin:2rem 0 .5rem}
      pre,code{font:13px/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
      .message{font-size:15px;border-left:4px solid #c0392b;background:var(--band);padding:.6rem 1rem;margin:.5rem 0}
      ol{background:var(--band);padding:.6rem .6rem .6rem 3.5rem;margin:0}.source li::marker{color:var(--dim)}
      .here{background:var(--mark)}table{border-collapse:collapse;width:100%}
      th,td{text-align:left;vertical-align:top;border-top:1px solid var(--rule);padding:.25rem .8rem .25rem 0}th{font-weight:500;white-space:nowrap}
    CSS
  end
end
