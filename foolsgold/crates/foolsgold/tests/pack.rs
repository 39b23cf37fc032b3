//! Appending an application to an executable (here: this test), and reading it back.

#![allow(clippy::unwrap_used, reason = "an unwrap is a failing assertion here")]

use foolsgold::pack::{Options, PACKED, PackError, Packed, pack};
use foolsgold_core::files::{Bytecode, Content, Files, VPath};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An application of a few files of every kind.
fn application() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("config.ru", "run App"),
        ("lib/app.rb", "class App; end"),
        ("views/page.erb", "<%= 1 %>"),
        ("public/.well-known/security.txt", "mail us"),
        (".env", "SECRET=1"),
        (".git/config", "[core]"),
        ("spec/app_spec.rb", "this is no Ruby: ("),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn options(app: &Path, output: &Path) -> Options {
    Options { app: app.to_owned(), output: output.to_owned(), with_source: false, exclude: vec!["spec/".to_owned()] }
}

/// Stands in for the compiler: path and source appear in its output, and a parenthesis counts as a syntax error.
fn compile(path: &VPath, source: &[u8]) -> Result<Vec<u8>, String> {
    if source.contains(&b'(') {
        return Err(format!("{path}:1: syntax error"));
    }
    Ok([b"RITE ", path.as_str().as_bytes(), b" ", source].concat())
}

fn packed(
    app: &Path,
    change: impl FnOnce(&mut Options),
) -> (TempDir, PathBuf, Result<foolsgold::pack::Report, PackError>) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("server");
    let mut options = options(app, &output);
    change(&mut options);
    let report = pack(&options, &compile);
    (folder, output, report)
}

fn refused(app: &Path) -> String {
    packed(app, |_| {}).2.unwrap_err().to_string()
}

fn read(packed: &Packed, name: &str) -> Option<Content> {
    packed.read(&VPath::new(&format!("{PACKED}/{name}")).unwrap()).unwrap()
}

#[test]
fn what_was_packed_is_read_back() {
    let app = application();
    let (_folder, output, report) = packed(app.path(), |_| {});
    let report = report.unwrap();
    assert_eq!((report.files, report.compiled, report.hidden), (4, 2, 2));
    assert_eq!(fs::metadata(&output).unwrap().len(), report.bytes);
    assert_eq!(fs::metadata(&output).unwrap().permissions().mode() & 0o7777, 0o755);
    let packed = Packed::open(&output).unwrap().unwrap();
    let names: Vec<&str> = packed.names().collect();
    assert_eq!(names, ["config.ru", "lib/app.rb", "public/.well-known/security.txt", "views/page.erb"]);
    let bytecode = Bytecode::Read("RITE /foolsgold/app/config.ru run App".into());
    assert_eq!(read(&packed, "config.ru"), Some(Content::Compiled { bytecode, source: None }));
    assert_eq!(read(&packed, "views/page.erb"), Some(Content::Plain("<%= 1 %>".into())));
    assert_eq!(read(&packed, "views"), None);
    assert_eq!(read(&packed, "../../etc/passwd"), None);
}

#[test]
fn sources_are_kept_where_wished() {
    let app = application();
    let (_folder, output, report) = packed(app.path(), |options| options.with_source = true);
    report.unwrap();
    let content = read(&Packed::open(&output).unwrap().unwrap(), "lib/app.rb").unwrap();
    assert_eq!(content.text().unwrap(), "class App; end");
}

#[test]
fn the_same_application_gives_the_same_bytes() {
    let app = application();
    let [first, second] = [(); 2].map(|()| packed(app.path(), |_| {}));
    first.2.unwrap();
    second.2.unwrap();
    assert!(fs::read(first.1).unwrap() == fs::read(second.1).unwrap());
}

#[test]
fn an_executable_without_a_pack_has_none() {
    assert!(Packed::own().unwrap().is_none());
    let script = tempfile::NamedTempFile::new().unwrap();
    fs::write(script.path(), "#!/bin/sh\n").unwrap();
    assert!(Packed::open(script.path()).unwrap().is_none());
}

