//! Disks and cards: their bytes, the tools that read them, and the guest that has its root there.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::underpin;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use underpin_test_support::{Fixture, Output, need, path_with_board, skip};

/// A run with the cache that all tests of images share, so that packages are fetched once.
fn image(dir: &Fixture, args: &[&str]) -> Output {
    let mut command = underpin(["image"]);
    command.args(args).current_dir(dir.path()).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    Output::of(&mut command)
}

/// A static program that shows what its root is on, and writes to it.
fn fixture(compiler: &str) -> Fixture {
    let dir = Fixture::new();
    dir.write(
        "main.c",
        "#include <stdio.h>\n#include <string.h>\nint main(int c, char **v){ char line[512]; FILE *f = fopen(\"/proc/mounts\", \"r\"); \
         while (fgets(line, sizeof line, f)) if (strstr(line, \" / ext4 \")) printf(\"root on ext4\\n\"); \
         f = fopen(\"/srv/data\", \"r\"); printf(\"%s\\n\", fgets(line, sizeof line, f)); \
         f = fopen(\"/srv/new\", \"w\"); printf(\"%d %s\\n\", f && fputs(\"x\", f) > 0 && !fclose(f), c > 1 ? v[1] : \"\"); \
         fprintf(stderr, \"err\\n\"); return 7; }",
    );
    dir.write("data", "kept");
    let status = Command::new(compiler)
        .args(["-static", "-O1", "-o", "app", "main.c"])
        .current_dir(dir.path())
        .status()
        .unwrap();
    assert!(status.success());
    dir
}

/// Builds, or skips where Debian's archive cannot be used.
fn built(dir: &Fixture, args: &[&str]) -> Option<Value> {
    let output = image(dir, &[&["build", "app", "--add", "data:/srv/data", "--json"], args].concat());
    if output.code == Some(2) && output.stderr.contains("archive cannot be used") {
        skip(output.stderr.trim());
        return None;
    }
    assert_eq!(output.code, Some(0), "{args:?}: {}", output.stderr);
    Some(serde_json::from_str(&output.stdout).unwrap())
}

#[test]
fn a_guest_has_its_root_on_the_disk_and_the_image_stays_as_it_was_built() {
    need!("x86_64-linux-gnu-gcc", "qemu-system-x86_64", "e2fsck");
    let dir = fixture("x86_64-linux-gnu-gcc");
    let Some(document) = built(&dir, &["--target", "qemu-x86_64", "--format", "ext4", "-o", "out"]) else { return };
    assert_eq!((&document["format"], &document["disk"]["file"]), (&"ext4".into(), &"root.ext4".into()));
    let before = fs::read(dir.join("out/root.ext4")).unwrap();
    for _ in 0..2 {
        let output = image(&dir, &["run", "out", "--", "app", "two words"]);
        assert_eq!(output.code, Some(7), "{}", output.stderr);
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("root on ext4\nkept\n1 two words\n", "err\n"));
    }
    assert!(fs::read(dir.join("out/root.ext4")).unwrap() == before);
}

#[test]
fn a_card_has_what_the_board_reads_and_a_root_that_e2fsck_accepts() {
    need!("aarch64-linux-gnu-gcc", "e2fsck", "fsck.vfat", "sfdisk", "mdir");
    let dir = fixture("aarch64-linux-gnu-gcc");
    let Some(document) = built(&dir, &["--target", "rpi4", "-o", "out"]) else { return };
    let card = fs::read(dir.join("out/sd.img")).unwrap();
    assert!(card.len().is_power_of_two() && document["disk"]["bytes"] == card.len(), "{}", card.len());
    let tool = |name: &str, args: &[&str]| {
        let path = std::env::var("PATH").unwrap() + ":/usr/sbin:/sbin";
        let output = Command::new(name).args(args).current_dir(dir.path()).env("PATH", path).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{name}: {text} {}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let table: Value = serde_json::from_str(&tool("sfdisk", &["--json", "out/sd.img"])).unwrap();
    let partitions = table["partitiontable"]["partitions"].as_array().unwrap();
    let part = |index: usize| {
        let number = |name: &str| partitions[index][name].as_u64().unwrap() as usize * 512;
        &card[number("start")..number("start") + number("size")]
    };
    assert_eq!((&partitions[0]["type"], &partitions[1]["type"]), (&"c".into(), &"83".into()));
    fs::write(dir.join("boot.img"), part(0)).unwrap();
    fs::write(dir.join("root.img"), part(1)).unwrap();
    tool("fsck.vfat", &["-n", "boot.img"]);
    tool("e2fsck", &["-f", "-n", "root.img"]);
    let listed = tool("mdir", &["-b", "-i", "boot.img", "::"]);
    for name in
        ["start4.elf", "fixup4.dat", "config.txt", "cmdline.txt", "vmlinuz", "bcm2711-rpi-4-b.dtb", "initramfs.cpio"]
    {
        assert!(listed.lines().any(|line| line == format!("::/{name}")), "{name}: {listed}");
    }
    assert!(tool("mtype", &["-i", "boot.img", "::config.txt"]).contains("kernel=vmlinuz"));
    let output = image(&dir, &["build", "app", "--target", "rpi4", "--size", "64", "-o", "small"]);
    assert_eq!((output.code, output.stderr.lines().count()), (Some(2), 1), "{}", output.stderr);
    assert!(output.stderr.contains("at least 128 MiB"), "{}", output.stderr);
    let left: Vec<_> = fs::read_dir(dir.join("small")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == "initramfs.cpio"), "{left:?}");
    board(&dir);
}

