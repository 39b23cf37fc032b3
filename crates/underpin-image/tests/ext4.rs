//! What e2fsprogs reads in the ext4 file systems that we write: the tree, and no error.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "common/files.rs"]
mod files;

use files::found;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_image::write::{Place, ext4};
use underpin_image::{DeviceClass, Entry, ImageError, Tree};
use underpin_test_support::need;

fn settings(bytes: Option<u64>, journal: bool) -> ext4::Settings {
    ext4::Settings { uuid: *b"underpin-test-id", label: "root", bytes, journal }
}

/// The file system as a file.
fn written(tree: &Tree, settings: &ext4::Settings, folder: &Path) -> PathBuf {
    let path = folder.join("disk.img");
    let file = File::create(&path).unwrap();
    let bytes = ext4::write(tree, settings, &Place { file: &file, offset: 0, path: &path }).unwrap();
    assert_eq!((bytes, bytes), (file.metadata().unwrap().len(), ext4::size(tree, settings).unwrap()));
    path
}

fn says(program: &str, words: &[&str], disk: &Path) -> String {
    let path = std::env::var("PATH").unwrap() + ":/usr/sbin:/sbin";
    let output = Command::new(program).args(words).arg(disk).env("PATH", path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words:?}: {text}");
    text
}

fn is_clean(disk: &Path) {
    says("e2fsck", &["-f", "-n"], disk);
}

/// A tree with every kind of entry, and with what takes more than one block, group or record.
fn every_kind() -> Tree {
    let mut tree = Tree::new(1_700_000_000);
    tree.add("tmp", Entry::directory(0o1777)).unwrap();
    tree.add("usr/bin/su", Entry::file(vec![7; 4097], 0o4755)).unwrap();
    tree.add("usr/bin/empty", Entry::file(Vec::new(), 0o600)).unwrap();
    tree.add("usr/bin/whole", Entry::file(vec![9; 8192], 0o644)).unwrap();
    tree.add("usr/bin/odd name\u{e9}", Entry::file(b"abc".to_vec(), 0o640).owned(65_532, 70_000)).unwrap();
    tree.add("lib", Entry::symlink("usr/lib")).unwrap();
    tree.add("edge59", Entry::symlink("e".repeat(59))).unwrap();
    tree.add("edge60", Entry::symlink("e".repeat(60))).unwrap();
    tree.add("long", Entry::symlink("../".repeat(1300) + "x")).unwrap();
    tree.add("dev/console", Entry::device(DeviceClass::Character, 5, 1, 0o600)).unwrap();
    tree.add("dev/vda", Entry::device(DeviceClass::Block, 259, 300, 0o660).owned(0, 6)).unwrap();
    for number in 0..700 {
        let name = format!("many/{}-{number}", "n".repeat(number % 240));
        tree.add(name, Entry::file(number.to_string().into_bytes(), 0o644)).unwrap();
    }
    tree
}

/// What [`found`] is expected to find, owners left out: `rdump` gives those only to root.
fn expected(tree: &Tree) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    use underpin_image::{Content, Kind};
    let of = |entry: &Entry| match &entry.kind {
        Kind::File(Content::Bytes(bytes)) => (0o100_000 | entry.mode, bytes.to_vec()),
        Kind::File(Content::Host { path, .. }) => (0o100_000 | entry.mode, fs::read(path).unwrap()),
        Kind::Directory => (0o040_000 | entry.mode, Vec::new()),
        Kind::Symlink(to) => (0o120_777, to.clone().into_os_string().into_encoded_bytes()),
        Kind::Device { .. } => unreachable!(),
    };
    let entries = tree.entries().filter(|(_, entry)| !matches!(entry.kind, Kind::Device { .. }));
    entries.map(|(path, entry)| (path.to_owned(), of(entry))).collect()
}

#[test]
fn e2fsck_has_no_complaint_and_debugfs_extracts_the_tree() {
    need!("e2fsck", "debugfs");
    let tree = every_kind();
    for (bytes, journal) in [(None, false), (None, true), (Some(64 << 20), false), (Some(300 << 20), true)] {
        let folder = tempfile::tempdir().unwrap();
        let disk = written(&tree, &settings(bytes, journal), folder.path());
        is_clean(&disk);
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        says("debugfs", &["-R", &format!("rdump / {}", out.display())], &disk);
        let mut all = found(&out);
        assert_eq!(all.remove(Path::new("lost+found")).map(|lost| lost.0), Some(0o040_700));
        assert!(
            all.values().filter(|(mode, ..)| mode & 0o170_000 != 0o120_000).all(|(_, time, _)| *time == 1_700_000_000)
        );
        // Without root debugfs leaves devices out; with it they are judged below.
        all.retain(|_, (mode, ..)| ![0o020_000, 0o060_000].contains(&(*mode & 0o170_000)));
        let want = expected(&tree);
        for (path, (mode, content)) in &want {
            let (found, _, bytes) = &all[path];
            // rdump sets no set-user-id, set-group-id and sticky bits: those are compared with mke2fs's below.
            assert_eq!(*found, mode & !0o7000, "{}", path.display());
            assert!(bytes == content, "{}", path.display());
        }
        assert_eq!(all.len(), want.len());
    }
}

