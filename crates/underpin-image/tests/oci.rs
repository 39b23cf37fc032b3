//! Images of the Open Container Initiative: what is written is judged by skopeo, umoci and podman, what is read by umoci and tar.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

use bstr::ByteSlice;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use underpin_image::oci::{self, Config, FileKind, Form, Limits, Output, Settings};
use underpin_image::{Entry, OciError, Tree};
use underpin_resolve::Root;
use underpin_test_support::{Fixture, Output as Ran, need, skip};

fn settings() -> Settings {
    Settings {
        config: Config {
            architecture: "amd64".to_owned(),
            entrypoint: vec!["/app".to_owned()],
            command: vec!["--serve".to_owned()],
            environment: vec!["PATH=/usr/bin".to_owned(), "LANG=C.UTF-8".to_owned()],
            user: "65532:65532".to_owned(),
            directory: "/srv".to_owned(),
        },
        labels: [("org.example.kind".to_owned(), "test".to_owned())].into(),
        tag: "latest".to_owned(),
        time: 1_700_000_000,
    }
}

fn file(text: &str, mode: u32) -> Entry {
    Entry::file(text.as_bytes().to_vec(), mode)
}

fn tree(entries: Vec<(String, Entry)>) -> Tree {
    let mut tree = Tree::new(1_700_000_000);
    for (path, entry) in entries {
        tree.add(path, entry).unwrap();
    }
    tree
}

/// Names and targets at the limits of tar's fields, all kinds of entries, owners and modes.
fn base() -> Tree {
    tree(vec![
        ("app".into(), file("#!/bin/sh\necho one\n", 0o755)),
        ("etc/passwd".into(), file("root:x:0:0:root:/:/\n", 0o644)),
        ("tmp".into(), Entry::directory(0o1777)),
        ("srv".into(), Entry::directory(0o750).owned(65532, 65532)),
        ("srv/data".into(), file("data", 0o4640).owned(65532, 7)),
        ("lib".into(), Entry::symlink("usr/lib")),
        ("usr/lib/x.so".into(), Entry::file(vec![7; 70_000], 0o644)),
        (format!("long/{}/{}", "d".repeat(99), "f".repeat(200)), file("deep", 0o644)),
        ("e".repeat(100), file("hundred", 0o644)),
        ("g".repeat(101), Entry::directory(0o755)),
        ("far".into(), Entry::symlink("t/".repeat(120))),
        ("odd/\u{fc} name".into(), file("odd", 0o600)),
    ])
}

/// A layer that hides, replaces and adds.
fn above() -> Tree {
    tree(vec![
        ("app".into(), file("#!/bin/sh\necho two\n", 0o755)),
        ("etc/.wh.passwd".into(), file("", 0o644)),
        ("long/.wh..wh..opq".into(), file("", 0o644)),
        ("long/new".into(), file("new", 0o644)),
        (".wh.odd".into(), file("", 0o644)),
        ("srv".into(), Entry::directory(0o700).owned(1, 2)),
    ])
}

fn write(layers: &[Tree], target: &Path, output: Output) -> oci::Written {
    let layers: Vec<(String, Tree)> = layers.iter().map(|tree| ("test".to_owned(), tree.clone())).collect();
    oci::write(&layers, &settings(), target, output, false, oci::Ahead::default()).unwrap()
}

/// Path, owner, mode, and contents or target of every file of an unpacked image.
fn unpacked(top: &Path, folder: &Path, out: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let data = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(top).unwrap().to_str().unwrap();
        let mode = data.permissions().mode() & 0o7777;
        let what = if data.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if data.is_dir() {
            format!("/ {mode:o}")
        } else {
            format!("{:?} {mode:o}", fs::read(&path).unwrap().as_bstr())
        };
        out.push(format!("{name} {}:{} {what}", data.uid(), data.gid()));
        if data.is_dir() {
            unpacked(top, &path, out);
        }
    }
}

