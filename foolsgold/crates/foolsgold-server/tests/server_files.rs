//! Files that the server sends: from served folders, and those an application names.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod rig;

use foolsgold_server::config::StaticMount;
use rig::{field, payload, start, status};

#[test]
fn files_of_a_folder_are_served_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let public = folder.path().join("public");
    std::fs::create_dir_all(public.join("sub")).unwrap();
    std::fs::write(public.join("a.css"), "body {}").unwrap();
    std::fs::write(public.join("large.bin"), vec![b'z'; 1_000_000]).unwrap();
    std::fs::write(public.join("sub/index.html"), "<p>index").unwrap();
    std::fs::write(public.join(".secret"), "secret").unwrap();
    std::fs::write(folder.path().join("outside"), "secret").unwrap();
    std::os::unix::fs::symlink("../outside", public.join("link")).unwrap();
    std::os::unix::fs::symlink("a.css", public.join("inside")).unwrap();
    let server = start(|config| config.statics = vec![StaticMount { path: "/static".into(), folder: public.clone() }]);

    let css = server.get("/static/a.css");
    assert_eq!((status(&css), payload(&css)), ("200", "body {}"));
    assert_eq!(field(&css, "content-type"), Some("text/css; charset=utf-8"));
    assert_eq!(payload(&server.get("/static/inside")), "body {}");
    assert_eq!(payload(&server.get("/static/sub/")), "<p>index");
    let head = server.request("HEAD", "/static/large.bin", "");
    assert_eq!((field(&head, "content-length"), payload(&head)), (Some("1000000"), ""));
    assert_eq!(payload(&server.get("/static/large.bin")).len(), 1_000_000);

    for path in [
        "/static/../outside",
        "/static/%2e%2e/outside",
        "/static/..%2foutside",
        "/static/link",
        "/static/.secret",
        "/static/sub/../../outside",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/a.css%00",
        "/static",
        "/static/none",
    ] {
        let answer = server.get(path);
        assert!(status(&answer) == "404" && payload(&answer).starts_with("nothing at"), "{path}: {answer}");
    }

    let tag = field(&css, "etag").unwrap();
    let same = server.request("GET", "/static/a.css", &format!("If-None-Match: \"x\", {tag}\r\n"));
    assert_eq!((status(&same), payload(&same), field(&same, "etag")), ("304", "", Some(tag)));
    let date = field(&css, "last-modified").unwrap();
    assert_eq!(status(&server.request("GET", "/static/a.css", &format!("If-Modified-Since: {date}\r\n"))), "304");
    let old = "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
    assert_eq!(status(&server.request("GET", "/static/a.css", old)), "200");
    let part = server.request("GET", "/static/a.css", "Range: bytes=1-3\r\n");
    assert_eq!((status(&part), payload(&part), field(&part, "content-range")), ("206", "ody", Some("bytes 1-3/7")));
    let part = server.request("GET", "/static/large.bin", "Range: bytes=-500000\r\n");
    assert_eq!((status(&part), payload(&part).len()), ("206", 500_000));
    let beyond = server.request("GET", "/static/a.css", "Range: bytes=7-\r\n");
    assert_eq!((status(&beyond), field(&beyond, "content-range")), ("416", Some("bytes */7")));
    let other = server.request("GET", "/static/a.css", "Range: bytes=1-3\r\nIf-Range: \"other\"\r\n");
    assert_eq!(status(&other), "200");
}

#[test]
fn a_file_that_the_application_names_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(|_| ());
    for size in [0, 5, 300_000] {
        let path = folder.path().join(size.to_string());
        std::fs::write(&path, vec![b'f'; size]).unwrap();
        *server.control.file.lock().unwrap() = path;
        let answer = server.get("/file");
        assert_eq!(
            (status(&answer), payload(&answer).len(), field(&answer, "content-type")),
            ("200", size, Some("x/y"))
        );
        assert_eq!(field(&answer, "content-length"), Some(size.to_string().as_str()));
    }
    *server.control.file.lock().unwrap() = folder.path().join("none");
    assert_eq!(status(&server.get("/file")), "500");
}
