//! The archives that the system's cpio(1) reads are those that we write, and the same tree is the same bytes.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "common/files.rs"]
mod files;

use files::found;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use underpin_image::write::cpio;
use underpin_image::{Entry, ImageError, Tree};
use underpin_test_support::need;

/// What cpio prints when it reads an archive.
fn cpio_says(archive: &[u8], words: &[&str], folder: &Path) -> String {
    let file = folder.join("archive.cpio");
    fs::write(&file, archive).unwrap();
    let mut command = Command::new("cpio");
    command.args(words).arg("--quiet").stdin(fs::File::open(&file).unwrap()).stderr(Stdio::piped());
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::remove_file(&file).unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn cpio_lists_and_extracts_what_was_put_in() {
    need!("cpio");
    let mut tree = Tree::new(1_700_000_000);
    tree.add("tmp", Entry::directory(0o1777)).unwrap();
    tree.add("usr/bin/su", Entry::file(vec![7; 4097], 0o4755)).unwrap();
    tree.add("usr/bin/empty", Entry::file(Vec::new(), 0o600)).unwrap();
    tree.add("usr/bin/odd name\u{e9}", Entry::file(b"abc".to_vec(), 0o640)).unwrap();
    tree.add("lib", Entry::symlink("usr/lib")).unwrap();
    let archive = cpio::bytes(&tree).unwrap();
    assert_eq!(archive.len() % 512, 0);
    let folder = tempfile::tempdir().unwrap();
    let listed = cpio_says(&archive, &["-it"], folder.path());
    let names: Vec<String> = tree.entries().map(|(path, _)| path.display().to_string()).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), names);
    cpio_says(&archive, &["-idm"], folder.path());
    let found = found(folder.path());
    assert_eq!(found.len(), tree.len());
    assert_eq!(found[Path::new("usr/bin/su")], (0o104_755, 1_700_000_000, vec![7; 4097]));
    assert_eq!(found[Path::new("usr/bin/empty")], (0o100_600, 1_700_000_000, Vec::new()));
    assert_eq!(found[Path::new("usr/bin/odd name\u{e9}")], (0o100_640, 1_700_000_000, b"abc".to_vec()));
    assert_eq!((found[Path::new("tmp")].0, found[Path::new("tmp")].1), (0o041_777, 1_700_000_000));
    assert_eq!(found[Path::new("lib")].2, b"usr/lib");
}

#[test]
fn owners_and_devices_are_those_of_the_tree() {
    need!("cpio");
    let mut tree = Tree::new(0);
    tree.add("dev/console", Entry::device(underpin_image::DeviceClass::Character, 5, 1, 0o600)).unwrap();
    tree.add("dev/vda", Entry::device(underpin_image::DeviceClass::Block, 254, 16, 0o660).owned(0, 6)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let listed = cpio_says(&cpio::bytes(&tree).unwrap(), &["-itvn"], folder.path());
    let lines: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..4], ["drwxr-xr-x", "2", "0", "0"]);
    assert_eq!(lines[1][..6], ["crw-------", "1", "0", "0", "5,", "1"]);
    assert_eq!(lines[2][..6], ["brw-rw----", "1", "0", "6", "254,", "16"]);
}

#[test]
fn two_folders_with_other_rights_times_and_order_are_the_same_bytes() {
    let make = |names: [&str; 3], mode: u32| {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join("share").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, name).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(mode | 0o100)).unwrap();
        }
        symlink("share", folder.path().join("link")).unwrap();
        folder
    };
    let (one, two) = (make(["b", "a", "c"], 0o600), make(["c", "b", "a"], 0o664));
    std::os::unix::fs::chown(two.path().join("share/a"), Some(1000), Some(1000)).ok();
    fs::File::open(two.path().join("share/b")).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let bytes = |folder: &Path| cpio::bytes(&Tree::from_folder(folder, 42).unwrap()).unwrap();
    assert_eq!(bytes(one.path()), bytes(two.path()));
    assert_ne!(bytes(one.path()), cpio::bytes(&Tree::from_folder(one.path(), 43).unwrap()).unwrap());
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let mut tree = Tree::new(0);
    tree.add("TRAILER!!!", Entry::file(Vec::new(), 0o644)).unwrap();
    assert!(matches!(cpio::bytes(&tree), Err(ImageError::Name { .. })));
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large");
    fs::File::create(&large).unwrap().set_len(1 << 32).unwrap();
    let tree = Tree::from_folder(folder.path(), 0).unwrap();
    assert!(matches!(cpio::write(&tree, &mut std::io::sink(), Path::new("x")), Err(ImageError::Limit { .. })));
}
