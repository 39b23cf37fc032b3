//! Requests that try to break an interpreter, mixed with good ones: large and deeply nested texts for `eval`, patterns,
//! long methods in C and in Rust, endless loops inside every kind of `rescue`. Generated with a fixed seed.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod child;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything takes unless it hangs, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

const RACKUP: &str = r##"
require "json"
require "uri"
require "digest"
run lambda { |env|
  if env["PATH_INFO"] == "/good"
    n = env["QUERY_STRING"].to_i
    words = %w(x y z).map { |w| "#{w}#{n}" }
    [200, {}, ["#{n * n} #{words.join(",")} #{n.to_s =~ /\A\d+\z/ ? "digits" : "?"}"]]
  else
    [200, {}, [eval(env["rack.input"].read).to_s[0, 10]]]
  end
}
"##;

/// `N` stands for a number.
const HOSTILE: &[&str] = &[
    "eval('%w(' + 'a ' * N + ')').size",
    "eval('a = 1;' * N)",
    "eval(\"a = 1\\n\" * N)",
    "eval('[' + '1,' * N + ']').size",
    "eval('[' * N + ']' * N)",
    "eval('(' * N + '1' + ')' * N)",
    "eval('{a: ' * N + '1' + '}' * N)",
    "eval('x = 1' + '+1' * N)",
    "eval('x = 1' + '&&1' * N)",
    "eval('-' * N + '1')",
    "eval('a' + '.a' * N)",
    "eval('lambda { ' * N + '}' * N)",
    "eval('\"' + '\\\\M-' * N + 'a\"')",
    "eval('\"' + '#{1}a' * N + '\"').size",
    "eval((0...N).map { |i| \"v#{i} = #{i};\" }.join)",
    "eval('[' + (0...N).map { |i| \"'#{i}'\" }.join(',') + ']').size",
    "eval('if 1;' * N + 'end;' * N)",
    "eval('def m(' + 'a,' * N + 'b) = 1')",
    "Regexp.new('\\\\p{L}' * N)",
    "Regexp.new('(' * N + 'a' + ')' * N)",
    "Regexp.new('a|' * N)",
    "Regexp.new('(?:' * 20 + 'a{9}' + '){9}' * 20)",
    // Longer ones reach the backtracking limit only after many times the budget.
    "('a' * 300) =~ /(a+)+\\1b/",
    "('a' * 300) =~ /(?=(a*)*b)a/",
    "('a' * N).gsub(/a/) { |x| x * 2 }.size",
    "('a' * N).scan(/./).size",
    "('a' * N).index('a' * (N / 2) + 'b')",
    "('a' * N).tr('b' * 60_000, 'c').size",
    "'x' * (N * N)",
    "Array.new(N) { Array.new(N) }",
    "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].permutation.to_a.size",
    "(1..N).to_a.product((1..N).to_a).size",
    "(1..N).to_a.combination(5).to_a.size",
    "Array.new(N) { |i| -i }.sort.size",
    "a = []; N.times { a = [a] }; a.join",
    "a = []; N.times { a = [a] }; a.inspect",
    "a = []; N.times { a = [a] }; a.flatten",
    "a = []; N.times { a = [a] }; a.hash",
    "a = []; b = []; N.times { a = [a]; b = [b] }; a == b",
    "a = []; N.times { a = [a] }; JSON.generate(a)",
    "JSON.parse('[' * N)",
    "JSON.parse('[' + '{\"a\": 1},' * N + '1]').size",
    "URI.decode_www_form('a=b&' * N).size",
    "Digest::SHA256.hexdigest('a' * N)",
    "Time.now.strftime('%Y' * N).size",
    "('%' + N.to_s + 'd') % 1",
    "N.times { |i| \"s#{i}\".to_sym }",
    "[1].cycle { |x| x }",
    "('a' * N).unpack('C*').size",
    "loop { }",
    "begin; loop { }; rescue Exception; retry; end",
    "begin; loop { }; ensure; loop { }; end",
    "def f = f; f",
    "f = proc { f.call }; begin; f.call; rescue Exception; retry; end",
    "sleep N",
    "Fiber.new { loop { Fiber.new { loop { } }.resume } }.resume",
    "class String; def ==(o) = loop { }; def hash = loop { }; end; { 'a' => 1 }['b']; loop { }",
    "GC.disable; loop { 'x' * 1000 }",
    "loop { GC.start }",
    "raise 'x' * N",
    "exit",
    "throw :nothing",
    "c = Object; (N % 5000).times { c = Class.new(c) }; c.new",
    "Object.send(:remove_const, :String); Kernel.send(:define_method, :call) { |*| loop { } }; nil.call",
    "h = {}; N.times { |i| h[i] = [i] * 10 }; h.to_a.flatten.uniq.size",
    "s = +''; loop { s << s << 'a' }",
    "ObjectSpace.each_object(Object) { |o| o.inspect }",
    "N.times.lazy.map { |x| x }.select { |x| x > N }.first(1)",
];

