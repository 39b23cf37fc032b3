//! Replacing one file: what is kept, what is refused, and that nothing is left behind. Checked by stat, getfattr,
//! getcap and getfacl.

#![allow(clippy::unwrap_used, reason = "a panic is the failing assertion")]

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_rewrite::files::{Disagreement, FileIdentity, HardLinks, HeldFile, Keep, ReplaceError, Replaced, Times};
use underpin_rewrite::files::{clean, replace};
use underpin_test_support::{Fixture, need, skip};

fn to(target: &Path, bytes: &[u8], keep: &Keep) -> Result<Replaced, ReplaceError> {
    let planned = FileIdentity::at(target).unwrap();
    replace(target, &planned, bytes, keep, |_| Ok(()))
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// What a tool prints about a file.
fn told(tool: &str, arguments: &[&str], path: &Path) -> String {
    let output = Command::new(tool).args(arguments).arg(path).env("LC_ALL", "C").output().unwrap();
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_bytes_are_new_and_the_rest_stays() {
    need!("stat");
    let dir = Fixture::new();
    let file = dir.write("prog", "old");
    dir.chmod("prog", 0o751);
    let before = told("stat", &["-c", "%a %u %g %h %F"], &file);
    let inode = fs::metadata(&file).unwrap().ino();
    let done = to(&file, b"brand new", &Keep::default()).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"brand new");
    assert_eq!(told("stat", &["-c", "%a %u %g %h %F"], &file), before);
    assert_ne!(fs::metadata(&file).unwrap().ino(), inode, "a new file, not the old one written over");
    assert_eq!(done.now, FileIdentity::at(&file).unwrap());
    assert_eq!(names(dir.path()), ["prog"]);
}

#[test]
fn the_copy_stands_beside_the_target_complete_when_it_is_verified() {
    let dir = Fixture::new();
    let file = dir.write("prog", "#!/bin/sh\nexit 1\n");
    dir.chmod("prog", 0o755);
    let seen = RefCell::new(PathBuf::new());
    let planned = FileIdentity::at(&file).unwrap();
    replace(&file, &planned, b"#!/bin/sh\nexit 7\n", &Keep::default(), |copy| {
        *seen.borrow_mut() = copy.to_path_buf();
        assert_eq!(copy.parent(), file.parent());
        assert_eq!(Command::new("sh").arg(copy).status().unwrap().code(), Some(7), "it has all its bytes");
        assert_eq!(fs::metadata(copy).unwrap().mode() & 0o7777, 0o755, "and its mode");
        assert_eq!(Command::new("sh").arg(&file).status().unwrap().code(), Some(1), "the old one still stands there");
        Ok(())
    })
    .unwrap();
    assert!(!seen.borrow().exists());
    assert_eq!(Command::new("sh").arg(&file).status().unwrap().code(), Some(7));
}

#[test]
fn what_the_verifier_rejects_never_stands_there() {
    let dir = Fixture::new();
    let file = dir.write("prog", "old");
    let planned = FileIdentity::at(&file).unwrap();
    let lost = || Disagreement::Lost { name: "libx.so".into() };
    let error = replace(&file, &planned, b"new", &Keep::default(), |_| Err(lost())).unwrap_err();
    assert!(matches!(error, ReplaceError::Rejected { .. }), "{error}");
    assert_eq!(FileIdentity::at(&file).unwrap(), planned, "not even touched");
    assert_eq!(names(dir.path()), ["prog"]);
}

#[test]
fn a_symbolic_link_stays_and_its_file_is_changed() {
    let dir = Fixture::new();
    dir.write("real/libx.so.1.2", "old");
    dir.mkdir("lib");
    let link = dir.symlink("../real/libx.so.1.2", "lib/libx.so.1");
    let done = to(&link, b"new", &Keep::default()).unwrap();
    assert_eq!(done.path, dir.join("real/libx.so.1.2"));
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("../real/libx.so.1.2"));
    assert_eq!(fs::read(dir.join("real/libx.so.1.2")).unwrap(), b"new");
    assert_eq!(names(&dir.join("lib")), ["libx.so.1"]);
}

#[test]
fn times_are_kept_where_they_are_asked_for() {
    need!("touch", "stat");
    let dir = Fixture::new();
    for (keep, same) in [(Times::Kept, true), (Times::New, false)] {
        let file = dir.write("prog", "old");
        dir.must("touch", ["-d", "2001-02-03 04:05:06.789", "prog"]);
        let before = told("stat", &["-c", "%y"], &file);
        to(&file, b"new", &Keep { times: keep, ..Keep::default() }).unwrap();
        assert_eq!(told("stat", &["-c", "%y"], &file) == before, same, "{keep:?}");
    }
}

