//! Whole trees: each file once, one failure never stopping the rest, killed runs leaving only programs that start.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;
use underpin_resolve::Environment;
use underpin_rewrite::bytes::{BoundObject, record, rewrite, undo};
use underpin_rewrite::files::{
    BoundName, HardLinks, Job, JobOutcome, Jobs, Keep, NullProgress, Progress, ReplaceError,
};
use underpin_rewrite::files::{JobKind, JobPhase, JobsSummary, StaleReason, Status, run_all, status, status_all};
use underpin_rewrite::{Edits, Rename, RewriteOptions};
use underpin_test_support::{Fixture, need, skip};

const LIBRARIES: usize = 12;
const PROGRAMS: usize = 8;

/// Libraries in one prefix each, which need the next two; programs that need every third, by a search path of all
/// prefixes.
fn tree() -> Fixture {
    let dir = Fixture::new();
    let prefixes: Vec<String> = (0..=LIBRARIES).map(|index| format!("{}/p{index}/lib", dir.text())).collect();
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", prefixes.join(":"));
    // The one that needs nothing, so that all others have something to bind.
    dir.mkdir(format!("p{LIBRARIES}/lib"));
    for index in (0..=LIBRARIES).rev() {
        let needs: Vec<usize> = [index + 1, index + 2].into_iter().filter(|&next| next <= LIBRARIES).collect();
        let declared: String = needs.iter().map(|next| format!("int f{next}(void);")).collect();
        let sum: String = needs.iter().map(|next| format!("+f{next}()")).collect();
        let source = dir.write(format!("f{index}.c"), format!("{declared} int f{index}(void){{return 1{sum};}}"));
        let paths: Vec<String> = needs.iter().map(|next| format!("{}/libf{next}.so", prefixes[*next])).collect();
        let output = dir.mkdir(format!("p{index}/lib")).join(format!("libf{index}.so"));
        let soname = format!("-Wl,-soname,libf{index}.so");
        let fixed = ["-shared", "-fPIC", "-o", output.to_str().unwrap(), &soname, &rpath, source.to_str().unwrap()];
        dir.cc(fixed.into_iter().chain(paths.iter().map(String::as_str)));
    }
    dir.mkdir("bin");
    for index in 0..PROGRAMS {
        let first = index % LIBRARIES;
        let source = format!(
            "#include <stdio.h>\nint f{first}(void); int main(void){{return printf(\"%d\\n\", f{first}()) < 2;}}"
        );
        dir.write("main.c", source);
        let library = format!("{}/libf{first}.so", prefixes[first]);
        dir.cc(["-o", &format!("bin/prog{index}"), "main.c", &library, &rpath]);
    }
    dir
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let libraries = (0..LIBRARIES).map(|index| dir.join(format!("p{index}/lib/libf{index}.so")));
    libraries.chain((0..PROGRAMS).map(|index| dir.join(format!("bin/prog{index}")))).collect()
}

fn original(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    if record(&bytes).unwrap().is_some() { undo(&bytes).unwrap() } else { bytes }
}

/// A job that renames according to `becomes`, planned from the original of the current file.
fn job(path: &Path, becomes: &BTreeMap<String, PathBuf>) -> Job {
    let original = original(path);
    let renames: Vec<Rename> = becomes
        .iter()
        .map(|(from, to)| Rename { from: from.as_str().into(), to: to.to_str().unwrap().into() })
        .filter(|rename| needed(&original).contains(&rename.from.to_string()))
        .collect();
    let bound: Vec<BoundObject> = renames.iter().map(bound_object).collect();
    let names = bound.iter().map(|bound| BoundName { name: bound.path.clone(), object: bound.path.clone().into() });
    let options = RewriteOptions { bound: bound.clone(), ..RewriteOptions::default() };
    let rewrite = rewrite(&original, &Edits { renames, ..Edits::default() }, &options).unwrap();
    let task = JobKind::Bind { rewrite, bound: names.collect() };
    Job { path: path.into(), planned: None, task }
}