/// The same of an image that was read.
fn listed(image: &oci::Image) -> Vec<String> {
    let line = |(path, node): (&bstr::BStr, &oci::Node)| {
        let what = match &node.kind {
            FileKind::Symlink(target) => format!("-> {target}"),
            FileKind::Directory => format!("/ {:o}", node.mode),
            FileKind::Regular(_) => {
                let bytes = image.files.read(path, u64::MAX).unwrap();
                format!("{:?} {:o}", bytes.as_bstr(), node.mode)
            }
            other => format!("{other:?}"),
        };
        format!("{path} {}:{} {what}", node.uid, node.gid)
    };
    image.files.iter().map(line).collect()
}

fn open(path: &Path) -> oci::Image {
    oci::open(path, Limits::default()).unwrap()
}

fn same(found: &[String], expected: &[String]) {
    let missing: Vec<_> = expected.iter().filter(|line| !found.contains(line)).collect();
    let more: Vec<_> = found.iter().filter(|line| !expected.contains(line)).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing: {missing:#?}\nmore: {more:#?}");
}

#[test]
fn the_same_tree_gives_the_same_bytes_as_a_file_and_a_folder_elsewhere() {
    let dir = Fixture::new();
    let first = write(&[base(), above()], &dir.join("one.tar"), Output::Archive);
    let deep = dir.mkdir("another/folder/further/down");
    let second = write(&[base(), above()], &deep.join("two.tar"), Output::Archive);
    assert_eq!(first, second);
    assert!(fs::read(dir.join("one.tar")).unwrap() == fs::read(deep.join("two.tar")).unwrap());
    write(&[base(), above()], &dir.join("folder"), Output::Folder);
    let index = fs::read_to_string(dir.join("folder/index.json")).unwrap();
    assert!(index.contains(&first.manifest), "{index}");
}

#[test]
fn skopeo_reads_the_settings_of_a_folder_and_of_an_archive() {
    need!("skopeo");
    let dir = Fixture::new();
    let written = write(&[base()], &dir.join("folder"), Output::Folder);
    write(&[base()], &dir.join("one.tar"), Output::Archive);
    for reference in ["oci:folder:latest", "oci-archive:one.tar:latest"] {
        let said = dir.must("skopeo", ["inspect", "--config", reference]);
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["config"]["Entrypoint"], serde_json::json!(["/app"]), "{said:#}");
        assert_eq!(said["config"]["Cmd"], serde_json::json!(["--serve"]));
        assert_eq!(said["config"]["Env"], serde_json::json!(["PATH=/usr/bin", "LANG=C.UTF-8"]));
        assert_eq!((&said["config"]["User"], &said["config"]["WorkingDir"]), (&"65532:65532".into(), &"/srv".into()));
        assert_eq!((&said["architecture"], &said["created"]), (&"amd64".into(), &"2023-11-14T22:13:20Z".into()));
        let said: serde_json::Value = serde_json::from_str(&dir.must("skopeo", ["inspect", reference])).unwrap();
        assert_eq!(said["Digest"], written.manifest.as_str(), "{reference}");
    }
}

/// podman with a storage of its own: no daemon, no network, nothing of this machine's images.
fn podman(dir: &Fixture, storage: &str, words: &[&str]) -> Ran {
    let mut command = dir.command("podman");
    command.arg("--root").arg(dir.join(storage)).arg("--runroot").arg(dir.join(format!("{storage}-run")));
    Ran::of(command.args(["--storage-driver", "vfs", "--events-backend", "none"]).args(words))
}

#[test]
fn podman_loads_a_folder_and_an_archive_with_the_layers_that_were_written() {
    need!("podman");
    let dir = Fixture::new();
    let probe = podman(&dir, "probe", &["info"]);
    if probe.code != Some(0) {
        return skip(&format!("podman has no storage of its own here: {}", probe.stderr));
    }
    let written = write(&[base(), above()], &dir.join("folder"), Output::Folder);
    write(&[base(), above()], &dir.join("one.tar"), Output::Archive);
    for (storage, place) in [("of-folder", "folder"), ("of-archive", "one.tar")] {
        let loaded = podman(&dir, storage, &["load", "--quiet", "--input", place]);
        assert_eq!(loaded.code, Some(0), "{place}: {}", loaded.stderr);
        let ids = podman(&dir, storage, &["images", "--quiet", "--no-trunc"]).stdout;
        let said = podman(&dir, storage, &["image", "inspect", ids.trim()]);
        assert_eq!(said.code, Some(0), "{place}: {ids}: {}", said.stderr);
        let said: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(said[0]["RootFS"]["Layers"], serde_json::json!(written.diff_ids), "{place}");
        assert_eq!(said[0]["Digest"], written.manifest.as_str(), "{place}");
        let config = &said[0]["Config"];
        assert_eq!(config["Entrypoint"], serde_json::json!(["/app"]), "{place}");
        assert_eq!((&config["User"], &config["WorkingDir"]), (&"65532:65532".into(), &"/srv".into()), "{place}");
    }
}

