//! What reaches the server, and what programs see of the mirror. The judge of the contents is the folder itself.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;
use underpin_slowfs::{Mounted, Options, SlowFs};
use underpin_test_support::{Fixture, Output, need};

/// Longer than any test.
const EVER: Duration = Duration::from_secs(3600);

fn mount(dir: &Fixture, options: &Options) -> Option<(PathBuf, Mounted)> {
    let source = dir.mkdir("source");
    let mountpoint = dir.mkdir("mount");
    match SlowFs::mount(&source, &mountpoint, options) {
        Ok(mounted) => Some((mountpoint, mounted)),
        Err(error) => {
            underpin_test_support::skip(&error.to_string());
            None
        }
    }
}

#[test]
fn files_directories_and_links_look_as_they_do_in_the_source() {
    need!("/dev/fuse", "fusermount3");
    let dir = Fixture::new();
    let bytes: Vec<u8> = (0..400_000_u32).flat_map(u32::to_le_bytes).collect();
    let file = dir.write("source/deep/er/file", &bytes);
    dir.chmod("source/deep/er/file", 0o751);
    dir.symlink("er/file", "source/deep/link");
    let Some((at, _mounted)) = mount(&dir, &Options::default()) else { return };
    assert!(fs::read(at.join("deep/er/file")).expect("the file") == bytes);
    assert!(fs::read(at.join("deep/link")).expect("through the link") == bytes);
    assert_eq!(fs::read_link(at.join("deep/link")).expect("the link"), PathBuf::from("er/file"));
    let (outside, inside) =
        (file.metadata().expect("facts"), at.join("deep/er/file").metadata().expect("mirrored facts"));
    assert_eq!(
        (inside.mode(), inside.uid(), inside.gid(), inside.size()),
        (outside.mode(), outside.uid(), outside.gid(), outside.size())
    );
    assert_eq!(inside.modified().expect("a time"), outside.modified().expect("a time"));
    let mut names: Vec<_> =
        fs::read_dir(at.join("deep")).expect("a folder").map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["er", "link"]);
}

#[test]
fn it_refuses_to_be_written() {
    need!("/dev/fuse", "fusermount3");
    let dir = Fixture::new();
    dir.write("source/file", "as it was");
    let Some((at, _mounted)) = mount(&dir, &Options::default()) else { return };
    assert!(fs::write(at.join("file"), "changed").is_err());
    assert!(fs::write(at.join("new"), "new").is_err());
    assert!(fs::remove_file(at.join("file")).is_err());
    assert_eq!(fs::read_to_string(dir.join("source/file")).expect("the file"), "as it was");
}

#[test]
fn two_names_of_one_file_are_one_file() {
    need!("/dev/fuse", "fusermount3");
    let dir = Fixture::new();
    let file = dir.write("source/a", "x");
    fs::hard_link(&file, dir.join("source/b")).expect("a hard link");
    let Some((at, _mounted)) = mount(&dir, &Options::default()) else { return };
    let identity = |name: &str| at.join(name).metadata().map(|facts| (facts.dev(), facts.ino())).expect("facts");
    assert_eq!(identity("a"), identity("b"));
}

#[test]
fn a_program_with_its_library_runs_from_it() {
    need!("/dev/fuse", "fusermount3", "cc");
    let dir = Fixture::new();
    dir.mkdir("source/lib");
    dir.write("a.c", "int answer(void){return 42;}");
    dir.write("main.c", "int answer(void); int main(void){return answer();}");
    dir.cc(["-shared", "-fPIC", "-o", "source/lib/liba.so", "a.c"]);
    dir.cc(["-o", "source/main", "main.c", "-Lsource/lib", "-la", "-Wl,-rpath,$ORIGIN/lib"]);
    let options = Options::default().with_delay(Duration::from_micros(50));
    let Some((at, mounted)) = mount(&dir, &options) else { return };
    let starts = (0..8).map(|_| dir.command(at.join("main")).spawn().expect("a start")).collect::<Vec<_>>();
    for mut start in starts {
        assert_eq!(start.wait().expect("an end").code(), Some(42));
    }
    let counts = mounted.counts();
    // The program and its library, eight times each.
    assert_eq!(counts.opens, 16, "{counts:?}");
    assert!(counts.reads > 0 && counts.lookups > 0, "{counts:?}");
}