#[test]
fn inodes_are_those_that_mke2fs_makes_of_the_same_tree() {
    need!("mke2fs", "debugfs");
    let folder = tempfile::tempdir().unwrap();
    let (source, disk) = (folder.path().join("source"), every_kind());
    let ours = written(&disk, &settings(Some(64 << 20), false), folder.path());
    // Devices and owners need root on the oracle's side: their inodes are compared with what was asked for.
    for (path, entry) in disk.entries() {
        use underpin_image::Kind;
        let place = source.join(path);
        match &entry.kind {
            Kind::Directory => {
                fs::create_dir_all(&place).unwrap();
                fs::set_permissions(&place, fs::Permissions::from_mode(entry.mode)).unwrap();
            }
            Kind::File(content) => {
                content.copy(&mut File::create(&place).unwrap(), &place).unwrap();
                fs::set_permissions(&place, fs::Permissions::from_mode(entry.mode)).unwrap();
            }
            Kind::Symlink(to) => std::os::unix::fs::symlink(to, &place).unwrap(),
            Kind::Device { .. } => {}
        }
    }
    let theirs = folder.path().join("theirs.img");
    let words = ["-q", "-t", "ext4", "-b", "4096", "-O", "^has_journal,^metadata_csum,^64bit", "-d"];
    let path = std::env::var("PATH").unwrap() + ":/usr/sbin:/sbin";
    let mut peer = Command::new("mke2fs");
    peer.args(words).arg(&source).arg(&theirs).arg("64M").env("PATH", path);
    assert!(peer.status().unwrap().success());
    let stat = |disk: &Path, name: &str| {
        let text = says("debugfs", &["-R", &format!("stat \"/{name}\"")], disk);
        let wanted =
            |line: &&str| ["Inode:", "User:", "Links:", "Fast link", "Device"].iter().any(|word| line.contains(word));
        let clean = |line: &str| line.split_once("Type:").map_or(line, |(_, rest)| rest).replace("Generation:", "");
        text.lines().filter(wanted).map(clean).collect::<Vec<_>>()
    };
    for name in ["tmp", "usr", "usr/bin/su", "usr/bin/empty", "usr/bin/whole", "lib", "edge59", "edge60", "long"] {
        let (mine, other) = (stat(&ours, name), stat(&theirs, name));
        let fields = |lines: &[String]| {
            let words = lines.join(" ");
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let value = |name: &str| words.iter().position(|word| word == name).map(|at| words[at + 1].clone());
            ["Mode:", "Flags:", "Size:", "Links:", "Blockcount:", "Fast"].map(value)
        };
        // The kind, without flags of directories: a peer may index them.
        assert_eq!(fields(&mine), fields(&other), "{name}: {mine:#?} {other:#?}");
    }
    let owned = stat(&ours, "usr/bin/odd name\u{e9}").join(" ");
    assert!(owned.contains("65532") && owned.contains("70000"), "{owned}");
    assert!(stat(&ours, "dev/console").join(" ").contains("05:01"));
    assert!(stat(&ours, "dev/vda").join(" ").contains("259:300"));
}

#[test]
fn a_file_over_many_groups_is_whole() {
    need!("e2fsck", "debugfs");
    let folder = tempfile::tempdir().unwrap();
    // More parts than an inode holds, almost all of them holes of the host's file.
    let large = folder.path().join("large");
    let file = File::create(&large).unwrap();
    file.set_len(560 << 20).unwrap();
    for at in [0, 200 << 20, 400 << 20, (560 << 20) - 3] {
        std::os::unix::fs::FileExt::write_all_at(&file, b"end", at).unwrap();
    }
    let mut tree = Tree::new(0);
    tree.add("large", Entry::file(underpin_image::Content::host(&large).unwrap(), 0o644)).unwrap();
    tree.add("after", Entry::file(b"after".to_vec(), 0o644)).unwrap();
    let disk = written(&tree, &settings(None, false), folder.path());
    is_clean(&disk);
    let out = folder.path().join("out");
    says("debugfs", &["-R", &format!("dump /large {}", out.display())], &disk);
    assert!(Command::new("cmp").arg(&large).arg(&out).status().unwrap().success());
}

#[test]
fn sizes_around_a_groups_end_are_clean_and_the_room_is_what_was_asked_for() {
    need!("e2fsck");
    let mut tree = Tree::new(4_000_000_000);
    tree.add("file", Entry::file(vec![1; 5000], 0o644)).unwrap();
    for mib in [5, 127, 128, 129, 137, 256, 257, 1025] {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(Some(mib << 20), mib > 8);
        let path = folder.path().join("disk.img");
        let file = File::create(&path).unwrap();
        let bytes = ext4::write(&tree, &settings, &Place { file: &file, offset: 0, path: &path }).unwrap();
        assert!(bytes <= mib << 20 && bytes + (16 << 20) > mib << 20, "{mib} MiB: {bytes}");
        is_clean(&path);
    }
}

#[test]
fn what_does_not_fit_is_refused_with_the_size_that_would() {
    let mut tree = Tree::new(0);
    tree.add("file", Entry::file(vec![1; 9 << 20], 0o644)).unwrap();
    let refused = ext4::size(&tree, &settings(Some(8 << 20), false));
    let Err(ImageError::TooSmall { needed, given: 8 }) = refused else { panic!("{refused:?}") };
    assert!(ext4::size(&tree, &settings(Some(needed << 20), false)).is_ok());
    tree.add("lost+found", Entry::file(Vec::new(), 0o644)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.img");
    let file = File::create(&path).unwrap();
    let result = ext4::write(&tree, &settings(None, false), &Place { file: &file, offset: 0, path: &path });
    assert!(matches!(result, Err(ImageError::Name { .. })), "{result:?}");
}