#[test]
fn umoci_unpacks_every_file_as_the_tree_has_it_and_the_reader_agrees() {
    need!("umoci");
    if !rustix::process::geteuid().is_root() {
        underpin_test_support::skip("only root can unpack owners");
        return;
    }
    for layers in [vec![base()], vec![base(), above()]] {
        let dir = Fixture::new();
        write(&layers, &dir.join("folder"), Output::Folder);
        dir.must("umoci", ["unpack", "--image", "folder:latest", "out"]);
        let mut expected = Vec::new();
        unpacked(&dir.join("out/rootfs"), &dir.join("out/rootfs"), &mut expected);
        assert!(expected.len() > 8, "{expected:#?}");
        same(&listed(&open(&dir.join("folder"))), &expected);
        if layers.len() == 1 {
            assert_eq!(expected.len(), base().len());
        }
    }
}

#[test]
fn every_form_that_skopeo_makes_reads_the_same() {
    need!("skopeo");
    let dir = Fixture::new();
    write(&[base(), above()], &dir.join("folder"), Output::Folder);
    let first = open(&dir.join("folder"));
    for (target, form) in [
        ("oci-archive:a.tar:x", Form::OciArchive),
        ("docker-archive:b.tar:x:y", Form::DockerArchive),
        ("oci:c:x", Form::Layout),
    ] {
        dir.must("skopeo", ["copy", "--insecure-policy", "-q", "oci:folder:latest", target]);
        let image = open(&dir.join(target.split(':').nth(1).unwrap()));
        assert_eq!((image.form, image.layers, &image.config), (form, 2, &first.config), "{target}");
        same(&listed(&image), &listed(&first));
    }
}

#[test]
fn a_folder_and_its_tars_read_the_same_compressed_or_not() {
    need!("tar", "gzip", "zstd");
    let dir = Fixture::new();
    dir.write("root/usr/lib/x.so", [7; 9000]);
    dir.write(format!("root/{}/{}", "d".repeat(120), "f".repeat(120)), "deep");
    dir.symlink("usr/lib", "root/lib");
    fs::hard_link(dir.join("root/usr/lib/x.so"), dir.join("root/same")).unwrap();
    let expected = listed(&open(&dir.join("root")));
    let check = |name: &str| {
        let image = open(&dir.join(name));
        assert_eq!(image.form, Form::Tar);
        same(&listed(&image), &expected);
        let id = |path: &str| image.files.stat(path.into()).unwrap().id;
        assert_eq!(id("/same"), id("/lib/x.so"), "a hard link is the same file");
    };
    for (name, flags) in [
        ("gnu.tar", &["--format=gnu"][..]),
        ("pax.tar", &["--format=pax"]),
        ("gnu.tar.gz", &["--format=gnu", "-z"]),
        ("pax.tar.zst", &["--format=pax", "--zstd"]),
    ] {
        dir.must("tar", [&["-cf", name, "-C", "root"], flags, &["."]].concat());
        check(name);
    }
    // Two frames of zstd, and frames to be skipped before and between them.
    dir.must("sh", ["-c", "head -c 5000 gnu.tar | zstd -q > a; tail -c +5001 gnu.tar | zstd -q > b"]);
    dir.must("sh", ["-c", r"printf 'P*M\030\003\000\000\000abc' > s; cat s a s b s > frames.tar.zst"]);
    check("frames.tar.zst");
}

