//! A packed application serves by itself, and a damaged one reports that and exits.

#![allow(clippy::unwrap_used, reason = "an unwrap is a failing assertion here")]

mod child;

use child::{Server, field, foolsgold, once_free};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn application() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "config.ru",
            "require_relative \"lib/page\"\nrun lambda { |env| env[\"PATH_INFO\"] == \"/bad\" ? Page.bad : \
             [200, { \"content-type\" => \"text/plain\" }, [Page.new.text, __FILE__]] }\n",
        ),
        (
            "lib/page.rb",
            "class Page\n  def text = File.read(File.join(__dir__, \"../views/page.txt\"))\n  def self.bad\n    \
             raise \"on purpose\"\n  end\nend\n",
        ),
        ("views/page.txt", "from the pack: "),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn run(program: &Path, args: &[&str]) -> Output {
    once_free(|| Command::new(program).args(args).stdin(Stdio::null()).output())
}

/// Packs the application, and removes its folder.
fn packed() -> (tempfile::TempDir, PathBuf) {
    let app = application();
    let (folder, output, done) = pack(app.path());
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && said.contains("3 files, 2 of them compiled"), "{said} {done:?}");
    (folder, output)
}

/// Packs a folder into a folder of its own.
fn pack(app: &Path) -> (tempfile::TempDir, PathBuf, Output) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("app-server");
    let done = run(Path::new(foolsgold()), &["pack", app.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    (folder, output, done)
}

#[test]
fn a_packed_application_serves_without_its_folder_and_errors_have_file_and_line() {
    let (_folder, program) = packed();
    let mut server = Server::start(&program);
    let answer = server.get("/");
    assert!(answer.starts_with("HTTP/1.") && answer.contains(" 200 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\nfrom the pack: /foolsgold/app/config.ru"), "{answer}");
    assert!(server.get("/bad").contains(" 500 "));
    let said = server.end();
    assert!(said.contains("/foolsgold/app/lib/page.rb:4"), "{said}");
}

#[test]
fn a_packed_executable_packs_another_application() {
    let (folder, program) = packed();
    let (app, again) = (application(), folder.path().join("again"));
    let done = run(&program, &["pack", app.path().to_str().unwrap(), "-o", again.to_str().unwrap()]);
    assert!(done.status.success(), "{done:?}");
    assert!(fs::read(program).unwrap() == fs::read(again).unwrap());
}

#[test]
fn a_damaged_or_shortened_pack_is_one_sentence_and_exit_2() {
    let (_folder, program) = packed();
    let file = OpenOptions::new().read(true).write(true).open(&program).unwrap();
    let size = file.metadata().unwrap().len();
    let own = fs::metadata(foolsgold()).unwrap().len();
    let mut byte = [0];
    file.read_exact_at(&mut byte, own).unwrap();
    let refused = |what: &str| {
        let done = run(&program, &["--bind", "127.0.0.1:0"]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(what) && said.lines().count() == 1, "{said}");
    };
    file.write_all_at(&[byte[0] ^ 1], own).unwrap();
    drop(file);
    refused("its file config.ru is not as it was written");
    OpenOptions::new().write(true).open(&program).unwrap().set_len(size - 1).unwrap();
    refused("was it copied in part?");
}

#[test]
fn a_syntax_error_is_told_with_file_and_line_and_nothing_is_written() {
    let (app, folder) = (application(), tempfile::tempdir().unwrap());
    fs::write(app.path().join("lib/wrong.rb"), "class Wrong\n  def a(\nend\n").unwrap();
    let output = folder.path().join("server");
    let done = run(Path::new(foolsgold()), &["pack", app.path().to_str().unwrap(), "-o", output.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("/foolsgold/app/lib/wrong.rb:") && said.contains("syntax error"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// An application with a file that `use Rack::Static` and `[[static]]` serve.
fn with_assets(script: &str, settings: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("public")).unwrap();
    let rackup = "use Rack::Static, urls: [\"/public\"]\nrun lambda { |env| [404, {}, [\"app\"]] }\n";
    for (name, text) in [("config.ru", rackup), ("public/a.js", script), ("foolsgold.toml", settings)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// RFC 9110, sections 8.8 and 13.1: a validator changes if and only if the content does.
#[test]
fn a_file_of_a_new_pack_is_not_taken_for_the_old_one() {
    let settings = "[[static]]\npath = \"/assets\"\nfolder = \"public\"\n";
    let answers = ["v1", "v2", "v1"].map(|script| {
        let app = with_assets(script, settings);
        let (_folder, program, done) = pack(app.path());
        assert!(done.status.success(), "{done:?}");
        let mut server = Server::start(&program);
        ["/public/a.js", "/assets/a.js"].map(|path| {
            let answer = server.get(path);
            assert!(answer.ends_with(script), "{path}: {answer}");
            assert_eq!(field(&answer, "last-modified"), None, "{path}: {answer}");
            let tag = field(&answer, "etag").unwrap_or_else(|| panic!("{path}: no tag in {answer}")).to_owned();
            let fresh = server.get_with(path, &format!("If-None-Match: \"other\", {tag}\r\n"));
            assert!(fresh.contains(" 304 ") && field(&fresh, "etag") == Some(&tag), "{path}: {fresh}");
            let old = "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
            assert!(server.get_with(path, old).contains(" 200 "), "{path} has no date to compare");
            let part = server.get_with(path, &format!("Range: bytes=0-0\r\nIf-Range: {tag}\r\n"));
            assert!(part.contains(" 206 ") && part.ends_with("\r\n\r\nv"), "{path}: {part}");
            let whole = server.get_with(path, "Range: bytes=0-0\r\nIf-Range: \"other\"\r\n");
            assert!(whole.contains(" 200 ") && whole.ends_with(script), "{path}: {whole}");
            tag
        })
    });
    assert_ne!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}

#[test]
fn packed_settings_hold_and_those_of_a_foreign_folder_do_not() {
    let settings =
        "bind = [\"127.0.0.1:0\"]\nmetrics = \"/mm\"\n[[static]]\npath = \"/assets\"\nfolder = \"./public\"\n";
    let app = with_assets("v1", settings);
    let (folder, program, done) = pack(app.path());
    assert!(done.status.success(), "{done:?}");
    fs::write(
        folder.path().join("foolsgold.toml"),
        "metrics = \"/foreign\"\n[[static]]\npath = \"/\"\nfolder = \"none\"\n",
    )
    .unwrap();
    let mut server = Server::start_in(&program, folder.path(), &[]);
    assert!(server.get("/mm").contains("foolsgold_requests"), "{}", server.get("/mm"));
    assert!(server.get("/assets/a.js").ends_with("v1"));
    assert!(server.get("/foreign").contains(" 404 "));
    let mut server = Server::start_in(&program, folder.path(), &["--metrics", "/line"]);
    assert!(server.get("/line").contains(" 200 ") && server.get("/mm").contains(" 404 "));
    // A configuration file given with `--config` replaces the packed one.
    let own = folder.path().join("own.toml");
    fs::write(&own, "bind = [\"127.0.0.1:0\"]\nmetrics = \"/own\"\n").unwrap();
    let mut server = Server::start_in(&program, folder.path(), &["--config", own.to_str().unwrap()]);
    assert!(server.get("/own").contains(" 200 ") && server.get("/assets/a.js").contains(" 404 "));
}

#[test]
fn settings_that_a_pack_cannot_keep_are_refused_when_it_is_made() {
    for (settings, sentence) in [
        ("treads = 3\n", "foolsgold.toml:1: unknown field `treads`"),
        ("threads = 3\nrackup = \"other.ru\"\n", "foolsgold.toml:2: a packed application starts with its config.ru"),
        ("[tls]\ncert = \"/c\"\nkey = \"k.pem\"\n", "foolsgold.toml:3: certificates and keys stay outside"),
        (
            "[log]\naccess = \"json\"\ntarget = \"a.log\"\n",
            "foolsgold.toml:3: a packed application has no folder to write to",
        ),
        ("[[static]]\npath = \"/a\"\nfolder = \"assets\"\n", "serves the folder assets, which holds no file"),
    ] {
        let (_folder, program, done) = pack(with_assets("v1", settings).path());
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(said.contains(sentence), "{settings}: {said}");
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(!program.exists(), "{settings}");
    }
}