#[test]
fn without_times_to_live_every_component_of_every_path_is_asked_for_every_time() {
    need!("/dev/fuse", "fusermount3");
    let dir = Fixture::new();
    dir.write("source/a/b/file", "x");
    let Some((at, mounted)) = mount(&dir, &Options::default()) else { return };
    for _ in 0..3 {
        let before = mounted.counts();
        assert!(fs::symlink_metadata(at.join("a/b/none")).is_err());
        let taken = mounted.counts() - before;
        assert_eq!((taken.lookups, taken.absent, taken.getattrs, taken.opens), (3, 1, 0, 0));
    }
    let before = mounted.counts();
    assert_eq!(fs::read(at.join("a/b/file")).expect("the file"), b"x");
    let taken = mounted.counts() - before;
    assert_eq!((taken.lookups, taken.absent, taken.opens), (3, 0, 1), "{taken:?}");
}

#[test]
fn with_times_to_live_a_name_is_asked_for_once() {
    need!("/dev/fuse", "fusermount3");
    let dir = Fixture::new();
    dir.write("source/a/b/file", "x");
    let options = Options { entry_ttl: EVER, attribute_ttl: EVER, negative_ttl: Some(EVER), ..Options::default() };
    let Some((at, mounted)) = mount(&dir, &options) else { return };
    for _ in 0..5 {
        assert!(at.join("a/b/file").metadata().is_ok());
        assert!(at.join("a/b/none").metadata().is_err());
    }
    let counts = mounted.counts();
    assert_eq!((counts.lookups, counts.absent, counts.getattrs), (4, 1, 0), "{counts:?}");
}

#[test]
fn a_missing_name_is_asked_for_again_where_only_found_ones_are_remembered() {
    need!("/dev/fuse", "fusermount3");
    let dir = Fixture::new();
    dir.mkdir("source/a");
    let options = Options { entry_ttl: EVER, attribute_ttl: EVER, ..Options::default() };
    let Some((at, mounted)) = mount(&dir, &options) else { return };
    for _ in 0..5 {
        assert!(at.join("a/none").metadata().is_err());
    }
    let counts = mounted.counts();
    assert_eq!((counts.lookups, counts.absent), (6, 5), "{counts:?}");
}

#[test]
fn pages_are_read_again_at_every_open_only_where_they_are_dropped() {
    need!("/dev/fuse", "fusermount3");
    let reads = |keep_pages| {
        let dir = Fixture::new();
        dir.write("source/file", vec![7; 100_000]);
        let (at, mounted) = mount(&dir, &Options { keep_pages, ..Options::default() })?;
        for _ in 0..3 {
            assert_eq!(fs::read(at.join("file")).expect("the file").len(), 100_000);
        }
        Some(mounted.counts().bytes_read)
    };
    let (Some(kept), Some(dropped)) = (reads(true), reads(false)) else { return };
    assert_eq!((kept, dropped), (100_000, 300_000));
}

#[test]
fn the_mount_point_is_free_again_after_the_drop() {
    need!("/dev/fuse", "fusermount3");
    let dir = Fixture::new();
    dir.write("source/file", "x");
    let Some((at, mounted)) = mount(&dir, &Options::default()) else { return };
    let open = fs::File::open(at.join("file")).expect("a file held open");
    drop(mounted);
    assert!(!at.join("file").exists());
    drop(open);
    fs::remove_dir(&at).expect("an empty folder");
}

#[test]
fn what_cannot_be_mirrored_is_said() {
    let dir = Fixture::new();
    let file = dir.write("file", "x");
    for source in [file, dir.join("nowhere")] {
        let error = SlowFs::mount(&source, dir.path(), &Options::default()).expect_err("no folder");
        assert!(error.to_string().contains(source.to_str().expect("a path")), "{error}");
    }
}

#[test]
fn the_command_mounts_runs_and_writes_the_counts() {
    need!("/dev/fuse", "fusermount3", "cat");
    let dir = Fixture::new();
    dir.write("source/a/file", "hello");
    let at = dir.mkdir("mount");
    let mut command = dir.command(env!("CARGO_BIN_EXE_underpin-slowfs"));
    command.args(["source", "mount", "--delay", "20", "--rate", "20000", "--counts", "counts.json", "--", "cat"]);
    let output = Output::of(command.arg(at.join("a/file")));
    if output.stderr.contains("cannot mount") {
        underpin_test_support::skip(&output.stderr);
        return;
    }
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "hello"), "{}", output.stderr);
    let counts: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.join("counts.json")).expect("the counts")).expect("JSON");
    assert_eq!((&counts["lookups"], &counts["opens"]), (&2.into(), &1.into()), "{counts}");
    assert!(!at.join("a").exists(), "still mounted");
}
