//! Costs of an interpreter, a call and a restore: `cargo run --release -p mruby --example cost`.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use mruby::{Field, Interpreter, Kept, Limits, Method, Sym};
use std::time::{Duration, Instant};

/// A small Rack application: a few middleware layers, and a page of one kilobyte with two values in it.
const APPLICATION: &str = r##"
    module Mini
      class Response
        attr_accessor :status, :headers
        def initialize(body = [], status = 200, headers = {}) = (@body, @status, @headers = body, status, headers)
        def write(text) = @body << text
        def finish = [@status, @headers, @body]
      end
      class Request
        def initialize(env) = @env = env
        def path = @env["SCRIPT_NAME"].to_s + @env["PATH_INFO"]
        def params
          @env["QUERY_STRING"].split("&").each_with_object({}) { |pair, all| k, v = pair.split("=", 2); all[k] = v }
        end
      end
      class ContentLength
        def initialize(app) = @app = app
        def call(env)
          status, headers, body = @app.call(env)
          headers["content-length"] ||= body.inject(0) { |size, chunk| size + chunk.bytesize }.to_s
          [status, headers, body]
        end
      end
      class Head
        def initialize(app) = @app = app
        def call(env)
          answer = @app.call(env)
          answer[2] = [] if env["REQUEST_METHOD"] == "HEAD"
          answer
        end
      end
      class Page
        def initialize = @served = 0
        def call(env)
          request = Request.new(env)
          @served += 1
          response = Response.new([], 200, { "content-type" => "text/html; charset=utf-8" })
          response.write(<<~PAGE)
            <!DOCTYPE html><html><head><title>cost</title></head><body>
            <p>This page was asked for as #{request.path} with #{request.params.size} parameters.</p>
            <p>It was served #{@served} times.</p>#{FILLER}
            </body></html>
          PAGE
          response.finish
        end
      end
      FILLER = "<p>words</p>" * 70
    end
    $app = Mini::ContentLength.new(Mini::Head.new(Mini::Page.new))
    $template = { "rack.url_scheme" => "http", "SCRIPT_NAME" => "", "SERVER_PORT" => "80", "rack.input" => nil }
    $keys = %w[REQUEST_METHOD PATH_INFO QUERY_STRING SERVER_NAME SERVER_PROTOCOL REMOTE_ADDR HTTP_HOST HTTP_USER_AGENT HTTP_ACCEPT
               HTTP_ACCEPT_ENCODING HTTP_CONNECTION].map(&:freeze)
    BALLAST = (1..BALLAST_SIZE).map { |i| "ballast #{i} " * 100 }
"##;

const VALUES: [&[u8]; 11] = [
    b"GET",
    b"/fools-gold",
    b"a=1&b=2",
    b"localhost",
    b"HTTP/1.1",
    b"127.0.0.1",
    b"localhost:8000",
    b"ApacheBench/2.3 and some more words",
    b"*/*",
    b"gzip, deflate",
    b"keep-alive",
];

struct Application {
    interpreter: Interpreter,
    app: Kept,
    template: Kept,
    keys: Kept,
    call: Sym,
}

impl Application {
    fn new(ballast: i64) -> Result<Application, mruby::Error> {
        let mut interpreter = Interpreter::new(Limits::default())?;
        let (app, template, keys, call) = interpreter.enter(|ruby| {
            ruby.const_set(ruby.object_class(), "BALLAST_SIZE", ruby.int(ballast)?)?;
            ruby.eval(APPLICATION, "app.rb", 1)?;
            let kept = |name| ruby.keep(ruby.gvar_get(name)?);
            Ok((kept("$app")?, kept("$template")?, kept("$keys")?, ruby.intern("call")?))
        })?;
        Ok(Application { interpreter, app, template, keys, call })
    }

