//! TLS and HTTP/2: which protocols clients may speak, and for how long.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod rig;

use foolsgold_server::Ending;
use foolsgold_server::config::TlsFiles;
use rig::{read_until, rest, start, status, wait_until};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use underpin_test_support::need;

const VERSION: &[u8] = b"GET /version HTTP/1.1\r\nHost: test\r\n\r\n";

/// Certificate and key for `localhost`, on disk.
fn certificate(folder: &Path) -> TlsFiles {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = TlsFiles { cert: folder.join("cert.pem"), key: folder.join("key.pem") };
    std::fs::write(&files.cert, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    files
}

fn curl(arguments: &[&str]) -> String {
    let output =
        Command::new("curl").args(["--silent", "--show-error", "--max-time", "30"]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tls_speaks_http_2_or_1_as_the_client_likes() {
    need!("curl");
    let folder = tempfile::tempdir().unwrap();
    let files = certificate(folder.path());
    let server = start(|config| config.tls = Some(files.clone()));
    let (port, trust) = (server.address.port(), files.cert.to_str().unwrap());
    let url = |path: &str| format!("https://localhost:{port}{path}");
    for (version, spoken) in [("--http2", "HTTP/2.0"), ("--http1.1", "HTTP/1.1")] {
        let answer = curl(&[version, "--cacert", trust, "--data", "abc", &url("/echo?q")]);
        assert!(answer.starts_with(&format!("POST /echo?q {spoken}\nserver localhost:{port}\n")), "{answer}");
        assert!(answer.contains("scheme https\n") && answer.ends_with("body 3 whole true\n"), "{answer}");
        let size =
            curl(&[version, "--cacert", trust, "-o", "/dev/null", "-w", "%{size_download}", &url("/large?3000000")]);
        assert_eq!(size, "3000000");
    }
    let plain = server.raw(VERSION);
    assert!(status(&plain) != "200", "{plain}");
    // Certificate and key are reloaded together with the application.
    let renewed = certificate(folder.path());
    server.server().reload().unwrap();
    assert!(curl(&["--cacert", renewed.cert.to_str().unwrap(), &url("/version")]).contains("one"));
    std::fs::write(&renewed.key, "nonsense").unwrap();
    let failed = server.server().reload().unwrap_err().to_string();
    assert!(failed.ends_with("key.pem: the private key cannot be read"), "{failed}");
}

#[test]
fn http_2_is_spoken_without_tls_to_who_begins_with_it() {
    need!("curl");
    let server = start(|config| config.limits.body = 100_000);
    let url = |path: &str| format!("http://{}{path}", server.address);
    let answer = curl(&["--http2-prior-knowledge", "--data", "abc", &url("/echo")]);
    assert!(answer.starts_with("POST /echo HTTP/2.0\nserver 127.0.0.1:"), "{answer}");
    assert!(answer.contains(&format!("\nhost: {}\n", server.address)), "{answer}");
    let code = |path: &str| curl(&["--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_code}", &url(path)]);
    assert_eq!([code("/status?204"), code("/fail"), code("/fields"), code("/stream")], ["204", "500", "200", "200"]);
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large");
    std::fs::write(&large, vec![b'x'; 200_000]).unwrap();
    let data = format!("@{}", large.display());
    let code = ["--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_code}", "--data-binary", &data];
    assert_eq!(curl(&[&code[..], &[&url("/echo")]].concat()), "413");
}

#[test]
fn http_2_connections_are_idle_or_stalled_only_so_long() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let server = start(|config| {
        config.limits.head_time = Duration::from_millis(100);
        config.limits.idle = Duration::from_secs(2);
        config.limits.write_time = Duration::from_millis(300);
    });
    let mut idle = server.connect();
    idle.write_all(preface).unwrap();
    // A PING now and then is not a request, but the connection is not ended for lack of a head.
    std::thread::sleep(Duration::from_millis(300));
    idle.write_all(b"\0\0\x08\x06\0\0\0\0\0pingpong").unwrap();
    assert!(read_until(&mut idle, "pingpong").contains("pingpong"));
    rest(&mut idle);

    // GET /large?9000000 with a window of 64 KiB that is never enlarged.
    let mut stalled = server.connect();
    stalled.write_all(preface).unwrap();
    let target = b"/large?9000000";
    let mut block = vec![0x82, 0x86, 0x41, 4];
    block.extend_from_slice(b"test");
    block.extend_from_slice(&[0x04, target.len() as u8]);
    block.extend_from_slice(target);
    let mut frame = vec![0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1];
    frame.extend_from_slice(&block);
    stalled.write_all(&frame).unwrap();
    let answer = rest(&mut stalled);
    assert!((60_000..200_000).contains(&answer.len()), "{}", answer.len());
    wait_until("the connections to go", || server.server().connections() == 0);
}

#[test]
fn an_http_2_connection_ends_after_as_many_requests_as_allowed() {
    let server = start(|config| config.limits.requests = Some(2));
    let mut stream = server.connect();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    // GET / of `test`, as streams 1 and 3.
    let block = [0x82, 0x86, 0x41, 4, b't', b'e', b's', b't', 0x84];
    for id in [1, 3] {
        bytes.extend_from_slice(&[0, 0, block.len() as u8, 1, 5, 0, 0, 0, id]);
        bytes.extend_from_slice(&block);
    }
    stream.write_all(&bytes).unwrap();
    let (mut answered, mut ended) = (Vec::new(), false);
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let mut frame = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut frame).unwrap();
        match head[3] {
            0x1 => answered.push(head[8]),
            // The server asks whether its GOAWAY was received.
            0x6 if head[4] == 0 => {
                stream.write_all(&[0, 0, 8, 6, 1, 0, 0, 0, 0]).unwrap();
                stream.write_all(&frame).unwrap();
            }
            0x7 => ended = true,
            _ => {}
        }
    }
    answered.sort_unstable();
    assert_eq!((answered, ended), (vec![1, 3], true));
}

#[test]
fn an_idle_http_2_connection_is_ended_at_the_end() {
    let mut server = start(|_| ());
    let mut stream = server.connect();
    // Preface and an empty SETTINGS frame.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut settings = [0; 9];
    stream.read_exact(&mut settings).unwrap();
    assert_eq!(settings[3], 4, "SETTINGS");
    assert!(matches!(server.take().stop(Duration::from_secs(2), || false), Ending::Drained | Ending::CutOff(1)));
    rest(&mut stream);
}
