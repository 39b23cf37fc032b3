use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

fn names(tree: &Tree) -> Vec<String> {
    tree.entries().map(|(path, _)| path.display().to_string()).collect()
}

fn file() -> Entry {
    Entry::file(Vec::new(), 0o644)
}

#[test]
fn a_directory_is_before_what_it_holds_and_is_made_if_it_is_missing() {
    let mut tree = Tree::new(0);
    for path in ["usr/bin/b", "/usr.d", "usr/bin/a", "/etc/passwd"] {
        tree.add(path, file()).unwrap();
    }
    assert_eq!(names(&tree), ["etc", "etc/passwd", "usr", "usr/bin", "usr/bin/a", "usr/bin/b", "usr.d"]);
    assert_eq!(tree.get("/usr/bin"), Some(&Entry::directory(0o755)));
}

#[test]
fn a_second_entry_of_a_name_is_refused_but_a_directory_that_was_only_implied_gets_its_mode() {
    let mut tree = Tree::new(0);
    tree.add("tmp/x", file()).unwrap();
    tree.add("/tmp", Entry::directory(0o1777)).unwrap();
    assert_eq!(tree.get("tmp").unwrap().mode, 0o1777);
    assert!(matches!(tree.add("tmp", Entry::directory(0o755)), Err(ImageError::Duplicate { .. })));
    assert!(matches!(tree.add("//tmp/./x", file()), Err(ImageError::Duplicate { .. })));
    assert_eq!(tree.len(), 2);
}

#[test]
fn names_that_lead_out_or_that_linux_cannot_have_are_refused() {
    let mut tree = Tree::new(0);
    let (long, deep) = ("x".repeat(256), "x/".repeat(2048) + "x");
    for path in ["../x", "a/../../x", "a/..", "/", "", ".", "a\0b", &long, &deep] {
        assert!(matches!(tree.add(path, file()), Err(ImageError::Name { .. })), "{path}");
    }
    assert!(tree.is_empty());
}

#[test]
fn nothing_is_added_through_a_link_or_below_a_file() {
    let mut tree = Tree::new(0);
    tree.add("lib", Entry::symlink("/usr/lib")).unwrap();
    tree.add("file", file()).unwrap();
    for path in ["lib/x", "file/x", "file/y/z"] {
        assert!(matches!(tree.add(path, file()), Err(ImageError::NotDirectory { .. })), "{path}");
    }
    assert_eq!(names(&tree), ["file", "lib"]);
}

#[test]
fn a_folder_keeps_the_right_to_execute_and_the_sticky_bit_and_nothing_else_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let set = |name: &str, mode| fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
    fs::create_dir(at("tmp")).unwrap();
    fs::create_dir(at("group")).unwrap();
    for name in ["plain", "program", "su"] {
        fs::write(at(name), name).unwrap();
    }
    symlink("../nowhere", at("link")).unwrap();
    for (name, mode) in [("tmp", 0o1700), ("group", 0o2770), ("plain", 0o600), ("program", 0o700), ("su", 0o4711)] {
        set(name, mode);
    }
    let tree = Tree::from_folder(folder.path(), 7).unwrap();
    let modes: Vec<(String, u32)> =
        tree.entries().map(|(path, entry)| (path.display().to_string(), entry.mode)).collect();
    let expected =
        [("group", 0o755), ("link", 0o777), ("plain", 0o644), ("program", 0o755), ("su", 0o4755), ("tmp", 0o1777)];
    assert_eq!(modes, expected.map(|(name, mode)| (name.to_owned(), mode)));
    assert!(tree.entries().all(|(_, entry)| (entry.uid, entry.gid) == (0, 0)) && tree.time() == 7);
    assert_eq!(tree.get("link").unwrap().kind, Kind::Symlink("../nowhere".into()));
}

#[test]
fn a_fifo_is_refused_without_being_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    for result in [Content::host(&path).map(|_| ()), Tree::from_folder(folder.path(), 0).map(|_| ())] {
        assert!(matches!(result, Err(ImageError::Kind { found: "a FIFO", .. })), "{result:?}");
    }
}

#[test]
fn a_file_that_changed_since_it_was_added_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    fs::write(&path, "one").unwrap();
    let content = Content::host(&path).unwrap();
    let mut out = Vec::new();
    content.copy(&mut out, Path::new("out")).unwrap();
    assert_eq!(out, b"one");
    for text in ["one and two", "1", ""] {
        fs::write(&path, text).unwrap();
        let result = content.copy(&mut Vec::new(), Path::new("out"));
        assert!(matches!(result, Err(ImageError::Changed { expected: 3, found, .. }) if found == text.len() as u64));
    }
}

#[test]
fn the_time_is_a_number_of_seconds_or_an_error() {
    assert_eq!(source_date_epoch(None).unwrap(), 0);
    assert_eq!(source_date_epoch(Some("1700000000".as_ref())).unwrap(), 1_700_000_000);
    for wrong in ["", "-1", "yesterday", "4294967296"] {
        assert!(matches!(source_date_epoch(Some(wrong.as_ref())), Err(ImageError::Epoch(_))), "{wrong}");
    }
}

#[test]
fn a_directory_that_nobody_added_keeps_what_it_is_in_the_layer_below() {
    let (mut below, mut above) = (Tree::new(0), Tree::new(0));
    below.add("tmp", Entry::directory(0o1777)).unwrap();
    below.add("srv", Entry::directory(0o700)).unwrap();
    above.add("tmp/app", Entry::file(&b""[..], 0o755)).unwrap();
    above.add("srv", Entry::directory(0o711)).unwrap();
    above.lie_over(&below);
    assert_eq!((above.get("tmp").unwrap().mode, above.get("srv").unwrap().mode), (0o1777, 0o711));
}