#[test]
fn extended_attributes_and_acls_are_kept() {
    need!("setfattr", "getfattr", "setfacl", "getfacl");
    let dir = Fixture::new();
    let file = dir.write("prog", "old");
    let set = dir.command("setfattr").args(["-n", "user.comment", "-v", "mine", "prog"]).output().unwrap();
    if !set.status.success() {
        return skip("the temporary folder's file system has no user attributes");
    }
    dir.must("setfacl", ["-m", "u:12345:rx,g:54321:r", "prog"]);
    // What the directory would give a new file must not be on the one that replaces an old one.
    dir.must("setfacl", ["-d", "-m", "u:777:rwx", "."]);
    let facts = || {
        let attributes = told("getfattr", &["-d", "-m", "-"], &file);
        (attributes, told("getfacl", &["-n"], &file), told("stat", &["-c", "%a"], &file))
    };
    let before = facts();
    assert!(before.1.contains("user:12345:r-x") && before.0.contains("user.comment"), "{before:?}");
    to(&file, b"new", &Keep::default()).unwrap();
    assert_eq!(facts(), before);
}

#[test]
fn a_default_acl_of_the_directory_does_not_reach_the_new_file() {
    need!("setfacl", "getfacl");
    let dir = Fixture::new();
    let file = dir.write("prog", "old");
    let before = told("getfacl", &["-n"], &file);
    if !dir.command("setfacl").args(["-d", "-m", "u:777:rwx", "."]).output().unwrap().status.success() {
        return skip("the temporary folder's file system has no access control lists");
    }
    to(&file, b"new", &Keep::default()).unwrap();
    assert_eq!(told("getfacl", &["-n"], &file), before);
}

#[test]
fn owner_set_id_bits_and_capabilities_survive_together() {
    need!("setcap", "getcap", "stat");
    if !is_root() {
        return skip("changing owners and capabilities takes root");
    }
    let dir = Fixture::new();
    let file = dir.write("prog", "old");
    chown(&file, Some(4711), Some(4712)).unwrap();
    dir.chmod("prog", 0o6755);
    dir.must("setcap", ["cap_net_raw,cap_chown=ep", "prog"]);
    let facts = || (told("stat", &["-c", "%a %u %g"], &file), told("getcap", &[], &file));
    let before = facts();
    assert_eq!(before.0, "6755 4711 4712\n");
    assert!(before.1.contains("cap_chown,cap_net_raw=ep"), "{before:?}");
    to(&file, b"new", &Keep::default()).unwrap();
    assert_eq!(facts(), before);
}

#[test]
fn a_hard_link_is_refused_unless_every_name_is_known() {
    let dir = Fixture::new();
    let file = dir.write("a/libx.so", "old");
    dir.mkdir("b");
    let (other, third) = (dir.join("b/liby.so"), dir.join("b/libz.so"));
    fs::hard_link(&file, &other).unwrap();
    fs::hard_link(&file, &third).unwrap();
    let error = to(&file, b"new", &Keep::default()).unwrap_err();
    assert!(matches!(error, ReplaceError::HardLinks { links: 3, known: 1, .. }), "{error}");
    let keep = |names: Vec<PathBuf>| Keep { hard_links: HardLinks::Relink(names), ..Keep::default() };
    let error = to(&file, b"new", &keep(vec![file.clone(), other.clone()])).unwrap_err();
    assert!(matches!(error, ReplaceError::HardLinks { links: 3, known: 2, .. }), "{error}");
    assert_eq!(fs::read(&third).unwrap(), b"old");
    // A symbolic link to a name does not count as another name.
    let link = dir.symlink("libz.so", "b/link.so");
    assert!(to(&file, b"new", &keep(vec![other.clone(), link.clone()])).is_err());

    let done = to(&file, b"new", &keep(vec![other.clone(), third.clone(), link])).unwrap();
    assert_eq!(done.relinked, [other.clone(), third.clone()]);
    let inode = |path: &Path| (fs::metadata(path).unwrap().ino(), fs::metadata(path).unwrap().nlink());
    assert_eq!((inode(&other), inode(&third)), (inode(&file), inode(&file)));
    assert_eq!(inode(&file).1, 3);
    assert_eq!(fs::read(&third).unwrap(), b"new");
    assert_eq!(names(&dir.join("a")), ["libx.so"]);
    assert_eq!(names(&dir.join("b")), ["liby.so", "libz.so", "link.so"]);
}

#[test]
fn a_hard_link_may_be_broken_on_purpose() {
    let dir = Fixture::new();
    let file = dir.write("libx.so", "old");
    let other = dir.join("liby.so");
    fs::hard_link(&file, &other).unwrap();
    to(&file, b"new", &Keep { hard_links: HardLinks::Break, ..Keep::default() }).unwrap();
    assert_eq!((fs::read(&file).unwrap(), fs::read(&other).unwrap()), (b"new".to_vec(), b"old".to_vec()));
}

