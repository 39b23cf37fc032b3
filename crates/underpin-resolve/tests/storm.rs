//! The operations that the model predicts, compared with those that arrive at a file server: the FUSE mirror counts
//! them.
//!
//! Reads are left out if pages are cold: how far the kernel reads ahead does not depend on the loader.

#![allow(clippy::print_stdout, reason = "the shared strace reader says how many calls agreed")]

mod common;

use common::{modelled, spack};
use std::path::{Path, PathBuf};
use std::time::Duration;
use underpin_resolve::storm::{Client, FileSystemTable, Mountpoints, Node, Operations, Retention};
use underpin_resolve::{Closure, Environment, HostRoot};
use underpin_slowfs::{Counts, Mounted, Options, SlowFs};
use underpin_test_support::{Fixture, Output, need};

const EVER: Duration = Duration::from_secs(3600);

/// A tree that was built at a path, mounted at that path from another place.
struct Slow {
    mounted: Mounted,
    at: PathBuf,
    program: PathBuf,
    _elsewhere: Fixture,
}

/// Moves the contents of `dir` away and mounts them there. `None`, with a reason printed, if mounting is not permitted.
fn slow(dir: &Fixture, program: &Path, options: &Options) -> Option<Slow> {
    let elsewhere = Fixture::new();
    let source = elsewhere.join("tree");
    std::fs::rename(dir.path(), &source).expect("the tree moves");
    std::fs::create_dir(dir.path()).expect("a mount point");
    match SlowFs::mount(&source, dir.path(), options) {
        Ok(mounted) => {
            Some(Slow { mounted, at: dir.path().to_owned(), program: program.to_owned(), _elsewhere: elsewhere })
        }
        Err(error) => {
            underpin_test_support::skip(&error.to_string());
            None
        }
    }
}

impl Slow {
    fn closure(&self) -> Closure {
        modelled(&self.program, Environment::empty()).expect("a closure")
    }

    /// What the model predicts for the first and the second start.
    fn predicted(&self, client: &Client) -> [Operations; 2] {
        let (root, closure) = (HostRoot::new(), self.closure());
        let scope = Mountpoints::at([self.at.to_str().expect("a path").into()]);
        let mut node = Node::new(&root, client, &scope, 1.0, 128 << 10);
        [(); 2].map(|()| node.start(&closure).expect("a sequence of calls"))
    }

    /// What arrived during a start of the program.
    fn counted(&self, arguments: &[&str]) -> Counts {
        let before = self.mounted.counts();
        let mut command = std::process::Command::new(&self.program);
        command.args(arguments).env_clear().current_dir("/");
        let output = Output::of(&mut command);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        self.mounted.counts() - before
    }
}

fn fuse() -> Client {
    FileSystemTable::embedded().get("slowfs").expect("the mirror").client
}

fn assert_same(predicted: &Operations, counted: &Counts) {
    let ours = (predicted.lookups, predicted.absent, predicted.opens, predicted.attributes, predicted.links);
    let theirs = (counted.lookups, counted.absent, counted.opens, counted.getattrs, counted.readlinks);
    assert_eq!(ours, theirs, "lookups, absent, opens, attributes, links\n{predicted:?}\n{counted:?}");
}

/// A program below a deep folder, with a library behind two links and a search through folders that are not there.
fn program_with_a_search(dir: &Fixture) -> PathBuf {
    dir.write("a.c", "int b(void); int a(void){return b();}");
    dir.write("b.c", "int b(void){return 0;}");
    dir.write("main.c", "int a(void); int main(void){return a();}");
    for folder in ["opt/deep/er/bin", "opt/lib", "opt/real/lib", "opt/empty"] {
        dir.mkdir(folder);
    }
    let at = dir.text().to_owned();
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{at}/opt/none:{at}/opt/empty:{at}/opt/deep/../current/lib");
    dir.cc(["-shared", "-fPIC", "-o", "opt/real/lib/libb.so.1.0", "-Wl,-soname,libb.so.1", "b.c"]);
    dir.symlink("libb.so.1.0", "opt/real/lib/libb.so.1");
    dir.symlink(format!("{at}/opt/real"), "opt/current");
    dir.cc(["-shared", "-fPIC", "-o", "opt/real/lib/liba.so", "a.c", "opt/real/lib/libb.so.1"]);
    dir.cc(["-o", "opt/deep/er/bin/main", "main.c", "-Lopt/real/lib", "-la", "-Wl,-rpath-link,opt/real/lib", &rpath]);
    dir.join("opt/deep/er/bin/main")
}