#[test]
fn a_pack_that_was_cut_off_or_damaged_is_one_clear_sentence() {
    let app = application();
    let (_folder, output, report) = packed(app.path(), |_| {});
    let (size, own) = (report.unwrap().bytes, fs::metadata("/proc/self/exe").unwrap().len());
    let file = OpenOptions::new().read(true).write(true).open(&output).unwrap();
    let said = || Packed::open(&output).unwrap_err().to_string();
    // A byte of a file's data, of the index, of the trailer.
    for (at, what) in
        [(own + 10, "its file config.ru is not"), (size - 120, "its index is not"), (size - 50, "its index is not")]
    {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], at).unwrap();
        assert!(said().contains(what), "{}", said());
        assert!(said().contains("server cannot be used") && !said().contains('\n'), "{}", said());
        file.write_all_at(&byte, at).unwrap();
    }
    assert!(Packed::open(&output).unwrap().is_some());
    for (length, what) in
        [(size - 1, "was it copied in part?"), (own + 1, "it has 1 bytes"), (own - 1, "1 bytes are missing")]
    {
        file.set_len(length).unwrap();
        assert!(said().contains(what), "{}", said());
    }
}

#[test]
fn links_within_the_application_name_one_file() {
    let app = application();
    symlink("app.rb", app.path().join("lib/same.rb")).unwrap();
    symlink("lib", app.path().join("library")).unwrap();
    symlink("../.env", app.path().join("lib/settings")).unwrap();
    let (_folder, output, report) = packed(app.path(), |_| {});
    report.unwrap();
    let packed = Packed::open(&output).unwrap().unwrap();
    assert_eq!(read(&packed, "library/same.rb"), read(&packed, "lib/app.rb"));
    let path = |name: &str| VPath::new(&format!("{PACKED}/{name}")).unwrap();
    assert_eq!(packed.identity(&path("library/same.rb")), Some(path("lib/app.rb")));
    // A hidden file is included if something links to it.
    assert_eq!(read(&packed, "library/settings"), Some(Content::Plain("SECRET=1".into())));
}

#[test]
fn what_cannot_be_packed_is_refused_by_name() {
    let app = application();
    symlink("/etc/hostname", app.path().join("lib/out")).unwrap();
    assert!(refused(app.path()).contains("lib/out leads out of"), "{}", refused(app.path()));
    fs::remove_file(app.path().join("lib/out")).unwrap();
    symlink("..", app.path().join("lib/up")).unwrap();
    assert!(refused(app.path()).contains("lib/up leads to a folder that it lies in"));
    fs::remove_file(app.path().join("lib/up")).unwrap();
    symlink("round", app.path().join("lib/round")).unwrap();
    assert!(refused(app.path()).contains("cannot follow"), "{}", refused(app.path()));
    fs::remove_file(app.path().join("lib/round")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(app.path().join("lib/socket")).unwrap();
    assert!(refused(app.path()).contains("lib/socket is not a file, folder or link"));
    drop(socket);
    fs::remove_file(app.path().join("lib/socket")).unwrap();
    fs::remove_file(app.path().join("config.ru")).unwrap();
    assert!(refused(app.path()).contains("has no config.ru"));
}

#[test]
fn more_than_fits_is_refused_before_it_is_read() {
    let app = application();
    fs::File::create(app.path().join("huge")).unwrap().set_len(foolsgold::pack::MAX_BYTES + 1).unwrap();
    assert!(refused(app.path()).contains("too large to pack: more than 536870912 bytes"));
}

#[test]
fn a_syntax_error_leaves_the_output_as_it_was() {
    let app = application();
    let (folder, output, report) = packed(app.path(), |options| {
        options.exclude.clear();
        fs::write(&options.output, "before").unwrap();
    });
    assert_eq!(report.unwrap_err().to_string(), "/foolsgold/app/spec/app_spec.rb:1: syntax error");
    assert_eq!(fs::read_to_string(output).unwrap(), "before");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_running_executable_and_a_folder_are_not_overwritten() {
    let app = application();
    let own = std::env::current_exe().unwrap();
    let said = pack(&options(app.path(), &own), &compile).unwrap_err().to_string();
    assert!(said.ends_with("is the foolsgold that is running; name another output"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let said = pack(&options(app.path(), folder.path()), &compile).unwrap_err().to_string();
    assert!(said.ends_with("exists and is not a file; choose another output"), "{said}");
}

#[test]
fn an_output_in_the_application_is_not_packed_the_next_time() {
    let app = application();
    let output = app.path().join("server");
    let first = pack(&options(app.path(), &output), &compile).unwrap();
    assert_eq!(pack(&options(app.path(), &output), &compile).unwrap(), first);
}