fn bound_object(rename: &Rename) -> BoundObject {
    let path = rename.to.to_string();
    let notes = Command::new("readelf").args(["-n", &path]).env("LC_ALL", "C").output().unwrap().stdout;
    let text = String::from_utf8(notes).unwrap();
    let build_id = text.lines().find_map(|line| line.trim().strip_prefix("Build ID: ").map(str::to_owned));
    // The original's, as in plans: that a library is bound itself does not make it another library.
    let size = if Path::new(&path).exists() { original(Path::new(&path)).len() as u64 } else { 0 };
    BoundObject { name: rename.from.to_string(), path, build_id, size, modified: 0 }
}

fn needed(bytes: &[u8]) -> Vec<String> {
    let elf = underpin_elf::Elf::read(bytes).unwrap();
    elf.dynamic.unwrap().needed.iter().map(ToString::to_string).collect()
}

fn winners(dir: &Path) -> BTreeMap<String, PathBuf> {
    (0..=LIBRARIES).map(|index| (format!("libf{index}.so"), dir.join(format!("p{index}/lib/libf{index}.so")))).collect()
}

fn bind_jobs(dir: &Path) -> Jobs {
    let winners = winners(dir);
    Jobs::new(files(dir).iter().map(|path| job(path, &winners)).collect(), Environment::empty())
}

fn unbind_jobs(dir: &Path) -> Jobs {
    Jobs::new(files(dir).into_iter().map(Job::unbind).collect(), Environment::empty())
}

fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files(dir).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn every_program_starts(dir: &Path) {
    for index in 0..PROGRAMS {
        let output = Command::new(dir.join(format!("bin/prog{index}"))).output().unwrap();
        assert!(output.status.success(), "prog{index}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn temporaries(dir: &Path) -> Vec<PathBuf> {
    let directories: Vec<PathBuf> = files(dir).iter().map(|path| path.parent().unwrap().to_path_buf()).collect();
    let entries = directories.iter().flat_map(|directory| fs::read_dir(directory).unwrap());
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.to_str().unwrap().contains(".underpin-")).collect()
}

fn outcome<'s>(summary: &'s JobsSummary, path: &Path) -> &'s JobOutcome {
    &summary.results.iter().find(|result| result.path == path).unwrap().outcome
}

