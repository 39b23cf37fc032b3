//! `underpin bench --commits`: commits of a real repository, each built and run in a worktree of its own.

mod common;

use common::underpin;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use underpin_test_support::{Fixture, Output, need};

/// Variables that would lead git to the developer's repository or settings.
const GIT_VARIABLES: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// A repository below `repository/`, and room for temporary files below `tmp/`.
struct Repository(Fixture);

impl Repository {
    fn new() -> Repository {
        let repository = Repository(Fixture::new());
        repository.0.mkdir("tmp");
        repository.0.mkdir("repository/sub");
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    fn isolated<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for name in GIT_VARIABLES {
            command.env_remove(name);
        }
        command.current_dir(self.0.join("repository")).env("TMPDIR", self.0.join("tmp"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null")
    }

    fn git(&self, words: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(words);
        let output = Output::of(self.isolated(&mut command));
        assert_eq!(output.code, Some(0), "git {words:?}: {}{}", output.stdout, output.stderr);
        output.stdout
    }

    /// Commits these files, and returns the hash.
    fn commit(&self, subject: &str, files: &[(&str, &str)]) -> String {
        for (name, text) in files {
            self.0.write(Path::new("repository").join(name), text);
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    fn bench(&self, words: &[&str]) -> Output {
        Output::of(self.isolated(&mut underpin([&["bench"], words].concat())))
    }

    /// All that must stay as it was: every ref, HEAD, the index, the stashes, the files, the worktrees.
    fn state(&self) -> BTreeMap<&'static str, String> {
        let index = fs::read(self.0.join("repository/.git/index")).expect("an index");
        BTreeMap::from([
            ("refs", self.git(&["for-each-ref"])),
            ("head", fs::read_to_string(self.0.join("repository/.git/HEAD")).expect("a HEAD")),
            ("index", format!("{index:?}")),
            ("stashes", self.git(&["stash", "list"])),
            (
                "files",
                self.git(&[
                    "--no-optional-locks",
                    "status",
                    "--porcelain",
                    "--",
                    ".",
                    ":!.underpin",
                    ":!sub/.underpin",
                ]),
            ),
            ("worktrees", self.git(&["worktree", "list", "--porcelain"])),
        ])
    }

    /// Checks that nothing is left of the worktrees.
    fn is_clean(&self) -> bool {
        let is_empty = fs::read_dir(self.0.join("tmp")).expect("tmp").next().is_none();
        is_empty && !self.0.join("repository/.git/worktrees").join("repository").exists()
    }
}

#[test]
fn each_commit_is_built_and_run_in_a_worktree_of_its_own_and_nothing_else_changes() {
    need!("git");
    let repository = Repository::new();
    let old =
        repository.commit("the old one", &[("value", "old"), ("sub/here", ""), ("script", "echo $(cat built) $PWD")]);
    let new = repository.commit("the new one", &[("value", "new")]);
    // What a user's tree may contain: a stash, a staged change, an unstaged one, an untracked file.
    repository.0.write("repository/value", "stashed");
    repository.git(&["stash", "-q"]);
    repository.0.write("repository/value", "staged");
    repository.git(&["add", "value"]);
    repository.0.write("repository/value", "changed");
    repository.0.write("repository/unknown", "");
    let before = repository.state();
    let log = repository.0.join("log");
    let log = log.to_str().expect("a name in UTF-8");
    let mut command = underpin(["bench", "--json", "--commits", "HEAD~1,main", "--build", "cat ../value > built"]);
    command.args(["--runs", "2", "--memory-runs", "0", "-i", "--output", log, "--", "/bin/sh", "../script"]);
    let output = Output::of(repository.isolated(&mut command).current_dir(repository.0.join("repository/sub")));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(repository.state(), before);
    assert!(repository.is_clean());
    assert!(output.stderr.contains("changes that are in no commit"), "{}", output.stderr);

    let document: Value = serde_json::from_str(&output.stdout).expect("a document");
    let names: Vec<&str> =
        document["variants"].as_array().expect("variants").iter().map(|one| one["name"].as_str().unwrap()).collect();
    let short = |hash: &str| repository.git(&["rev-parse", "--short", hash]).trim().to_owned();
    assert_eq!(names, [format!("HEAD~1 {}", short(&old)), format!("main {}", short(&new))]);

    let printed = fs::read_to_string(log).expect("the commands' output");
    let mut lines: Vec<(&str, &str)> = printed.lines().filter_map(|line| line.split_once(' ')).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.iter().map(|(value, _)| *value).collect::<Vec<_>>(), ["new", "old"]);
    for (_, directory) in lines {
        assert!(directory.ends_with("/repository/sub"), "{directory}");
        assert!(directory.starts_with(repository.0.join("tmp").to_str().unwrap()), "{directory}");
    }
}

#[test]
fn git_bisect_finds_the_commit_that_made_a_program_slow() {
    need!("git");
    let repository = Repository::new();
    let program = |seconds: &str| format!("#!/bin/sh\nexec sleep {seconds}\n");
    let fast = |subject| repository.commit(subject, &[("source", &program("0")), ("subject", subject)]);
    fast("good");
    repository.git(&["tag", "good"]);
    fast("harmless");
    let culprit = repository.commit("slow", &[("source", &program("0.3"))]);
    repository.commit("does not build", &[("source.broken", "")]);
    repository.git(&["rm", "-q", "source.broken"]);
    repository.commit("on top", &[]);
    repository.git(&["bisect", "start", "HEAD", "good"]);
    let mut bisect = Command::new("git");
    bisect.args(["bisect", "run", common::program(), "bench", "--commits", "good,HEAD"]);
    bisect.args(["--build", "test ! -e source.broken && install source app", "--runs", "20", "--memory-runs", "0"]);
    // Starting a shell and `sleep` takes milliseconds: the limit is ten times as high.
    bisect.args(["--counters", "none", "--gate", "wall<+900%", "./app"]);
    let output = Output::of(repository.isolated(&mut bisect));
    let found = format!("{culprit} is the first bad commit");
    assert!(output.stdout.contains(&found), "{}{}", output.stdout, output.stderr);
    assert!(repository.is_clean());
}

#[test]
fn a_build_that_fails_is_told_with_its_commit_and_its_last_lines() {
    need!("git");
    let repository = Repository::new();
    let hash = repository.commit("cannot be built", &[("value", "")]);
    let build = "seq 100; echo broken >&2; exit 7";
    let output = repository.bench(&["--commits", "main", "--build", build, "true"]);
    assert_eq!(output.code, Some(2));
    let log = format!(".underpin/bench/build-{}.log", repository.git(&["rev-parse", "--short", &hash]).trim());
    for words in ["main", "cannot be built", "status 7", "100\n    broken", &log] {
        assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    }
    let kept = fs::read_to_string(repository.0.join("repository").join(log)).expect("the log");
    assert_eq!(kept.lines().count(), 101);
    assert!(repository.is_clean());
    // A gate decides nothing then, which `git bisect run` takes for "skip".
    let gate = ["--commits", "main,HEAD", "--gate", "wall<+3%"];
    assert_eq!(repository.bench(&[&gate[..], &["--build", "false", "true"]].concat()).code, Some(125));
    assert_eq!(repository.bench(&[&gate[..], &["./missing"]].concat()).code, Some(125));
    assert_eq!(repository.bench(&[&gate[..], &["false"]].concat()).code, Some(125), "a command that fails");
    assert!(repository.is_clean());
}

#[test]
fn what_names_no_commit_is_refused_before_anything_is_built() {
    need!("git");
    let repository = Repository::new();
    repository.commit("one", &[("value", "")]);
    let built = repository.0.join("built");
    let build = format!("touch {}", built.display());
    for (revisions, words) in [
        ("main,nowhere", "no such commit"),
        ("main..HEAD", "a range"),
        ("main,-n", "no such commit"),
        ("main,", "no such"),
    ] {
        let output = repository.bench(&["--commits", revisions, "--build", &build, "true"]);
        assert_eq!(output.code, Some(2), "{revisions}");
        assert!(output.stderr.contains(words), "{revisions}: {}", output.stderr);
    }
    let mut outside = underpin(["bench", "--commits", "main", "--build", &build, "true"]);
    let outside = Output::of(repository.isolated(&mut outside).current_dir(repository.0.path()));
    assert_eq!(outside.code, Some(2));
    assert!(outside.stderr.contains("not a git repository"), "{}", outside.stderr);
    // The user's current folder was added later.
    repository.commit("two", &[("sub/later", "")]);
    let mut inside = underpin(["bench", "--commits", "HEAD~1", "--build", &build, "true"]);
    let inside = Output::of(repository.isolated(&mut inside).current_dir(repository.0.join("repository/sub")));
    assert_eq!(inside.code, Some(2));
    assert!(inside.stderr.contains("HEAD~1") && inside.stderr.contains("no folder sub"), "{}", inside.stderr);
    assert!(!built.exists() && repository.is_clean());
}

#[test]
fn ctrl_c_during_a_build_leaves_no_worktree() {
    need!("git");
    let repository = Repository::new();
    repository.commit("one", &[("value", "")]);
    let before = repository.state();
    let begun = repository.0.join("begun");
    let build = format!("touch {}; sleep 1000", begun.display());
    let mut command = underpin(["bench", "--commits", "main", "--build", &build, "true"]);
    // A process group of its own, so that the signal can go to all of it, as from a terminal.
    let command = repository.isolated(&mut command).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("underpin starts");
    let limit = Instant::now() + Duration::from_secs(120);
    while !begun.exists() && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(10));
    }
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().expect("kill runs").success());
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert!(repository.is_clean());
    assert_eq!(repository.state(), before);
}