/// A tar of entries that no tool would write: type, name, link.
fn tar_of(entries: &[(u8, &str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, name, link) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(0);
        header.set_entry_type(tar::EntryType::new(*kind));
        header.set_cksum();
        out.extend_from_slice(header.as_bytes());
    }
    out.resize(out.len() + 1024, 0);
    out
}

#[test]
fn no_entry_leads_out_of_the_image() {
    let dir = Fixture::new();
    dir.write("outside", "secret");
    let tar = tar_of(&[(b'2', "out", dir.text()), (b'0', "out/new", ""), (b'2', "up", "../../../../etc")]);
    let image = open(&dir.write("links.tar", tar));
    assert!(image.files.read("/out/outside".into(), 100).is_err());
    assert!(image.files.stat(format!("{}/new", dir.text()).as_str().into()).is_ok(), "a folder of the image");
    assert!(!dir.join("new").exists());
    for (kind, name, link) in [
        (b'0', "../x", ""),
        (b'0', "a/../../x", ""),
        (b'1', "x", "../outside"),
        (b'1', "x", "no"),
        (b'0', "good/x", ""),
    ] {
        let path = dir.write("bad.tar", tar_of(&[(b'0', "good", ""), (kind, name, link)]));
        match oci::open(&path, Limits::default()) {
            Err(OciError::Blob { offset: 512, .. }) => {}
            other => panic!("{name} {link}: {other:?}"),
        }
    }
}

#[test]
fn a_bomb_and_a_flood_of_entries_end_at_their_limits() {
    need!("gzip");
    let dir = Fixture::new();
    dir.must("sh", ["-c", "head -c 90000000 /dev/zero | gzip > bomb.tar.gz"]);
    let error = oci::open(&dir.join("bomb.tar.gz"), Limits { ratio: 2, ..Limits::default() }).unwrap_err().to_string();
    assert!(error.contains("bomb.tar.gz: the file: byte 67"), "{error}");
    let many: Vec<String> = (0..20).map(|number| format!("f{number}")).collect();
    let entries: Vec<(u8, &str, &str)> = many.iter().map(|name| (b'0', name.as_str(), "")).collect();
    let path = dir.write("many.tar", tar_of(&entries));
    assert!(oci::open(&path, Limits { entries: 19, ..Limits::default() }).is_err());
    assert_eq!(open(&path).files.len(), 20);
    // A long name that claims more bytes than any name has.
    let mut header = tar::Header::new_gnu();
    header.set_size(1 << 21);
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_cksum();
    let mut tar = header.as_bytes().to_vec();
    tar.resize(512 + (1 << 21) + 1024, b'x');
    let error = oci::open(&dir.write("name.tar", tar), Limits::default()).unwrap_err().to_string();
    assert!(error.contains("byte 0: a name or attributes of 2097152 bytes"), "{error}");
}

#[test]
fn a_changed_byte_names_the_blob_and_nothing_panics_on_a_damaged_file() {
    let dir = Fixture::new();
    write(&[base()], &dir.join("folder"), Output::Folder);
    write(&[base()], &dir.join("one.tar"), Output::Archive);
    for blob in fs::read_dir(dir.join("folder/blobs/sha256")).unwrap() {
        let path = blob.unwrap().path();
        let good = fs::read(&path).unwrap();
        let mut bad = good.clone();
        bad[good.len() / 2] ^= 1;
        fs::write(&path, bad).unwrap();
        let error = oci::open(&dir.join("folder"), Limits::default()).unwrap_err().to_string();
        assert!(error.contains(path.file_name().unwrap().to_str().unwrap()), "{error}");
        fs::write(&path, good).unwrap();
    }
    let whole = fs::read(dir.join("one.tar")).unwrap();
    for length in [1, 100, 512, 700, 1536, whole.len() / 2] {
        let path = dir.write("cut.tar", &whole[..length]);
        let error = oci::open(&path, Limits::default()).unwrap_err().to_string();
        assert!(error.contains("cut.tar"), "{length}: {error}");
    }
    for seed in 0..400usize {
        let mut bytes = whole.clone();
        let at = seed * 7919 % bytes.len();
        bytes[at] = bytes[at].wrapping_add(1 + (seed % 251) as u8);
        let _ = oci::open(&dir.write("mutated.tar", bytes), Limits::default());
    }
}

