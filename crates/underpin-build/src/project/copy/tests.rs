use super::*;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::time::Duration;

struct Trees {
    folder: tempfile::TempDir,
}

impl Trees {
    fn new() -> Trees {
        let trees = Trees { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(trees.from("")).unwrap();
        trees
    }

    fn from(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("from").join(name)
    }

    fn to(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("to").join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.from(name).parent().unwrap()).unwrap();
        fs::write(self.from(name), text).unwrap();
    }

    fn copy(&self) -> Result<(), BuildError> {
        let [from, to] = ["from", "to"].map(|name| self.folder.path().canonicalize().unwrap().join(name));
        copy(&Copy { from, to, with_results: false })
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.to(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

#[test]
fn a_link_out_of_the_sources_still_leads_to_what_it_led_to() {
    let trees = Trees::new();
    fs::create_dir_all(trees.folder.path().join("shared/sub")).unwrap();
    fs::write(trees.folder.path().join("shared/x.h"), "shared").unwrap();
    trees.put("src/a.c", "a");
    symlink("../../shared/x.h", trees.from("src/x.h")).unwrap();
    symlink("../shared", trees.from("all")).unwrap();
    symlink("nowhere", trees.from("dangling")).unwrap();
    trees.copy().unwrap();
    assert_eq!(trees.text("src/x.h"), "shared");
    assert_eq!(trees.text("all/x.h"), "shared");
    // A build that writes to the copy's file does not write to the one outside.
    assert!(!fs::symlink_metadata(trees.to("src/x.h")).unwrap().is_symlink());
    assert_eq!(fs::read_link(trees.to("dangling")).unwrap(), Path::new("nowhere"));
}

#[test]
fn a_link_within_the_sources_leads_to_the_copy_and_never_back() {
    let trees = Trees::new();
    trees.put("src/a.c", "a");
    symlink("src/a.c", trees.from("relative.c")).unwrap();
    symlink(trees.from("src"), trees.from("absolute")).unwrap();
    symlink("../from/src", trees.from("around")).unwrap();
    trees.copy().unwrap();
    for name in ["relative.c", "absolute/a.c", "around/a.c"] {
        fs::write(trees.to(name), "changed").unwrap();
        assert_eq!(fs::read_to_string(trees.from("src/a.c")).unwrap(), "a", "{name} leads to the sources");
    }
}

#[test]
fn what_becomes_a_folder_a_file_or_a_link_is_so_in_the_next_copy() {
    let trees = Trees::new();
    trees.put("one", "file");
    trees.put("two/inner", "inner");
    symlink("two", trees.from("three")).unwrap();
    trees.copy().unwrap();
    fs::remove_file(trees.from("one")).unwrap();
    fs::remove_dir_all(trees.from("two")).unwrap();
    fs::remove_file(trees.from("three")).unwrap();
    trees.put("one/inner", "in one");
    trees.put("two", "a file now");
    trees.put("three/inner", "in three");
    trees.copy().unwrap();
    assert_eq!(trees.text("one/inner"), "in one");
    assert_eq!(trees.text("two"), "a file now");
    assert_eq!(trees.text("three/inner"), "in three");
    assert!(!fs::symlink_metadata(trees.to("three")).unwrap().is_symlink());
}

#[test]
fn a_time_to_come_is_no_time_of_the_copy() {
    let trees = Trees::new();
    trees.put("a.c", "a");
    let later = SystemTime::now() + Duration::from_secs(100_000);
    fs::File::options().write(true).open(trees.from("a.c")).unwrap().set_modified(later).unwrap();
    trees.copy().unwrap();
    let first = fs::metadata(trees.to("a.c")).unwrap().modified().unwrap();
    assert!(first <= SystemTime::now());
    // The same bytes are not written again, other ones are.
    trees.copy().unwrap();
    assert_eq!(fs::metadata(trees.to("a.c")).unwrap().modified().unwrap(), first);
    fs::write(trees.from("a.c"), "b").unwrap();
    fs::File::options().write(true).open(trees.from("a.c")).unwrap().set_modified(later).unwrap();
    trees.copy().unwrap();
    assert_eq!(trees.text("a.c"), "b");
}

#[test]
fn what_an_earlier_build_left_stays_behind_and_firmware_of_other_machines_does_not() {
    let trees = Trees::new();
    let elf = |machine: u16, order: u8| {
        let mut bytes = b"\x7fELF\x02".to_vec();
        bytes.push(order);
        bytes.resize(18, 0);
        bytes.extend(if order == 2 { machine.to_be_bytes() } else { machine.to_le_bytes() });
        bytes
    };
    trees.put("a.c", "a");
    trees.put("a.o", "object");
    trees.put("config.status", "configured");
    trees.put("short", "\x7fELF");
    // x86-64 and aarch64; PowerPC, s390 and PA-RISC, as QEMU has them.
    for (name, bytes) in [("prog", elf(62, 1)), ("other", elf(183, 1))] {
        fs::write(trees.from(name), bytes).unwrap();
    }
    for (name, bytes) in [("openbios-ppc", elf(20, 2)), ("s390-ccw.img", elf(22, 2)), ("hppa.img", elf(15, 2))] {
        fs::write(trees.from(name), bytes).unwrap();
    }
    trees.copy().unwrap();
    let mut names: Vec<_> =
        fs::read_dir(trees.to("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["a.c", "hppa.img", "openbios-ppc", "s390-ccw.img", "short"]);
}

#[test]
fn a_folder_called_target_is_source_unless_it_is_marked_as_a_cache() {
    let trees = Trees::new();
    trees.put("src/target/mod.rs", "source");
    trees.put("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    trees.put("target/release/big", "result");
    trees.put(".git", "gitdir: /elsewhere");
    trees.copy().unwrap();
    assert_eq!(trees.text("src/target/mod.rs"), "source");
    assert!(!trees.to("target").exists() && !trees.to(".git").exists());
}

#[test]
fn a_tree_deeper_than_the_limit_of_open_files_and_a_name_that_is_no_utf8_are_copied() {
    let trees = Trees::new();
    // A process may have 1024 files open; paths end at 4096 bytes.
    let deep = "d/".repeat(1500);
    trees.put(&format!("{deep}leaf"), "deep");
    let odd = std::ffi::OsString::from_vec(b"caf\xe9 .c".to_vec());
    fs::write(trees.from("").join(&odd), "odd").unwrap();
    trees.copy().unwrap();
    assert_eq!(trees.text(&format!("{deep}leaf")), "deep");
    assert_eq!(fs::read(trees.to("").join(&odd)).unwrap(), b"odd");
    // The standard library opens every folder on the way down to remove a tree.
    std::process::Command::new("rm").arg("-rf").args([trees.from(""), trees.to("")]).status().unwrap();
}

#[test]
fn what_the_sources_no_longer_have_goes_and_what_the_build_made_stays() {
    let trees = Trees::new();
    trees.put("a.c", "a");
    trees.put("b.c", "b");
    trees.copy().unwrap();
    fs::write(trees.to("made.o"), "made").unwrap();
    fs::remove_file(trees.from("b.c")).unwrap();
    trees.copy().unwrap();
    assert!(trees.to("a.c").exists() && trees.to("made.o").exists() && !trees.to("b.c").exists());
}

#[test]
fn a_folder_that_became_a_link_does_not_lead_the_removal_to_files_of_the_users() {
    let trees = Trees::new();
    trees.put("all/x.h", "own");
    trees.copy().unwrap();
    fs::create_dir(trees.folder.path().join("shared")).unwrap();
    fs::write(trees.folder.path().join("shared/x.h"), "precious").unwrap();
    fs::remove_dir_all(trees.from("all")).unwrap();
    symlink("../shared", trees.from("all")).unwrap();
    trees.copy().unwrap();
    assert_eq!(fs::read_to_string(trees.folder.path().join("shared/x.h")).unwrap(), "precious");
    assert_eq!(trees.text("all/x.h"), "precious");
}