/// A plain linear congruential generator (Knuth's MMIX): the same requests each time.
struct Seed(u64);

impl Seed {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn hostile(&mut self) -> String {
        const SIZES: [usize; 6] = [7, 300, 5_000, 40_000, 300_000, 2_000_000];
        let size = SIZES[self.next(SIZES.len())] + self.next(5);
        let text = HOSTILE[self.next(HOSTILE.len())].replace('N', &size.to_string());
        match self.next(6) {
            0 => format!("begin; {text}; rescue Exception; 1; end"),
            1 => format!("10.times {{ begin; {text}; rescue Exception; end }}"),
            2 => format!("[1].map {{ {text} }}"),
            _ => text,
        }
    }
}

struct Hostage {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Hostage {
    fn start(rackup: &str, options: &[&str]) -> Hostage {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.ru"), rackup).unwrap();
        let mut command = Command::new(child::foolsgold());
        command.args(["-b", "127.0.0.1:0", "--queue-time", "90s"]).args(options);
        command.args(["--ready", "/ready", "--metrics", "/metrics"]).arg(folder.path().join("config.ru"));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let port = lines.find_map(|line| line.split("serves at 127.0.0.1:").nth(1)?.trim().parse().ok()).unwrap();
        // Nothing else reads its log, and it must not block on that.
        std::thread::spawn(move || lines.for_each(drop));
        Hostage { child, port, _folder: folder }
    }

    /// Status and body; `None` if the server closed without an answer.
    fn ask(&self, head: &str, body: &str) -> Option<(String, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server is there");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        let whole =
            format!("{head} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(whole.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap_or_else(|error| panic!("{head}: {error}: {body}"));
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1)?.to_owned();
        Some((status, answer.split_once("\r\n\r\n")?.1.to_owned()))
    }

    fn metric(&self, name: &str) -> f64 {
        let (_, page) = self.ask("GET /metrics", "").unwrap();
        page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()).unwrap()
    }

    fn good(&self, number: usize) {
        let (status, body) = self.ask(&format!("GET /good?{number}"), "").unwrap();
        let right = format!("{} x{number},y{number},z{number} digits", number * number);
        assert_eq!((status.as_str(), body.as_str()), ("200", right.as_str()));
    }
}

impl Drop for Hostage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn survive(requests: usize) {
    const CLIENTS: usize = 4;
    let server = Hostage::start(RACKUP, &["-t", "2", "--budget", "200ms", "--memory", "48MiB"]);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let server = &server;
            scope.spawn(move || {
                let mut seed = Seed(1207 + client as u64);
                for number in 0..requests / CLIENTS {
                    let text = seed.hostile();
                    let (status, _) = server.ask("POST /hostile", &text).unwrap_or_else(|| panic!("no answer: {text}"));
                    assert!(["200", "500", "503"].contains(&status.as_str()), "{status}: {text}");
                    server.good(number * CLIENTS + client);
                    let (status, words) = server.ask("GET /ready", "").unwrap();
                    assert!(status == "200" || words == "no interpreter can take work\n", "{status} {words}");
                }
            });
        }
    });
    let begun = Instant::now();
    while server.metric("foolsgold_lost_interpreters") > 0.0 {
        assert!(begun.elapsed() < PATIENCE, "an interpreter is lost for good");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(server.metric("foolsgold_ready_interpreters") >= 2.0);
    assert_eq!(server.ask("GET /ready", "").unwrap().0, "200");
    let replaced = server.metric("foolsgold_replaced_interpreters");
    assert!(replaced <= requests as f64 / 100.0, "{replaced} interpreters could not be stopped in time");
}

#[test]
fn requests_are_answered_beside_four_event_streams_for_each_core() {
    const STREAMS: &str = r#"
        run lambda { |env|
          return [200, {}, ["beside"]] unless env["PATH_INFO"] == "/stream"
          [200, { "content-type" => "text/event-stream" }, lambda { |s| loop { s.write("data: x\n\n"); sleep 0.05 } }]
        }
    "#;
    let server = Hostage::start(STREAMS, &[]);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let streams: Vec<_> = (0..4 * cores)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.write_all(b"GET /stream HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
            stream
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(server.ask("GET /beside", ""), Some(("200".to_owned(), "beside".to_owned())));
    }
    for mut stream in streams {
        let mut begun = [0; 12];
        stream.read_exact(&mut begun).unwrap();
        assert_eq!(&begun, b"HTTP/1.1 200");
    }
}

#[test]
fn good_requests_are_answered_between_hostile_ones() {
    survive(240);
}

#[test]
#[ignore = "takes minutes: cargo test --release -p foolsgold --test hostile -- --ignored"]
fn good_requests_are_answered_between_five_thousand_hostile_ones() {
    survive(5000);
}