#[test]
fn a_file_that_changed_since_it_was_planned_is_left_alone() {
    let dir = Fixture::new();
    let file = dir.write("prog", "old");
    let planned = FileIdentity::at(&file).unwrap();
    fs::write(&file, "OLD and more").unwrap();
    let error = replace(&file, &planned, b"new", &Keep::default(), |_| Ok(())).unwrap_err();
    assert!(matches!(error, ReplaceError::Changed { .. }), "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"OLD and more");
    assert_eq!(names(dir.path()), ["prog"]);
}

/// A change that another process may make to a file, and its name.
type Change = (&'static str, fn(&Path));

#[test]
fn a_file_that_changes_while_the_copy_is_verified_is_left_alone() {
    let dir = Fixture::new();
    let changes: [Change; 4] = [
        ("written", |file| fs::write(file, "another").unwrap()),
        ("replaced", |file| {
            fs::write(file.with_extension("new"), "other").unwrap();
            fs::rename(file.with_extension("new"), file).unwrap();
        }),
        ("mode", |file| fs::set_permissions(file, fs::Permissions::from_mode(0o700)).unwrap()),
        ("removed", |file| fs::remove_file(file).unwrap()),
    ];
    for (what, change) in changes {
        let file = dir.write("prog", "old");
        let planned = FileIdentity::at(&file).unwrap();
        let error = replace(&file, &planned, b"new", &Keep::default(), |_| {
            change(&file);
            Ok(())
        })
        .unwrap_err();
        assert!(matches!(error, ReplaceError::Changed { .. }), "{what}: {error}");
        assert_ne!(fs::read(&file).unwrap_or_default(), b"new", "{what}");
        assert!(names(dir.path()).iter().all(|name| name == "prog"), "{what}");
    }
}

#[test]
fn two_at_once_do_not_fight() {
    let dir = Fixture::new();
    let file = dir.write("prog", "old");
    let first = HeldFile::open(&file, None).unwrap();
    let error = HeldFile::open(&file, None).unwrap_err();
    assert!(matches!(error, ReplaceError::Busy { .. }), "{error}");
    first.replace(b"new", &Keep::default(), |_| Ok(())).unwrap();
    // The first still holds the old file, which is no longer there.
    assert_eq!(HeldFile::open(&file, None).unwrap().read().unwrap(), b"new");
}

#[test]
fn an_immutable_or_append_only_file_is_refused() {
    need!("chattr");
    let dir = Fixture::new();
    for (letter, flag) in [('i', "immutable"), ('a', "append-only")] {
        let file = dir.write("prog", "old");
        if !dir.command("chattr").arg(format!("+{letter}")).arg(&file).output().unwrap().status.success() {
            return skip("chattr takes root and a file system with flags");
        }
        let outcome = to(&file, b"new", &Keep::default());
        dir.must("chattr", [format!("-{letter}"), "prog".into()]);
        let error = outcome.unwrap_err();
        assert!(error.is_refusal() && error.to_string().contains(flag), "{error}");
        assert_eq!((fs::read(&file).unwrap(), names(dir.path())), (b"old".to_vec(), vec!["prog".to_owned()]));
    }
}

#[test]
fn a_signed_file_is_refused() {
    need!("setfattr");
    let dir = Fixture::new();
    let file = dir.write("prog", "old");
    let set = dir.command("setfattr").args(["-n", "security.ima", "-v", "0x0404deadbeef", "prog"]).output().unwrap();
    if !set.status.success() {
        return skip("setting security.ima takes root and a file system with security attributes");
    }
    let error = to(&file, b"new", &Keep::default()).unwrap_err();
    assert!(matches!(error, ReplaceError::Signed { by: "IMA", .. }), "{error}");
    assert_eq!(names(dir.path()), ["prog"]);
}

#[test]
fn the_running_program_and_what_it_has_mapped_are_refused() {
    let exe = std::env::current_exe().unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mapped = |line: &str| line.split_whitespace().nth(5).filter(|path| path.contains("libc.so")).map(PathBuf::from);
    let libc = maps.lines().find_map(mapped).unwrap();
    for path in [&exe, &libc] {
        let before = FileIdentity::at(path).unwrap();
        // With a verifier that rejects everything, so that a gap in the rule does not cost the machine its libc.
        let never = |_: &Path| Err(Disagreement::Lost { name: "never".into() });
        let error = replace(path, &before, b"new", &Keep::default(), never).unwrap_err();
        assert!(matches!(error, ReplaceError::OwnFile { .. }), "{error}");
        assert_eq!(FileIdentity::at(path).unwrap(), before);
    }
}

#[test]
fn what_is_no_regular_file_is_refused() {
    need!("mkfifo");
    let dir = Fixture::new();
    dir.must("mkfifo", ["pipe"]);
    for path in [dir.join("pipe"), dir.mkdir("folder"), PathBuf::from("/dev/null")] {
        let error = HeldFile::open(&path, None).unwrap_err();
        assert!(matches!(error, ReplaceError::NotAFile { .. }), "{error}");
    }
}

/// A small file system of its own, unmounted when it is dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf, options: &str) -> Option<Disk> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&at).output().unwrap();
        mounted.status.success().then_some(Disk(at))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    need!("mount", "umount");
    let dir = Fixture::new();
    let Some(disk) = Disk::mount(dir.mkdir("disk"), "size=64k") else {
        return skip("mounting a small file system takes root");
    };
    let file = dir.write("disk/prog", "old");
    let error = to(&file, &vec![1; 1 << 20], &Keep::default()).unwrap_err();
    assert!(matches!(error, ReplaceError::NoSpace { size: 0x10_0000, .. }), "{error}");
    assert_eq!((names(&disk.0), fs::read(&file).unwrap()), (vec!["prog".to_owned()], b"old".to_vec()));
}

#[test]
fn a_read_only_file_system_is_refused() {
    need!("mount", "umount");
    let dir = Fixture::new();
    let Some(disk) = Disk::mount(dir.mkdir("disk"), "size=1m") else {
        return skip("mounting a file system takes root");
    };
    let file = dir.write("disk/prog", "old");
    dir.must("mount", ["-o", "remount,ro", "disk"]);
    let error = to(&file, b"new", &Keep::default()).unwrap_err();
    drop(disk);
    assert!(matches!(error, ReplaceError::ReadOnlyFileSystem { .. }) && error.is_refusal(), "{error}");
}

const AS_NOBODY: &str = "UNDERPIN_TEST_AS_NOBODY";

/// Runs one of this file's tests again as an unprivileged user.
fn as_nobody(test: &str, dir: &Fixture) {
    // The build directory may be closed to others, so the test is copied.
    let copy = dir.copy(std::env::current_exe().unwrap(), "test");
    dir.chmod(".", 0o755);
    dir.chmod("test", 0o755);
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(copy)
        .args([test, "--exact", "--nocapture"])
        .env(AS_NOBODY, dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("seen by nobody"), "{text}");
}

#[test]
fn without_root_a_foreign_owner_or_a_closed_directory_is_a_refusal() {
    if let Some(folder) = std::env::var_os(AS_NOBODY).map(PathBuf::from) {
        let closed = to(&folder.join("closed/prog"), b"new", &Keep::default()).unwrap_err();
        assert!(matches!(closed, ReplaceError::ReadOnlyDirectory { .. }), "{closed}");
        let foreign = to(&folder.join("open/prog"), b"new", &Keep::default()).unwrap_err();
        assert!(matches!(foreign, ReplaceError::OwnerNotKept { user: 0, group: 0, .. }), "{foreign}");
        assert!(closed.is_refusal() && foreign.is_refusal());
        println!("seen by nobody");
        return;
    }
    need!("setpriv");
    if !is_root() {
        return skip("becoming somebody else takes root");
    }
    let dir = Fixture::new();
    dir.write("closed/prog", "old");
    dir.write("open/prog", "old");
    dir.chmod("open", 0o777);
    as_nobody("without_root_a_foreign_owner_or_a_closed_directory_is_a_refusal", &dir);
    assert_eq!((names(&dir.join("closed")), names(&dir.join("open"))), (vec!["prog".into()], vec!["prog".into()]));
    assert_eq!(fs::read(dir.join("open/prog")).unwrap(), b"old");
}

#[test]
fn leftovers_of_killed_runs_are_removed_and_nothing_else() {
    let dir = Fixture::new();
    for name in [".prog.underpin-4711-3", "prog", ".profile", "prog.underpin-1-2", ".x.underpin-1"] {
        dir.write(name, "x");
    }
    dir.mkdir(".farm.underpin-1-2");
    dir.symlink("/lib/libc.so.6", ".farm.underpin-1-2/libc.so.6");
    dir.write(".dir.underpin-1-2/mine", "a folder of the user's");
    let mut removed = clean(dir.path()).unwrap().removed;
    removed.sort();
    assert_eq!(removed, [dir.join(".farm.underpin-1-2"), dir.join(".prog.underpin-4711-3")]);
    assert_eq!(names(dir.path()), [".dir.underpin-1-2", ".profile", ".x.underpin-1", "prog", "prog.underpin-1-2"]);
}