    fn serve(&mut self) -> Result<usize, mruby::Error> {
        let (app, template, keys, call) = (self.app, self.template, self.keys, self.call);
        self.interpreter.enter(|ruby| {
            let keys = ruby.array_values(ruby.kept(keys))?;
            let fields: Vec<Field<'_, '_>> =
                keys.into_iter().zip(VALUES).map(|(key, value)| Field::bytes(key, value)).collect();
            let env = ruby.hash_dup_with(ruby.kept(template), &fields)?;
            let answer = ruby.send(ruby.kept(app), call, &[env])?;
            let mut bytes = 0;
            ruby.hash_strings(ruby.array_get(answer, 1)?, |key, value| bytes += key.len() + value.len())?;
            ruby.array_strings(ruby.array_get(answer, 2)?, |chunk| bytes += chunk.len())?;
            Ok(bytes)
        })
    }
}

/// The smallest of several means.
fn least(mut round: impl FnMut() -> Duration) -> f64 {
    (0..7).map(|_| round().as_secs_f64() * 1e6).fold(f64::INFINITY, f64::min)
}

fn mean(times: u32, mut work: impl FnMut()) -> Duration {
    let begun = Instant::now();
    (0..times).for_each(|_| work());
    begun.elapsed() / times
}

fn main() -> Result<(), mruby::Error> {
    if std::env::args().nth(1).as_deref() == Some("memory") {
        let mut application = Application::new(0)?;
        println!("loaded: {:?}", application.interpreter.memory());
        for calls in [1, 10, 100, 1000, 2000, 5000, 10_000, 50_000] {
            for _ in 0..calls {
                application.serve()?;
            }
            println!("after {calls} more calls: {:?}", application.interpreter.memory());
        }
        application.interpreter.full_gc();
        println!("collected: {:?}", application.interpreter.memory());
        return Ok(());
    }
    if std::env::args().nth(1).as_deref() == Some("restore") {
        let mut application = Application::new(800)?;
        (0..1000).try_for_each(|_| application.serve().map(drop))?;
        application.interpreter.snapshot(None)?;
        for _ in 0..200_000 {
            application.serve()?;
            application.interpreter.restore()?;
        }
        return Ok(());
    }
    let open = least(|| mean(20, || drop(Interpreter::new(Limits::default()))));
    println!("an empty interpreter: {open:.0} µs");
    println!("| heap | warm call | warm call, no collector | restore + call | ratio | restore | copied |");
    println!("|---:|---:|---:|---|---:|---:|---:|");
    for ballast in [0, 200, 800, 3000, 10_000, 40_000] {
        let mut application = Application::new(ballast)?;
        let mut failed = None;
        let mut serve = |application: &mut Application| {
            if let Err(error) = application.serve() {
                failed = Some(error);
            }
        };
        (0..2000).for_each(|_| serve(&mut application));
        let warm = least(|| mean(2000, || serve(&mut application)));
        for method in [Method::Copy, Method::Scan, Method::Remap] {
            application.interpreter.snapshot(Some(method))?;
            let size = application.interpreter.snapshot_size();
            let times = (100_000_000 / size.max(1)).clamp(50, 2000) as u32;
            let mut last = None;
            let restored = least(|| {
                mean(times, || {
                    serve(&mut application);
                    last = application.interpreter.restore().ok();
                })
            });
            let alone = least(|| {
                let mut total = Duration::ZERO;
                for _ in 0..times {
                    serve(&mut application);
                    total += application.interpreter.restore().map_or(Duration::ZERO, |restored| restored.time);
                }
                total / times
            });
            let plain = least(|| {
                let mut total = Duration::ZERO;
                for _ in 0..times {
                    let begun = Instant::now();
                    serve(&mut application);
                    total += begun.elapsed();
                    let _ = application.interpreter.restore();
                }
                total / times
            });
            println!(
                "| {} KiB | {warm:.1} | {plain:.1} | {method:?} {restored:.1} | {:.2} | {alone:.1} | {} KiB |",
                size >> 10,
                restored / warm,
                last.map_or(0, |restored| restored.bytes >> 10)
            );
        }
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(())
}