#[test]
fn without_caches_every_predicted_operation_arrives_and_no_other() {
    need!("/dev/fuse", "fusermount3", "cc");
    let dir = Fixture::new();
    let program = program_with_a_search(&dir);
    let Some(slow) = slow(&dir, &program, &Options::default()) else { return };
    let [first, next] = slow.predicted(&fuse());
    assert!(first.absent > 10 && first.links > 2, "{first:?}");
    assert_eq!(Operations { reads: 0, bytes: 0, ..first }, next, "without caches every start costs the same");
    for predicted in [first, next] {
        assert_same(&predicted, &slow.counted(&[]));
    }
}

#[test]
fn where_names_are_remembered_the_second_start_asks_only_for_what_is_not_there() {
    need!("/dev/fuse", "fusermount3", "cc");
    let dir = Fixture::new();
    let program = program_with_a_search(&dir);
    let options = Options { entry_ttl: EVER, attribute_ttl: EVER, ..Options::default() };
    let client = Client { found: Retention::Always, attributes: Retention::Always, ..fuse() };
    let Some(slow) = slow(&dir, &program, &options) else { return };
    let predicted = slow.predicted(&client);
    assert_eq!(predicted[1].lookups, predicted[1].absent);
    // A mount of its own: the model itself has looked at the first one.
    let Slow { mounted, at, program, _elsewhere } = slow;
    drop(mounted);
    let mounted = SlowFs::mount(&_elsewhere.join("tree"), &at, &options).expect("the second mount");
    let slow = Slow { mounted, at, program, _elsewhere };
    for predicted in predicted {
        assert_same(&predicted, &slow.counted(&[]));
    }
}

#[test]
fn where_everything_is_remembered_the_second_start_only_opens() {
    need!("/dev/fuse", "fusermount3", "cc");
    let dir = Fixture::new();
    let program = program_with_a_search(&dir);
    let options = Options { entry_ttl: EVER, attribute_ttl: EVER, negative_ttl: Some(EVER), ..Options::default() };
    let client =
        Client { found: Retention::Always, attributes: Retention::Always, absent: Retention::Always, ..fuse() };
    let Some(slow) = slow(&dir, &program, &options) else { return };
    let predicted = slow.predicted(&client);
    assert_eq!((predicted[1].lookups, predicted[1].opens), (0, 3));
    let Slow { mounted, at, program, _elsewhere } = slow;
    drop(mounted);
    let mounted = SlowFs::mount(&_elsewhere.join("tree"), &at, &options).expect("the second mount");
    let slow = Slow { mounted, at, program, _elsewhere };
    for predicted in predicted {
        assert_same(&predicted, &slow.counted(&[]));
    }
}

#[test]
fn a_tree_of_prefixes_costs_what_the_model_says() {
    need!("/dev/fuse", "fusermount3", "patchelf", "/usr/bin/git");
    let dir = Fixture::new();
    let tree = spack::tree(&dir, Path::new("/usr/bin/git"));
    let Some(slow) = slow(&dir, &tree.program, &Options::default()) else { return };
    let [first, _] = slow.predicted(&fuse());
    assert_same(&first, &slow.counted(&["--version"]));
}

#[test]
fn names_outside_the_mount_cost_nothing() {
    need!("/bin/true");
    let closure = modelled(Path::new("/bin/true"), Environment::empty()).expect("a closure");
    let (root, client) = (HostRoot::new(), fuse());
    let scope = Mountpoints::at(["/nowhere/at/all".into()]);
    let mut node = Node::new(&root, &client, &scope, 1.0, 4096);
    assert_eq!(node.start(&closure), Some(Operations::default()));
}