/// Boots the card in the board of a QEMU that has it; from an older one a message says which would.
fn board(dir: &Fixture) {
    let on = |path: &OsStr| {
        let mut command = underpin(["image", "run", "out", "--get", "/srv/data:back", "--", "app", "two words"]);
        command.current_dir(dir.path()).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).env("PATH", path);
        Output::of(&mut command)
    };
    let older = |output: &Output| {
        assert!(output.stderr.contains("raspi4b") && output.stderr.contains("from 9 on"), "{}", output.stderr);
        assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
    };
    let (plain, newer) = (std::env::var_os("PATH").unwrap(), path_with_board());
    if plain != newer {
        older(&on(&plain));
    }
    let output = on(&newer);
    if output.code == Some(2) {
        // The set-up has said why it found none: the board belongs to newer distributions.
        return older(&output);
    }
    assert_eq!(output.code, Some(7), "{}", output.stderr);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("root on ext4\nkept\n1 two words\n", "err\n"));
    assert_eq!(fs::read(dir.join("back")).unwrap(), b"kept");
}

#[test]
fn another_folder_user_and_umask_give_the_same_bytes_in_every_format() {
    need!("x86_64-linux-gnu-gcc");
    let (one, two) = (fixture("x86_64-linux-gnu-gcc"), fixture("x86_64-linux-gnu-gcc"));
    for dir in [&one, &two] {
        dir.write("kernel", "not a real one");
    }
    // Another user if we may; then nothing of root's may be written to.
    let is_root = fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0);
    if is_root {
        std::os::unix::fs::chown(two.path(), Some(65_534), Some(65_534)).unwrap();
        fs::set_permissions(two.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let build = |dir: &Fixture, words: &[&str], out: &str, mask: &str, user: Option<u32>| {
        let program = underpin(["image", "build", "app", "--add", "data:/srv/data", "-o", out]);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("umask {mask}; exec \"$@\""), "sh"]).arg(program.get_program());
        shell.args(program.get_args()).args(words).current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache"));
        if let Some(user) = user {
            shell.uid(user).gid(user);
        }
        let output = Output::of(&mut shell);
        assert_eq!(output.code, Some(0), "{words:?}: {}", output.stderr);
    };
    let machine: &[&str] = &["--kernel", "kernel"];
    for (words, file) in [
        (machine, "initramfs.cpio"),
        (&["--kernel", "kernel", "--format", "ext4"], "root.ext4"),
        (&["--target", "oci"], "index.json"),
        (&["--target", "oci"], ""),
    ] {
        let out = if file.is_empty() { "image.tar".to_owned() } else { format!("{}-out", file.replace('.', "-")) };
        build(&one, words, &out, "022", None);
        build(&two, words, &out, "077", is_root.then_some(65_534));
        let read = |dir: &Fixture| {
            let place = dir.join(&out);
            fs::read(if file.is_empty() { place } else { place.join(file) }).unwrap()
        };
        assert!(read(&one) == read(&two), "{words:?} {file}");
    }
}

#[test]
fn a_disk_that_cannot_be_is_refused_in_one_sentence() {
    need!("x86_64-linux-gnu-gcc");
    let dir = fixture("x86_64-linux-gnu-gcc");
    dir.write("kernel", "not a real one");
    dir.write("data", "much ".repeat(1 << 19));
    for (words, part) in [
        (&["--target", "qemu-x86_64", "--format", "sd"][..], "initramfs or ext4"),
        (&["--target", "rpi4", "--format", "ext4"], "rpi4 takes sd"),
        (&["--target", "rpi4"], "program for x86-64"),
        (&["--target", "rpi5"], "rpi4"),
        (&["--target", "rpi4", "--size", "100"], "power of two"),
        (&["--kernel", "kernel", "--size", "8"], "--format ext4"),
        (&["--kernel", "kernel", "--format", "ext4", "--size", "1", "--add", "data:/srv/data"], "at least"),
        (&["--target", "oci", "--format", "ext4"], "no disk"),
    ] {
        let output = image(&dir, &[&["build", "app", "-o", "out"], words].concat());
        assert_eq!(output.code, Some(2), "{words:?}: {}", output.stderr);
        assert!(output.stderr.contains(part), "{words:?}: {}", output.stderr);
        let has_image = dir.join("out/image.json").exists() || dir.join("out/root.ext4").exists();
        assert!(!has_image && !dir.join("out/root.ext4.underpin-new").exists(), "{words:?}");
    }
}