#[test]
fn what_is_there_is_kept_unless_it_may_be_replaced() {
    let dir = Fixture::new();
    dir.write("folder/precious", "x");
    let layers = [("test".to_owned(), base())];
    for output in [Output::Folder, Output::Archive] {
        let error =
            oci::write(&layers, &settings(), &dir.join("folder"), output, false, oci::Ahead::default()).unwrap_err();
        assert!(matches!(error, OciError::Exists(_)), "{error}");
    }
    oci::write(&layers, &settings(), &dir.join("folder"), Output::Folder, true, oci::Ahead::default()).unwrap();
    assert!(!dir.join("folder/precious").exists() && dir.join("folder/oci-layout").exists());
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["folder"], "nothing is left beside it");
}

/// Bytes that repeat themselves at no distance of a compressor's.
fn various(size: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'a' + (state >> 28) as u8
    })
    .take(size)
    .collect()
}

#[test]
fn what_was_compressed_ahead_is_the_same_as_what_was_not() {
    const PART: usize = 64 << 10;
    let fixture = Fixture::new();
    let sizes = [1, PART - 1, PART, PART + 1, 2 * PART, 5 * PART + 77];
    let files: Vec<_> =
        sizes.iter().zip(1..).map(|(size, seed)| fixture.write(format!("{seed}"), various(*size, seed))).collect();
    let large = fixture.write("large", various(5 << 20, 9));
    let linked = fixture.join("linked");
    std::os::unix::fs::symlink(&files[5], &linked).unwrap();
    let host = |path: &Path| Entry::file(underpin_image::Content::host(path).unwrap(), 0o755);
    let made = |begun: &[&Path], with: Option<&Path>, name: &str| {
        let ahead = oci::Ahead::begin(begun.iter().copied());
        let mut entries: Vec<_> =
            files.iter().enumerate().map(|(at, path)| (format!("dir{at}/file"), host(path))).collect();
        entries.extend(with.map(|path| ("with".to_owned(), host(path))));
        let target = fixture.join(name);
        oci::write(&[("test".to_owned(), tree(entries))], &settings(), &target, Output::Folder, false, ahead).unwrap()
    };
    let plain = made(&[], None, "plain");
    let all: Vec<&Path> = files.iter().map(|path| path.as_path()).collect();
    assert_eq!(made(&all, None, "all"), plain);
    // Twice, by another name, of no file, and of one that is not in the image.
    let missing = fixture.join("missing");
    assert_eq!(made(&[&files[4], &missing, &files[4], &linked, fixture.path(), &large], None, "some"), plain);
    // An image that turns out larger is compressed otherwise.
    assert_eq!(made(&all, Some(&large), "larger"), made(&[], Some(&large), "plain-larger"));
    // The content is that of the files.
    let image = oci::open(&fixture.join("all"), Limits::default()).unwrap();
    for (at, path) in files.iter().enumerate() {
        let found = image.files.read(format!("/dir{at}/file").as_bytes().as_bstr(), u64::MAX).unwrap();
        assert!(found == fs::read(path).unwrap(), "{at}");
    }
}

#[test]
fn a_program_that_changes_while_its_image_is_planned_is_an_error() {
    let fixture = Fixture::new();
    for (name, size) in [("shorter", 100 << 10), ("longer", 500 << 10), ("empty", 0)] {
        let path = fixture.write(name, various(300 << 10, 3));
        let ahead = oci::Ahead::begin([path.as_path()]);
        let program = Entry::file(underpin_image::Content::host(&path).unwrap(), 0o755);
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(size).unwrap();
        let layers = [("test".to_owned(), tree(vec![("app".to_owned(), program)]))];
        let target = fixture.join("image");
        let error = oci::write(&layers, &settings(), &target, Output::Folder, false, ahead).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("307200"), "{error}");
        assert!(!target.exists());
    }
}
