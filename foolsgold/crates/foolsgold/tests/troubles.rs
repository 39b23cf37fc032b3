//! What can go wrong around a server: a full disk, no more descriptors, links that lead outside, bodies that are too
//! large.
#![allow(clippy::unwrap_used, reason = "an unwrap is a failing assertion here")]

mod child;

use child::{Server, field, foolsgold};
use std::fs;
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn application(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn serve(folder: &Path, more: &[&str]) -> Server {
    let args = [&["--bind", "127.0.0.1:0", "."], more].concat();
    Server::start_in(Path::new(foolsgold()), folder, &args)
}

/// The server's output up to a line with this text.
fn hear(server: &mut Server, text: &str) -> String {
    while !server.said.contains(text) {
        assert!(server.stderr.read_line(&mut server.said).unwrap() > 0, "it ended without `{text}`: {}", server.said);
    }
    server.said.clone()
}

/// One rule for links, whatever serves the file: it is served if it is below the folder that the administrator named.
#[test]
fn a_link_that_leads_out_of_a_folder_is_served_by_nobody() {
    let outside = application(&[("secret.txt", "SECRET")]);
    let files = [
        ("config.ru", "use Rack::Static, urls: [\"/s\"], root: \"public\"\nrun Rack::Files.new(\"public\")\n"),
        ("foolsgold.toml", "[[static]]\npath = \"/mounted\"\nfolder = \"public\"\n"),
        ("public/s/plain.txt", "plain"),
        ("public/plain.txt", "plain"),
        ("private.txt", "PRIVATE"),
    ];
    let app = application(&files);
    let secret = outside.path().join("secret.txt");
    let public = app.path().join("public");
    for (link, target) in [
        ("s/out.txt", secret.as_path()),
        ("out.txt", secret.as_path()),
        ("s/up.txt", Path::new("../../private.txt")),
        ("up.txt", Path::new("../private.txt")),
        ("s/in.txt", Path::new("../plain.txt")),
        ("in.txt", Path::new("plain.txt")),
        ("folder", outside.path()),
    ] {
        symlink(target, public.join(link)).unwrap();
    }
    let mut server = serve(app.path(), &[]);
    for path in [
        "/s/plain.txt",
        "/plain.txt",
        "/s/in.txt",
        "/in.txt",
        "/mounted/plain.txt",
        "/mounted/in.txt",
        "/mounted/s/in.txt",
    ] {
        let answer = server.get(path);
        assert!(answer.contains(" 200 ") && answer.ends_with("plain"), "{path}: {answer}");
    }
    for path in [
        "/s/out.txt",
        "/out.txt",
        "/s/up.txt",
        "/up.txt",
        "/mounted/out.txt",
        "/mounted/s/up.txt",
        "/folder/secret.txt",
    ] {
        let answer = server.get(path);
        assert!(
            answer.contains(" 404 ") && !answer.contains("SECRET") && !answer.contains("PRIVATE"),
            "{path}: {answer}"
        );
    }
    // A folder that is a link itself was named by the administrator.
    fs::rename(&public, app.path().join("elsewhere")).unwrap();
    symlink("elsewhere", &public).unwrap();
    let mut server = serve(app.path(), &[]);
    for path in ["/plain.txt", "/mounted/plain.txt"] {
        assert!(server.get(path).contains(" 200 "), "{path}");
    }
    assert!(server.get("/out.txt").contains(" 404 "));
}

/// Writes to /dev/full fail as on a full disk.
#[test]
fn an_access_log_that_cannot_be_written_is_told_once() {
    let app = application(&[("config.ru", "run lambda { |_| [200, {}, [\"ok\"]] }\n")]);
    let mut server = serve(app.path(), &["--access-log", "common", "--log-file", "/dev/full", "--metrics", "/metrics"]);
    for _ in 0..20 {
        assert!(server.get("/").contains(" 200 "));
        std::thread::sleep(Duration::from_millis(20));
    }
    hear(&mut server, "the access log cannot be written");
    let said = server.end();
    assert_eq!(said.matches("access log").count(), 1, "{said}");
}

#[test]
fn descriptors_that_have_run_out_are_told_once_and_when_it_is_over() {
    let app = application(&[("config.ru", "run lambda { |_| [200, {}, [\"ok\"]] }\n")]);
    let mut command = Command::new("sh");
    let line = "ulimit -n 48; exec \"$0\" --bind 127.0.0.1:0 .";
    command.args(["-c", line, foolsgold()]).current_dir(app.path());
    let mut server = Server::of(command);
    let held: Vec<TcpStream> = (0..60).map(|_| TcpStream::connect(("127.0.0.1", server.port)).unwrap()).collect();
    let said = hear(&mut server, "connections cannot be accepted");
    assert!(said.contains("LimitNOFILE"), "{said}");
    // Longer than ten attempts to accept.
    std::thread::sleep(Duration::from_secs(2));
    drop(held);
    // The problem is over once nothing has failed for a while.
    std::thread::sleep(Duration::from_secs(6));
    assert!(server.get("/").contains(" 200 "));
    let said = hear(&mut server, "connections are accepted again");
    assert_eq!(said.matches("cannot be accepted").count(), 1, "{said}");
}

fn post(server: &Server, kind: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let length = body.len();
    write!(stream, "POST / HTTP/1.0\r\nHost: a\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n").unwrap();
    // A server that refuses closes before it has read everything.
    let _ = stream.write_all(body);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// RFC 9110, section 15.5.14: content that is too large for this server gets 413, whichever of its limits it exceeds.
#[test]
fn a_body_that_an_interpreter_cannot_hold_is_the_clients_to_shorten() {
    let rackup = "run lambda { |env|\n  request = Rack::Request.new(env)\n  \
                  size = request.POST[\"f\"] ? request.POST[\"f\"][:tempfile].read.bytesize : request.POST.size\n  \
                  [200, { \"x-size\" => size.to_s }, [\"ok\"]]\n}\n";
    let app = application(&[("config.ru", rackup)]);
    let server = serve(app.path(), &["--max-body", "16MiB"]);
    let upload = |megabytes: usize| {
        let head = b"--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\n";
        [&head[..], &vec![b'x'; megabytes << 20], b"\r\n--XX--\r\n"].concat()
    };
    let kind = "multipart/form-data; boundary=XX";
    let answer = post(&server, kind, &upload(8));
    assert!(answer.contains(" 200 ") && field(&answer, "x-size") == Some("8388608"), "{answer}");
    // Whether this application can hold that much is its own matter; the server has not failed if it cannot.
    for megabytes in [10, 12, 14, 15] {
        let answer = post(&server, kind, &upload(megabytes));
        assert!(answer.contains(" 200 ") || answer.contains(" 413 "), "{megabytes} MB: {answer}");
    }
    let answer = post(&server, "application/x-www-form-urlencoded", &vec![b'a'; 5 << 20]);
    assert!(answer.contains(" 413 "), "a form beyond Rack's own limit: {answer}");
    drop(server);
    let server = serve(app.path(), &["--max-body", "64MiB", "--memory", "24MiB"]);
    let answer = post(&server, kind, &upload(40));
    assert!(answer.contains(" 413 "), "an upload beyond the interpreter's memory: {answer}");
    assert!(post(&server, kind, &upload(1)).contains(" 200 "), "the server goes on");
}