#[test]
fn variables_of_a_git_hook_reach_neither_build_nor_command() {
    need!("git");
    let repository = Repository::new();
    repository.commit("one", &[("value", "")]);
    let before = repository.state();
    let look = "test -z \"$GIT_DIR$GIT_INDEX_FILE\" && git rev-parse --show-toplevel | grep -q tmp";
    let words = ["bench", "--commits", "main", "--build", look, "--prepare", look, "--runs", "1", "--memory-runs", "0"];
    let mut command = underpin([&words[..], &["-S", "sh", look]].concat());
    let git = repository.0.join("repository/.git");
    let command = repository.isolated(&mut command).env("GIT_DIR", &git).env("GIT_INDEX_FILE", git.join("index"));
    let output = Output::of(command);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(repository.state(), before);
    assert!(repository.is_clean());
}

#[test]
fn the_hash_takes_the_place_of_its_name_and_hooks_of_the_user_do_not_run() {
    need!("git");
    let repository = Repository::new();
    let hash = repository.commit("one", &[("value", "")]);
    repository.0.write("repository/.git/hooks/post-checkout", "#!/bin/sh\ntouch \"$HOOKED\"\n");
    repository.0.chmod("repository/.git/hooks/post-checkout", 0o755);
    let hooked = repository.0.join("hooked");
    let words = ["bench", "--commits", "main", "--build", "echo {COMMIT} > hash", "--runs", "1", "--memory-runs", "0"];
    let mut command = underpin([&words[..], &["--", "grep", "-q", "{COMMIT}", "hash"]].concat());
    let output = Output::of(repository.isolated(&mut command).env("HOOKED", &hooked));
    assert_eq!(output.code, Some(0), "{hash}: {}", output.stderr);
    assert!(!hooked.exists());
}

#[test]
fn what_a_comparison_of_commits_does_not_hold_is_said() {
    need!("git");
    let repository = Repository::new();
    repository.commit("one", &[(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ../x\n")]);
    let output = repository.bench(&["--commits", "main,HEAD", "--runs", "2", "--memory-runs", "0", "true"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for words in ["main and HEAD are the same commit", "has submodules"] {
        assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    }
}