#[test]
fn a_tree_is_bound_once_and_restored_byte_for_byte() {
    need!("cc", "readelf");
    let dir = tree();
    let before = contents(dir.path());
    let summary = run_all(&bind_jobs(dir.path()), &NullProgress);
    assert!(summary.results.iter().all(|result| matches!(result.outcome, JobOutcome::Bound(_))), "{summary:#?}");
    assert_eq!((summary.results.len(), summary.programs_verified), (LIBRARIES + PROGRAMS, PROGRAMS));
    assert!(summary.broken.is_empty());
    every_program_starts(dir.path());
    for (path, old) in &before {
        assert_ne!(&fs::read(path).unwrap(), old, "{}", path.display());
    }

    let inodes = || files(dir.path()).iter().map(|path| fs::metadata(path).unwrap().ino()).collect::<Vec<_>>();
    let once = inodes();
    let again = run_all(&bind_jobs(dir.path()), &NullProgress);
    assert!(again.results.iter().all(|result| matches!(result.outcome, JobOutcome::AlreadyBound)), "{again:#?}");
    assert_eq!(inodes(), once, "binding twice changes nothing");

    let back = run_all(&unbind_jobs(dir.path()), &NullProgress);
    assert!(back.results.iter().all(|result| matches!(result.outcome, JobOutcome::Unbound(_))), "{back:#?}");
    assert_eq!(contents(dir.path()), before);
    let nothing = run_all(&unbind_jobs(dir.path()), &NullProgress);
    assert!(nothing.results.iter().all(|result| matches!(result.outcome, JobOutcome::NotBound)));
    assert_eq!(temporaries(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn one_failure_never_stops_the_rest() {
    need!("cc", "readelf");
    let dir = tree();
    let mut jobs = bind_jobs(dir.path());
    let gone = dir.join("bin/prog0");
    fs::remove_file(&gone).unwrap();
    // Another file of the same size as the planned one.
    let other = dir.join("bin/prog1");
    let mut bytes = fs::read(&other).unwrap();
    let comment = bytes.windows(5).rposition(|part| part == b"GCC: ").unwrap();
    bytes[comment] = b'g';
    fs::write(&other, &bytes).unwrap();
    jobs.jobs.push(Job::unbind(dir.write("text", "no ELF file")));
    let summary = run_all(&jobs, &NullProgress);
    assert!(matches!(outcome(&summary, &gone), JobOutcome::Failed(ReplaceError::Io { .. })));
    assert!(matches!(outcome(&summary, &other), JobOutcome::Failed(ReplaceError::Changed { .. })), "{summary:#?}");
    assert!(matches!(outcome(&summary, &dir.join("text")), JobOutcome::NotBound), "{summary:#?}");
    assert_eq!(fs::read(&other).unwrap(), bytes);
    let bound = summary.results.iter().filter(|result| matches!(result.outcome, JobOutcome::Bound(_))).count();
    assert_eq!(bound, LIBRARIES + PROGRAMS - 2);
}

#[test]
fn a_file_with_two_names_is_bound_once_under_both() {
    need!("cc", "readelf");
    let dir = tree();
    let (first, second) = (dir.join("bin/prog0"), dir.join("bin/also"));
    fs::hard_link(&first, &second).unwrap();
    dir.symlink("prog0", "bin/link");
    let refused = run_all(&bind_jobs(dir.path()), &NullProgress);
    assert!(matches!(
        outcome(&refused, &first),
        JobOutcome::Refused(ReplaceError::HardLinks { links: 2, known: 1, .. })
    ));

    let winners = winners(dir.path());
    let mut jobs = bind_jobs(dir.path());
    jobs.jobs.push(job(&second, &winners));
    jobs.jobs.push(job(&dir.join("bin/link"), &winners));
    let summary = run_all(&jobs, &NullProgress);
    assert_eq!(summary.results.len(), LIBRARIES + PROGRAMS, "each file once");
    assert!(matches!(outcome(&summary, &first), JobOutcome::Bound(_)), "{summary:#?}");
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    assert_eq!(inode(&first), inode(&second));
    assert_eq!(fs::read_link(dir.join("bin/link")).unwrap(), Path::new("prog0"));

    // The other name is found in the scope.
    let back = Jobs { scope: vec![second.clone(), first.clone()], ..unbind_jobs(dir.path()) };
    assert!(matches!(outcome(&run_all(&back, &NullProgress), &first), JobOutcome::Unbound(_)));
    assert_eq!(inode(&first), inode(&second));
    // Or the link may be broken on purpose.
    let broken = Jobs { keep: Keep { hard_links: HardLinks::Break, ..Keep::default() }, ..bind_jobs(dir.path()) };
    assert!(matches!(outcome(&run_all(&broken, &NullProgress), &first), JobOutcome::Bound(_)));
    assert_ne!(inode(&first), inode(&second));
}

/// A library that alone does not find liby.so, a program whose search path leads it to v1, and a copy in v2.
fn plugin() -> Fixture {
    let dir = Fixture::new();
    dir.write("y.c", "int y(void){return 0;}");
    dir.write("z.c", "int y(void); int z(void){return y();}");
    dir.write("main.c", "int z(void); int main(void){return z();}");
    for version in ["v1", "v2"] {
        dir.mkdir(version);
        dir.cc(["-shared", "-fPIC", "-o", &format!("{version}/liby.so"), "-Wl,-soname,liby.so", "y.c"]);
    }
    dir.cc(["-shared", "-fPIC", "-o", "v1/libz.so", "-Wl,-soname,libz.so", "z.c", "v1/liby.so"]);
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}/v1", dir.text());
    dir.cc(["-o", "prog", "main.c", "v1/libz.so", "-Wl,-rpath-link,v1", &rpath]);
    dir
}

fn to_version(dir: &Fixture, version: &str) -> Job {
    job(&dir.join("v1/libz.so"), &BTreeMap::from([("liby.so".to_owned(), dir.join(format!("{version}/liby.so")))]))
}

#[test]
fn what_changes_a_program_is_taken_back() {
    need!("cc", "readelf");
    let dir = plugin();
    let library = dir.join("v1/libz.so");
    let unbound = fs::read(&library).unwrap();
    let run = |version: &str| {
        let jobs = Jobs::new(vec![to_version(&dir, version)], Environment::empty());
        run_all(&Jobs { programs: vec![dir.join("prog")], ..jobs }, &NullProgress)
    };
    // Alone the library is as planned; only the program shows that it is not the copy that was loaded before.
    let summary = run("v2");
    assert!(
        matches!(outcome(&summary, &library), JobOutcome::RolledBack { program, .. } if *program == dir.join("prog")),
        "{summary:#?}"
    );
    assert!(summary.broken.is_empty(), "{summary:#?}");
    assert_eq!(fs::read(&library).unwrap(), unbound);

    assert!(matches!(outcome(&run("v1"), &library), JobOutcome::Bound(_)));
    let bound = fs::read(&library).unwrap();
    assert_ne!(bound, unbound);
    assert!(matches!(outcome(&run("v2"), &library), JobOutcome::RolledBack { .. }));
    assert_eq!(fs::read(&library).unwrap(), bound, "the binding that it had before, not the original");
    assert!(Command::new(dir.join("prog")).status().unwrap().success());
}

#[test]
fn a_binding_is_replaced_by_another_and_the_original_stays_restorable() {
    need!("cc", "readelf");
    let dir = plugin();
    let library = dir.join("v1/libz.so");
    let unbound = fs::read(&library).unwrap();
    for version in ["v1", "v2", "v1"] {
        let summary = run_all(&Jobs::new(vec![to_version(&dir, version)], Environment::empty()), &NullProgress);
        assert!(matches!(outcome(&summary, &library), JobOutcome::Bound(_)), "{version}: {summary:#?}");
        assert_eq!(needed(&fs::read(&library).unwrap())[0], format!("{}/{version}/liby.so", dir.text()));
    }
    let summary = run_all(&Jobs::new(vec![Job::unbind(library.clone())], Environment::empty()), &NullProgress);
    assert!(matches!(outcome(&summary, &library), JobOutcome::Unbound(_)));
    assert_eq!(fs::read(&library).unwrap(), unbound);
}

#[test]
fn unbinding_restores_also_what_no_longer_loads() {
    need!("cc", "readelf");
    let dir = plugin();
    let library = dir.join("v1/libz.so");
    let unbound = fs::read(&library).unwrap();
    let summary = run_all(&Jobs::new(vec![to_version(&dir, "v2")], Environment::empty()), &NullProgress);
    assert!(matches!(outcome(&summary, &library), JobOutcome::Bound(_)));
    fs::remove_file(dir.join("v1/liby.so")).unwrap();
    let jobs = Jobs::new(vec![Job::unbind(library.clone())], Environment::empty());
    let summary = run_all(&Jobs { programs: vec![dir.join("prog")], ..jobs }, &NullProgress);
    assert!(matches!(outcome(&summary, &library), JobOutcome::Unbound(_)), "{summary:#?}");
    assert_eq!(fs::read(&library).unwrap(), unbound);
    assert_eq!(summary.broken[0].0, dir.join("prog"), "and it is told");
}

#[test]
fn set_id_programs_are_bound_by_the_models_word() {
    need!("cc", "readelf");
    let dir = tree();
    let program = dir.join("bin/prog0");
    dir.chmod("bin/prog0", 0o4755);
    if fs::metadata(&program).unwrap().uid() != 0 {
        return skip("a set-user-ID program is secure only where it belongs to somebody else");
    }
    let summary = run_all(&bind_jobs(dir.path()), &NullProgress);
    let found = outcome(&summary, &program);
    assert!(matches!(found, JobOutcome::Bound(underpin_rewrite::files::Verified::ModelOnly { .. })), "{found:?}");
    assert_eq!(fs::metadata(&program).unwrap().mode() & 0o7777, 0o4755);
}

#[derive(Default)]
struct Counted(Mutex<(Vec<(JobPhase, usize)>, usize)>);

impl Progress for Counted {
    fn begin(&self, step: JobPhase, items: usize) {
        self.0.lock().unwrap().0.push((step, items));
    }
    fn done(&self, _: &Path) {
        self.0.lock().unwrap().1 += 1;
    }
}

#[test]
fn progress_is_told_item_by_item() {
    need!("cc", "readelf");
    let dir = tree();
    let counted = Counted::default();
    let _ = run_all(&bind_jobs(dir.path()), &counted);
    let (steps, done) = counted.0.into_inner().unwrap();
    let files = LIBRARIES + PROGRAMS;
    assert_eq!(steps, [(JobPhase::Asking, PROGRAMS), (JobPhase::Replacing, files), (JobPhase::Verifying, PROGRAMS)]);
    assert_eq!(done, files + 2 * PROGRAMS);
}

#[test]
fn a_status_tells_bound_unbound_and_stale() {
    need!("cc", "readelf");
    let dir = tree();
    let text = dir.write("text", "no ELF file");
    let (program, library) = (dir.join("bin/prog0"), dir.join("p0/lib/libf0.so"));
    assert_eq!(status(&program), Status::Unbound);
    assert!(matches!(status(&text), Status::Unreadable(_)));
    let _ = run_all(&bind_jobs(dir.path()), &NullProgress);
    // A library that was itself bound meanwhile is not another build.
    let all = status_all(&files(dir.path()));
    assert!(all.iter().all(|(_, status)| matches!(status, Status::Bound(_))), "{all:#?}");

    let bytes = fs::read(&library).unwrap();
    dir.write("other.c", "int f0(void){return 77;}");
    dir.cc(["-shared", "-fPIC", "-o", library.to_str().unwrap(), "-Wl,-soname,libf0.so", "other.c"]);
    assert!(matches!(&status(&program), Status::Stale(_, why) if matches!(why[..], [StaleReason::OtherBuild { .. }])));
    fs::remove_file(&library).unwrap();
    assert!(matches!(&status(&program), Status::Stale(_, why) if matches!(why[..], [StaleReason::Gone { .. }])));
    fs::write(&library, bytes).unwrap();
    assert!(matches!(status(&program), Status::Bound(_)));
}

const CHILD: &str = "UNDERPIN_TEST_BINDS_A_TREE";
const UNBIND: &str = "UNDERPIN_TEST_UNBINDS_A_TREE";

/// Runs this test again in a child that does the work, and kills it as soon as this many files have changed.
fn killed_in_the_middle(dir: &Path, variable: &str, changed: usize) {
    let inodes = || files(dir).iter().map(|path| fs::metadata(path).unwrap().ino()).collect::<Vec<_>>();
    let before = inodes();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["a_killed_run_leaves_programs_that_start_and_the_next_one_does_the_rest", "--exact"])
        .env(variable, dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let others = || inodes().iter().zip(&before).filter(|(now, then)| now != then).count();
    while child.try_wait().unwrap().is_none() && others() < changed {
        sleep(Duration::from_micros(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_run_leaves_programs_that_start_and_the_next_one_does_the_rest() {
    if let Some(dir) = std::env::var_os(CHILD) {
        let _ = run_all(&bind_jobs(Path::new(&dir)), &NullProgress);
        return;
    }
    if let Some(dir) = std::env::var_os(UNBIND) {
        let _ = run_all(&unbind_jobs(Path::new(&dir)), &NullProgress);
        return;
    }
    need!("cc", "readelf");
    let dir = tree();
    let old = contents(dir.path());
    // The result of an uninterrupted run.
    let _ = run_all(&bind_jobs(dir.path()), &NullProgress);
    let new = contents(dir.path());
    let _ = run_all(&unbind_jobs(dir.path()), &NullProgress);
    assert_eq!(contents(dir.path()), old);

    let mut mixtures = 0;
    for (variable, from, to) in [(CHILD, &old, &new), (UNBIND, &new, &old)] {
        for changed in [1, 2, 1, 3, 2, 4, 1, 2] {
            killed_in_the_middle(dir.path(), variable, changed);
            every_program_starts(dir.path());
            let now = contents(dir.path());
            let done = now.iter().filter(|(path, bytes)| to[*path] == **bytes).count();
            let left = now.iter().filter(|(path, bytes)| from[*path] == **bytes).count();
            assert_eq!(done + left, now.len(), "a file is neither the old nor the new one");
            mixtures += usize::from(done > 0 && left > 0);
        }
        let rest = if variable == CHILD { bind_jobs(dir.path()) } else { unbind_jobs(dir.path()) };
        let _ = run_all(&rest, &NullProgress);
        assert_eq!(&contents(dir.path()), to, "resumed, it is what an uninterrupted run makes");
        assert_eq!(temporaries(dir.path()), Vec::<PathBuf>::new());
    }
    println!("{mixtures} mixtures of bound and unbound files");
    assert!(mixtures > 0, "no kill came in the middle");
}
